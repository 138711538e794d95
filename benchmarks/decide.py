"""The cost of a decision and of a look before a fork, with everything loaded: ./dev bench decide.

Each figure is the median of many calls in one fresh interpreter, and its spread over several of them.
Everything is PyTorch, JAX, polars, tokenizers and PoCL, imported and used, as far as they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Spread
from published import places
from published.errors import UnavailableError

PROGRAM = Path(__file__).with_name("decide_program.py")
LIMITS = {
    "decide, no target": 1e-3,
    "decide, target with a kept answer": 50e-3,
    "against_fork, nothing changed": 50e-6,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether the promises hold."""
    parser = argparse.ArgumentParser(prog="./dev bench decide", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="fresh interpreters")
    parser.add_argument(
        "--target", help="a module to decide for, e.g. torch.nn; by default one with a package"
    )
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as cache:
        told = [_once(asked.target, cache) for _ in range(asked.runs)]
    print(
        f"loaded: {', '.join(told[0]['loaded'])}; {told[0]['threads']} threads, {told[0]['files']} libraries"
    )
    print(f"target: {told[0]['target']} ({told[0]['target_files']} files beside it)")
    kept = True
    for name in told[0]["seconds"]:
        spread = Spread.of([one["seconds"][name] for one in told])
        limit = LIMITS.get(name)
        broken = limit is not None and spread.median > limit
        kept = kept and not broken
        promise = "" if limit is None else f"  promised {_shown(limit)}{': BROKEN' if broken else ''}"
        print(
            f"{name:42} {_shown(spread.median):>10}  ({_shown(spread.low)} to {_shown(spread.high)}){promise}"
        )
    return 0 if kept else 1


def _once(target: str | None, cache: str) -> dict[str, Any]:
    path = [str(places.ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "COLDFORK_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), *([target] if target else [])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise UnavailableError(f"{PROGRAM.name} exits {done.returncode}: {done.stderr.strip()[-600:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _shown(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
