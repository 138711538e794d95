"""Programs that treat their pool badly in many ways at once, in numbers: `./dev bench pool --mixtures 500`"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.pool.programs import Lost, measure

PROGRAM = "benchmarks.pool.mixture_program"
RIGHT = {"unsettled": 0, "twice": 0, "works": True, "ended": True}
_AT_ONCE = 2
"""So many for each processor: then each is held up by others, too."""


def main(many: int, first: int, file: Path | None) -> int:
    """Run so many and print those that went wrong; status 1 if there are any."""
    totals: Counter[str] = Counter()
    wrong: dict[int, Any] = {}
    with ThreadPoolExecutor((os.cpu_count() or 1) * _AT_ONCE) as running:
        seeds = range(first, first + many)
        for seed, found in zip(seeds, running.map(_found, seeds), strict=True):
            totals.update({name: found.get(name, 0) for name in ("futures", "interrupts")})
            if {name: found.get(name) for name in RIGHT} != RIGHT:
                wrong[seed] = found
                print(f"seed {seed}: {json.dumps(found)}", flush=True)
            print(f"{seed - first + 1} of {many}", file=sys.stderr, flush=True)
    print(
        f"{many} mixtures from seed {first}, {totals['futures']} futures, {totals['interrupts']} interrupts: "
        f"{len(wrong)} went wrong"
    )
    if file is not None:
        said = {"mixtures": many, "first": first, **totals, "wrong": wrong}
        file.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def _found(seed: int) -> dict[str, Any]:
    try:
        found: dict[str, Any] = measure(Path(sys.executable), PROGRAM, str(seed))
    except Lost as error:
        return {"lost": str(error)}
    return found
