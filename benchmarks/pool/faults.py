"""The cost of faults: a killed worker, an overrun deadline, a killed program. `./dev bench pool --faults`"""

from __future__ import annotations

import json
import os
import select
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import Spread
from benchmarks.pool.programs import LIMIT, line, measure, running

PROGRAM = "benchmarks.pool.fault_program"
#: pebble is the only peer that fails the victim alone and keeps deadlines.
NAMES = ("coldfork", "pebble")
MOST = {"failed": 50.0, "overrun": 100.0, "ended": 100.0, "gone": 100.0}
"""What was promised, in milliseconds."""
WORDS = {
    "failed": "from SIGKILL to the failed future",
    "healed": "from SIGKILL to an answer of the worker that replaces it",
    "overrun": "from the deadline to the failed future",
    "ended": "from the deadline to the end of the worker",
    "gone": "from the program's SIGKILL until its busy workers and their children are gone",
}


def main(python: Path, rounds: int, file: Path | None) -> int:
    """Measure and print; status 1 if a promise was not kept."""
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in NAMES}
    for turn in range(rounds):
        for name in NAMES if turn % 2 == 0 else NAMES[::-1]:
            for fault in ("killed", "overrun"):
                with tempfile.TemporaryDirectory() as folder:
                    found = measure(python, PROGRAM, name, fault, folder)
                for measured, seconds in found.items():
                    figures[name].setdefault(measured, []).append(seconds)
        figures["coldfork"].setdefault("gone", []).append(left_after_death(python))
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f} in the end, {os.cpu_count()} cores")
    print("\n".join(table(figures)))
    if file is not None:
        content = {
            name: {measured: asdict(Spread.of(samples)) for measured, samples in found.items()}
            for name, found in figures.items()
        }
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0 if judged(figures["coldfork"]) else 1


def left_after_death(python: Path) -> float:
    """How long what a program started is there after it was killed, in seconds."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(python, PROGRAM, "coldfork", "orphaned", folder) as (
            program,
            said,
        ),
    ):
        named = line(program, said)
        started = {*named, *descendants(program.pid)}
        processes = [os.pidfd_open(pid) for pid in started]
        try:
            began = time.perf_counter()
            program.kill()
            for process in processes:
                if not select.select([process], [], [], LIMIT)[0]:
                    break
            return time.perf_counter() - began
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                os.close(process)


def descendants(root: int) -> set[int]:
    """Return all descendants of a process."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        with suppress(OSError):
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                children = [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
                waiting += children
                found.update(children)
    return found


def table(figures: dict[str, dict[str, list[float]]]) -> list[str]:
    """The medians with their spread."""
    lines = []
    for measured, words in WORDS.items():
        lines += ["", words]
        for name, found in figures.items():
            if samples := found.get(measured):
                spread = Spread.of(samples)
                lines.append(
                    f"  {name:<10}{spread.median * 1000:8.1f} ms "
                    f"({spread.low * 1000:.1f} to {spread.high * 1000:.1f}, n={spread.runs})"
                )
    return lines


def judged(ours: Mapping[str, Sequence[float]]) -> bool:
    """Print each promise and whether it was kept."""
    print()
    all_kept = True
    for measured, most in MOST.items():
        taken = Spread.of(ours[measured]).median * 1000
        kept = taken <= most
        all_kept = all_kept and kept
        print(f"{taken:.0f} ms {WORDS[measured]}; promised: {most:g}: {'kept' if kept else 'NOT kept'}")
    return all_kept
