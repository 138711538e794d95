"""The cost of watching a program: `./dev bench observe [--rounds 10] [--target NAME] [--json FILE]`

Two answers that have to agree. Counted: in one watched import every event of the watch is timed where it
happens, with the caches as cold as the import leaves them. Paired: the same import with and without the
watch, by turns, in CPU time, whole processes with all that they start.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Spread
from coldfork.observe import bootstrap
from published import places
from published.errors import UnavailableError

REQUIREMENTS = ("torch==2.13.0", "transformers==5.23.0", "accelerate==1.15.0", "numpy")
TIMED = Path(__file__).with_name("observe_timed.py")
SOURCES = places.ROOT / "src"
#: What is promised of the watched process.
MOST_SHARE = 0.03
MOST_IMPORT_MS = 5.0

TARGETS = {
    "torch": "import torch",
    "transformers": "import transformers",
    "transformers-models": "from transformers import AutoModelForCausalLM, LlamaForCausalLM, Trainer",
}


@dataclass(frozen=True)
class Cost:
    """The cost of watching one program, in seconds of CPU time."""

    target: str
    plain: Spread
    watched: Spread
    run: Spread
    events: dict[str, tuple[int, float]]
    """How often each event of the watch came, and how long all of them took."""
    start: float
    """What starting the watch costs, before the program's first line."""

    @property
    def counted(self) -> float:
        """The share of the watch, by its events."""
        return (self.start + sum(seconds for _, seconds in self.events.values())) / self.plain.median

    @property
    def paired(self) -> float:
        """The share of the watch, by paired runs."""
        return self.watched.median / self.plain.median - 1


def python() -> str:
    """The interpreter of the environment with the packages that are imported, made when it is missing."""
    folder = places.workshop() / "venvs" / "observe"
    done, wanted = folder / "installed", "\n".join(REQUIREMENTS)
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        print(f"installing {' '.join(REQUIREMENTS)} ...", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        _checked([sys.executable, "-m", "venv", str(folder)])
        _checked([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *REQUIREMENTS])
        done.write_text(wanted, encoding="utf-8")
    return str(folder / "bin" / "python")


def _checked(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"{' '.join(command[:4])} ... exits {done.returncode}: {done.stderr[-400:]}")


def cpu_seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """The CPU time of a process and of all that it started and waited for."""
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise UnavailableError(f"{' '.join(command[:4])} ... exits {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def environment() -> dict[str, str]:
    """This environment without what changes how Python imports."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COLDFORK"))}


class Bench:
    """Runs programs with and without the watch."""

    def __init__(self, interpreter: str, scratch: Path, rounds: int) -> None:
        self.python = interpreter
        self.scratch = scratch
        self.rounds = rounds

    def cost(self, target: str) -> Cost:
        """Measure the cost of watching one target."""
        code = TARGETS[target]
        plain, watched, run = self.by_turns(code)
        return Cost(target, plain, watched, run, self.events(code), self.start(code))

    def by_turns(self, code: str) -> tuple[Spread, Spread, Spread]:
        """Plain, watched, and through the command; the first round warms the caches and does not count."""
        ways = (self._plain, self._watched, self._run)
        found: tuple[list[float], ...] = ([], [], [])
        for turn in range(self.rounds + 1):
            for at in ((0, 1, 2), (2, 1, 0))[turn % 2]:
                seconds = ways[at](code)
                if turn:
                    found[at].append(seconds)
        plain, watched, run = map(Spread.of, found)
        return plain, watched, run

    def start(self, code: str) -> float:
        """Return the cost of the watch for a program that only loads what the target loads anyway."""
        ours = self._modules("pass", watched=True) - self._modules("pass")
        shared = sorted(ours & self._modules(code))
        same = f"import {', '.join(shared)}" if shared else "pass"
        pairs = [self._watched(same) - self._plain(same) for _ in range(2 * self.rounds + 1)]
        return Spread.of(pairs[1:]).median

    def _modules(self, code: str, *, watched: bool = False) -> set[str]:
        """The modules that are loaded when a program ends."""
        told = {"mode": "run", "recording": str(self._recording()), "limit": 64 << 20}
        done = subprocess.run(
            [self.python, "-c", f"{code}\nimport sys; print(*sys.modules)"],
            env=bootstrap.environment(told, environment()) if watched else environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return set(done.stdout.splitlines()[-1].split())

    def events(self, code: str) -> dict[str, tuple[int, float]]:
        """The events of the watch in one import, each kind with the median of its times over some runs."""
        command = [self.python, str(TIMED), str(SOURCES), str(self._recording()), code]
        runs: list[dict[str, Any]] = []
        for _ in range(min(self.rounds, 5) + 1):
            done = subprocess.run(
                command, env=environment(), capture_output=True, text=True, check=False, timeout=600
            )
            if done.returncode:
                raise UnavailableError(f"the timed import failed: {done.stderr[-400:]}")
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        return {
            name: (runs[-1][name][0], Spread.of([run[name][1] for run in runs[1:]]).median)
            for name in runs[-1]
        }

    def _plain(self, code: str) -> float:
        return cpu_seconds([self.python, "-c", code], environment())

    def _watched(self, code: str) -> float:
        told = {"mode": "run", "recording": str(self._recording()), "limit": 64 << 20}
        return cpu_seconds([self.python, "-c", code], bootstrap.environment(told, environment()))

    def _run(self, code: str) -> float:
        own = [sys.executable, "-P", "-m", "coldfork", "run", "--quiet", "--python", self.python]
        return cpu_seconds(
            [*own, "--output", str(self._recording()), "-c", code],
            {**environment(), "PYTHONPATH": str(SOURCES)},
        )

    def _recording(self) -> Path:
        place = self.scratch / "recording.jsonl"
        place.unlink(missing_ok=True)
        return place


def importing(rounds: int) -> Spread:
    """Milliseconds that `import coldfork.observe.watch` takes in a fresh interpreter."""
    code = (
        f"import sys; sys.path.append({str(SOURCES)!r})\n"
        "from time import perf_counter; began = perf_counter()\n"
        "import coldfork.observe.watch\nprint((perf_counter() - began) * 1000)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True).stdout)
        for _ in range(2 * rounds + 1)
    ]
    return Spread.of(runs[1:])


def told(cost: Cost) -> str:
    """Return the measurements of one target as text."""
    lines = [f"{cost.target}: {TARGETS[cost.target]}"]
    for name, spread in (("plain", cost.plain), ("watched", cost.watched), ("coldfork run", cost.run)):
        lines.append(f"  {name:14} {spread}")
    for name, (count, seconds) in cost.events.items():
        each = seconds / count * 1e6 if count else 0.0
        lines.append(f"  {name:14} {count:6d} times {each:6.2f} us = {seconds * 1000:6.2f} ms")
    lines.append(f"  {'start':14} {cost.start * 1000:26.2f} ms")
    lines.append(f"  counted {cost.counted:+.2%}, paired {cost.paired:+.2%} (at most {MOST_SHARE:.0%})")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when what is counted breaks the promise."""
    parser = argparse.ArgumentParser(prog="./dev bench observe", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    given = parser.parse_args(arguments)
    try:
        own = importing(given.rounds)
        print(f"import coldfork.observe.watch: {own.median:.2f} ms ({own.low:.2f} to {own.high:.2f})")
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(python(), Path(scratch), given.rounds)
            costs = []
            for target in given.target or TARGETS:
                costs.append(bench.cost(target))
                print(told(costs[-1]), flush=True)
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.json is not None:
        figures = {"import_ms": asdict(own), "targets": [_figures(cost) for cost in costs]}
        given.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    kept = own.median < MOST_IMPORT_MS and all(cost.counted <= MOST_SHARE for cost in costs)
    return 0 if kept else 1


def _figures(cost: Cost) -> dict[str, Any]:
    return {**asdict(cost), "counted": cost.counted, "paired": cost.paired}


if __name__ == "__main__":
    raise SystemExit(main())
