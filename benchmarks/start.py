"""Measures what a command costs before it does anything: `./dev bench start [--rounds 15]`

Each command is compared with `python -c pass`, run in turn, by processor time: what else the machine does
weighs less on that. The least of all rounds counts. The exit status is 1 where one takes more than it may.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
#: How many times the processor time of `python -c pass` a command may take.
MOST = {"--version": 3.0, "--help": 4.0, "check": 8.0}
MODULES = 10
MODULE = """\
import os
from dataclasses import dataclass


@dataclass
class Part:
    name: str = ""


def place(part):
    return os.path.join("parts", part.name)
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """The commands by their names, the yardstick first."""
    coldfork = [sys.executable, "-P", "-m", "coldfork"]
    return {
        "python -c pass": [sys.executable, "-P", "-c", "pass"],
        "--version": [*coldfork, "--version"],
        "--help": [*coldfork, "--help"],
        "check": [*coldfork, "check", str(folder)],
    }


def package(folder: Path) -> Path:
    """A package of ten modules that wakes nothing."""
    place = folder / "parts"
    place.mkdir()
    for number in range(1, MODULES):
        (place / f"part{number}.py").write_text(MODULE, encoding="utf-8")
    names = ", ".join(f"part{number}" for number in range(1, MODULES))
    (place / "__init__.py").write_text(f"from parts import {names}\n", encoding="utf-8")
    return place


def cost(command: list[str], environment: dict[str, str]) -> float:
    """The processor time of one run, with that of what it waited for, in seconds."""
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    child = os.posix_spawn(command[0], command, environment, file_actions=[nowhere])
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, and say whether all is within what it may take."""
    parser = argparse.ArgumentParser(prog="./dev bench start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    # Where Python may not write what it compiles, each run would measure the compiler.
    compileall.compile_dir(SOURCE / "coldfork", quiet=1)
    least: dict[str, float] = {}
    # With a hyphen, the folder cannot be a package: else each check would also read what lies beside it.
    with tempfile.TemporaryDirectory(prefix="bench-start-") as folder:
        timed = commands(package(Path(folder)))
        environment = {**os.environ, "COLDFORK_CACHE_DIR": str(Path(folder) / "cache")}
        for _ in range(options.rounds):
            for name, command in timed.items():
                took = cost(command, environment)
                least[name] = min(took, least.get(name, took))
    yardstick, *others = least
    print(f"{yardstick:<16}{1000 * least[yardstick]:5.0f} ms")
    over = False
    for name in others:
        times = least[name] / least[yardstick]
        over |= times > MOST[name]
        print(f"{name:<16}{1000 * least[name]:5.0f} ms   {times:4.1f} times, {MOST[name]:.0f} at most")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
