"""Measures how long a program waits for its first result: `./dev bench firsts [--rounds 9] [--modules torch]`

From the start of a program to the first result of its pool, of a second pool beside it and of one after both,
by `concurrent.futures` with spawn and forkserver and by a `WorkerPool`, in turn. Then `coldfork exec` of a
script that prints a line beside `python` with the same script. Ratios are those of medians.
"""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measure import Spread

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(__file__).with_name("firsts_program.py")
EXECUTORS = ("spawn", "forkserver", "coldfork")
WAITS = ("first pool", "second, beside it", "third, after both")
#: What was promised of a pool of ours, as a part of what `concurrent.futures` takes with spawn.
MOST_OF_SPAWN = (0.9, 0.35, 0.35)
MOST_OF_SPAWN_WITH_MODULES = (0.9, 0.05, 0.05)
#: And of a script, in starts of `python`.
MOST_STARTS = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print medians and ratios beside what was promised; status 1 if that was not kept."""
    parser = argparse.ArgumentParser(prog="./dev bench firsts", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, metavar="N")
    parser.add_argument("--modules", default="", metavar="LIST", help="what the workers import beforehand")
    chosen = parser.parse_args(arguments)
    # What a user has: compiled once, when the package was installed.
    compileall.compile_dir(ROOT / "src" / "coldfork", quiet=2)
    with tempfile.TemporaryDirectory() as name:
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": name}
        kept = _pools(chosen.rounds, chosen.modules, variables)
        script = Path(name, "script.py")
        script.write_text("print('ready')\n", encoding="utf-8")
        kept = _scripts(chosen.rounds, script, variables) and kept
    return 0 if kept else 1


def _pools(rounds: int, modules: str, variables: Mapping[str, str]) -> bool:
    samples: dict[str, list[list[float]]] = {executor: [] for executor in EXECUTORS}
    for turn in range(rounds + 1):
        for place in range(len(EXECUTORS)):
            executor = EXECUTORS[(turn + place) % len(EXECUTORS)]
            command = [sys.executable, str(PROGRAM), executor, modules, repr(time.monotonic())]
            done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
            samples[executor].append([float(word) for word in done.stdout.split()])
    # The first of each does not count.
    found = {
        executor: [Spread.of(column) for column in zip(*taken[1:], strict=True)]
        for executor, taken in samples.items()
    }
    most = MOST_OF_SPAWN_WITH_MODULES if modules else MOST_OF_SPAWN
    kept = True
    for place, wait in enumerate(WAITS):
        spawn = found["spawn"][place].median
        for executor in EXECUTORS:
            ratio = found[executor][place].median / spawn
            said = f"{wait:<18} {executor:<10} {_ms(found[executor][place])}   {ratio:5.2f} of spawn"
            if executor == "coldfork":
                kept = kept and ratio <= most[place]
                said += f"   (promised {most[place]:g}: {_kept(ratio <= most[place])})"
            print(said)
    return kept


def _scripts(rounds: int, script: Path, variables: Mapping[str, str]) -> bool:
    commands = {
        "python": [sys.executable, str(script)],
        "coldfork exec": [
            sys.executable,
            "-c",
            "from coldfork.cli.main import main; main()",
            "exec",
            str(script),
        ],
    }
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name in sorted(commands, reverse=bool(turn % 2)):
            began = time.perf_counter()
            subprocess.run(commands[name], env=variables, stdout=subprocess.PIPE, check=True)
            samples[name].append(time.perf_counter() - began)
    python, ours = (Spread.of(samples[name][1:]) for name in commands)
    starts = ours.median / python.median
    print(f"a script           python        {_ms(python)}")
    print(
        f"a script           coldfork exec {_ms(ours)}   {starts:.1f} starts of python   "
        f"(promised {MOST_STARTS:g}: {_kept(starts <= MOST_STARTS)})"
    )
    return starts <= MOST_STARTS


def _ms(spread: Spread) -> str:
    return f"{spread.median * 1000:7.1f} ms (IQR {spread.interquartile * 1000:.1f})"


def _kept(kept: bool) -> str:
    return "kept" if kept else "NOT kept"


if __name__ == "__main__":
    sys.exit(main())
