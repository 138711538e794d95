"""Measures what the fork guard costs: `./dev bench guard [--rounds 5] [--starts 40] [--json FILE]`"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.guard_inside import EVERYTHING
from published.errors import UnavailableError

ROOT = Path(__file__).resolve().parent.parent
INSIDE = Path(__file__).with_name("guard_inside.py")
#: What `coldfork guard` promises.
MOST_MICROSECONDS_A_FORK = 50.0
MOST_MICROSECONDS_AN_EVENT = 0.5


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured."""

    what: str
    value: float
    unit: str
    most: float | None = None
    """What it must not exceed, where something was promised."""

    def __str__(self) -> str:
        promise = (
            ""
            if self.most is None
            else f"   promised {self.most:g}: {'holds' if self.holds else 'FALLS SHORT'}"
        )
        return f"{self.what:68} {self.value:9.2f} {self.unit}{promise}"

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, if there is one."""
        return self.most is None or self.value <= self.most


def measure(rounds: int, starts: int) -> list[Figure]:
    """Everything, each part in `rounds` processes of its own."""
    return [*event_figures(rounds), *fork_figures(rounds), *import_figures(rounds), *start_figures(starts)]


def event_figures(rounds: int) -> list[Figure]:
    """Audit events, and code that raises none."""
    said = [_inside("events") for _ in range(rounds)]

    def more(state: str, which: int) -> float:
        return float(statistics.median(one[state][which] - one["without"][which] for one in said))

    def ratio(state: str) -> float:
        return float(statistics.median(one[state][1] / one["without"][1] for one in said))

    return [
        Figure("an audit event costs more", more("guard", 0) / 1e3, "us", MOST_MICROSECONDS_AN_EVENT),
        Figure("an audit event costs more, with the guard off again", more("off", 0) / 1e3, "us"),
        Figure("code without events takes, of its time without the guard", 100 * ratio("guard"), "%"),
    ]


def fork_figures(rounds: int) -> list[Figure]:
    """The examination before a fork, in a bare program and with everything loaded."""
    figures = []
    for title, names in (("a bare program", ()), ("with {} loaded", EVERYTHING)):
        said = [_inside("forks", *names) for _ in range(rounds)]
        where = title.format(", ".join(said[0]["loaded"]))
        if names:
            print(f"everything: {', '.join(said[0]['loaded'])}")
            where = "with everything loaded"
        middle = {key: statistics.median(one[key] for one in said) for key in said[0] if key != "loaded"}
        figures += [
            Figure(
                f"examined before a fork, {where}",
                middle["on_us"] - middle["off_us"],
                "us",
                MOST_MICROSECONDS_A_FORK,
            ),
            Figure(f"the same with the guard off, {where}", middle["off_us"], "us"),
            Figure(f"examined right after another fork, {where}", middle["after_us"], "us"),
            Figure(f"fork and wait, guard off, {where}", middle["fork_off_us"], "us"),
            Figure(f"fork and wait, guard on, {where}", middle["fork_on_us"], "us"),
            Figure(f"the first examination of a process, processor time, {where}", middle["first_ms"], "ms"),
        ]
    return figures


def import_figures(rounds: int) -> list[Figure]:
    """Watching the imports of a large package."""
    name = next((name for name in ("torch", "numpy") if _can_import(name)), None)
    if name is None:
        return []
    pairs = [
        (_inside("imports", name, "plain")["seconds"], _inside("imports", name, "guarded")["seconds"])
        for _ in range(rounds)
    ]
    return [
        Figure(f"import {name}, processor time", statistics.median(plain for plain, _ in pairs), "s"),
        Figure(
            f"import {name} under the guard, of its time without",
            100 * statistics.median(guarded / plain for plain, guarded in pairs),
            "%",
        ),
    ]


def start_figures(starts: int) -> list[Figure]:
    """The start of an interpreter with the pth file in its several conditions, interleaved."""
    from coldfork.start.guard import pth_file

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        site = next(Path(folder).glob("lib/python*/site-packages"))
        installed, removed = site / "coldfork", Path(folder) / "coldfork"
        shutil.copytree(ROOT / "src" / "coldfork", removed)
        compileall.compile_dir(removed, quiet=2, stripdir=folder, prependdir=str(site))
        path = site / pth_file.FILE
        whole = pth_file.written("raise", "0")
        states: dict[str, tuple[bool, str | None, dict[str, str]]] = {
            "without the pth file": (True, None, {}),
            "with the pth file": (True, whole, {}),
            "with the pth file and COLDFORK_GUARD=off": (True, whole, {"COLDFORK_GUARD": "off"}),
            "with the pth file, coldfork removed": (False, whole, {}),
            "with the pth file cut off": (True, whole[:100], {}),
        }
        times: dict[str, list[float]] = {state: [] for state in states}
        for turn in range(starts + 1):
            for state, (with_coldfork, text, variables) in states.items():
                if with_coldfork != installed.exists():
                    (removed if with_coldfork else installed).rename(installed if with_coldfork else removed)
                path.write_text(text or "", encoding="utf-8")
                seconds = _start(Path(folder) / "bin" / "python", variables)
                if turn:  # the first one reads from the disk
                    times[state].append(seconds * 1e3)
    base = times["without the pth file"]
    figures = [Figure("a start of Python without it, processor time", statistics.median(base), "ms")]
    for state in list(states)[1:]:
        more = statistics.median(one - other for one, other in zip(times[state], base, strict=True))
        figures.append(Figure(f"{state}, more", more, "ms"))
    return figures


def _start(python: Path, variables: dict[str, str]) -> float:
    """The processor time of one start."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COLDFORK"))
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [str(python), "-c", "pass"],
        env={**environment, **variables},
        check=True,
        stderr=subprocess.DEVNULL,
        timeout=60,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _inside(*arguments: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    environment.pop("COLDFORK_GUARD", None)
    done = subprocess.run(
        [sys.executable, str(INSIDE), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(arguments)} failed: {done.stderr[-1000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _can_import(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print what was promised beside it; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="./dev bench guard", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="processes for each measurement")
    parser.add_argument("--starts", type=int, default=40, help="starts of Python in each condition")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians")
    figures = measure(options.rounds, options.starts)
    for figure in figures:
        print(figure)
    if options.json:
        rows = [{"what": one.what, "value": one.value, "unit": one.unit, "most": one.most} for one in figures]
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
