"""Measures how fast a script starts warm: `./dev bench starts [--rounds 100] [--modules torch] [--python P]`

The same script, which imports the modules, is run by `coldfork exec` cold and warm in turn, so that what the
machine is busy with weighs on both: until the first byte of its output, and until the command has ended. Then
once more from within a program, by `run_script`, where the command's own start does not count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.measure import Spread

#: What was promised.
TIMES_COLD = 20.0
MOST_FIRST_BYTE = 0.3
SOURCE = Path(__file__).resolve().parents[1] / "src"
_OF_A_PROGRAM = """
import sys, time
from coldfork import run_script
script, modules, cold, warm = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), int(sys.argv[4])
def timed(**how):
    began = time.monotonic()
    result = run_script(script, **how)
    assert result.ok and result.cold_because is None, (result.cold_because, result.stderr)
    return time.monotonic() - began
timed(warm=modules)
for number in range(warm):
    if number % max(1, warm // cold) == 0:
        print("cold", timed(), flush=True)
    print("warm", timed(warm=modules), flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print medians and ratios beside what was promised."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=100, metavar="N")
    parser.add_argument("--cold", type=int, default=7, metavar="N", help="so many cold starts among them")
    parser.add_argument("--modules", default="torch", metavar="LIST")
    parser.add_argument("--python", default=sys.executable, metavar="PATH")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.py"
        script.write_text(f"import {given.modules}\nprint('ready', flush=True)\n", encoding="utf-8")
        variables = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "XDG_RUNTIME_DIR": name,
            "XDG_STATE_HOME": str(folder / "state"),
        }

        def coldfork(*words: str) -> list[str]:
            return [given.python, "-m", "coldfork", *words]

        subprocess.run(coldfork("warm", "start", *given.modules.split(",")), env=variables, check=True)
        try:
            cold, warm = _of_commands(
                lambda *words: _timed(coldfork("exec", *words, str(script)), variables), given
            )
            _tell("coldfork exec", cold, warm)
            _of_a_program(given, script, variables)
        finally:
            subprocess.run(coldfork("warm", "stop"), env=variables, check=True)
    return 0


Times = list[tuple[float, float]]


def _of_commands(run: Callable[..., tuple[float, float]], given: argparse.Namespace) -> tuple[Times, Times]:
    cold: Times = []
    warm: Times = []
    run("--warm", given.modules)
    for number in range(given.rounds):
        if number % max(1, given.rounds // given.cold) == 0:
            cold.append(run())
        warm.append(run("--warm", given.modules))
    return cold, warm


def _timed(command: Sequence[str], variables: Mapping[str, str]) -> tuple[float, float]:
    """Until the first byte, and until the end."""
    began = time.monotonic()
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.monotonic() - began
        _, errors = process.communicate()
        whole = time.monotonic() - began
    if process.returncode or errors:
        raise RuntimeError(errors.decode(errors="replace"))
    return first, whole


def _tell(what: str, cold: Times, warm: Times) -> None:
    first = Spread.of([one for one, _ in warm])
    whole, before = Spread.of([one for _, one in warm]), Spread.of([one for _, one in cold])
    print(f"{what}, {len(warm)} warm starts among {len(cold)} cold ones")
    print(
        f"  first byte  warm {first}, at most {max(one for one, _ in warm):.3f} s   "
        f"(promised {MOST_FIRST_BYTE} s)"
    )
    print(f"  whole       warm {whole}   cold {before}")
    print(f"  {before.median / whole.median:.1f} times faster   (promised {TIMES_COLD:g})")


def _of_a_program(given: argparse.Namespace, script: Path, variables: Mapping[str, str]) -> None:
    words = [str(script), given.modules, str(given.cold), str(given.rounds)]
    command = [given.python, "-c", _OF_A_PROGRAM, *words]
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    times = {kind: [(0.0, float(row[1])) for row in rows if row[0] == kind] for kind in ("cold", "warm")}
    whole = Spread.of([one for _, one in times["warm"]])
    before = Spread.of([one for _, one in times["cold"]])
    print(f"run_script in a program that runs already, {len(times['warm'])} among {len(times['cold'])}")
    print(f"  whole       warm {whole}   cold {before}")
    print(f"  {before.median / whole.median:.1f} times faster   (promised {TIMES_COLD:g})")


if __name__ == "__main__":
    sys.exit(main())
