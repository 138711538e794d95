"""Loads and uses what is installed, then measures decisions; benchmarks/decide.py runs it."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

CALLS = 300


def use_everything() -> list[str]:
    """Import and use every runtime that is installed; the names of those that were."""
    uses: dict[str, Callable[[Any], object]] = {
        "torch": lambda torch: torch.ones(4_000_000).exp().sum().item(),
        "jax": lambda jax: jax.numpy.ones(8).sum().block_until_ready(),
        "polars": lambda polars: polars.DataFrame({"a": range(1000)}).lazy().group_by("a").agg().collect(),
        "tokenizers": lambda tokenizers: tokenizers.Tokenizer(
            tokenizers.models.WordLevel({"word": 0}, unk_token="word")
        ).encode_batch(["word"] * 1000),
        "pyopencl": lambda cl: [platform.get_devices() for platform in cl.get_platforms()],
    }
    used = []
    for name, use in uses.items():
        try:
            use(importlib.import_module(name))
        except ImportError:
            continue
        used.append(name)
    return used


def median(call: Callable[[], object], calls: int = CALLS) -> float:
    """Return the seconds that one call takes."""
    for _ in range(5):
        call()
    samples = []
    for _ in range(calls):
        start = perf_counter()
        call()
        samples.append(perf_counter() - start)
    return statistics.median(samples)


def main(target: str) -> None:
    """Measure and print."""
    loaded = use_everything()
    import coldfork
    from coldfork.start.evidence.table import against_fork
    from coldfork.start.process import HERE
    from coldfork.start.static_reach.cache import _files
    from coldfork.start.static_reach.reach import StaticReach, located
    from coldfork.start.targets import target_of

    coldfork.decide()
    first = []
    for _ in range(20):
        # As if nobody had looked at this process before.
        HERE.__init__(HERE.examination)  # type: ignore[misc]
        start = perf_counter()
        coldfork.decide()
        first.append(perf_counter() - start)
    reach = StaticReach(deadline=300)
    wanted = target_of(target)
    assert wanted is not None
    answer = reach(wanted)
    place = located(wanted, sys.path)
    # Nothing may speak against a fork so heavily that the target is not asked for: measured by itself.
    print(
        json.dumps(
            {
                "loaded": loaded,
                "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
                "files": len(HERE.maps.files),
                "target": f"{target}: {answer.reached}",
                "target_files": 0 if isinstance(place, str) else sum(1 for _ in _files(place.path)),
                "seconds": {
                    "decide, when everything is new": statistics.median(first),
                    "decide, no target": median(coldfork.decide),
                    "decide, target with a kept answer": median(
                        lambda: (coldfork.decide(), reach(wanted)), 50
                    ),
                    "against_fork, nothing changed": median(against_fork),
                },
            }
        ),
        flush=True,
    )
    # Without the clean-up of the runtimes: some hang in it.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "torch.utils.data:DataLoader")
