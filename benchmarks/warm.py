"""Measures how fast a new worker has torch: `./dev bench warm [--rounds 15] [--modules torch] [--json FILE]`

One program starts a worker by each method in turn, round after round, so that what the machine is busy
with weighs on all of them: a zygote, a forkserver with the same modules preloaded, and spawn. A worker is
there when its first answer is, with the modules imported. Then the memory of four workers at once, and how
soon everything is gone when the program that started it is killed. With `--transformers` the same is done
with transformers as well, in an environment of its own, of which setting up takes minutes once.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Spread
from benchmarks.warm_program import LIMIT, WORKERS
from published import transformers
from published.environment import VirtualEnvironment
from published.errors import UnavailableError
from published.places import ROOT

#: What was promised.
TIMES_SPAWN = 100.0
MOST_CALLER_MILLISECONDS = 5.0
MOST_PSS_MEGABYTES = 35.0
MOST_PRIVATE_MEGABYTES = 6.0
MOST_LEFT_MILLISECONDS = 100.0

TRANSFORMERS = VirtualEnvironment(transformers.NAME, transformers.REQUIREMENTS)
TRANSFORMERS_MODULES = ("torch", "transformers.models.llama.modeling_llama")


@dataclass(frozen=True, slots=True)
class Starts:
    """New workers of one method."""

    method: str
    answered: Spread
    """From the call that starts it to its first answer."""
    returned: Spread
    """Until the call that starts it has returned."""
    caller: Spread
    """Processor time in the process that starts it."""
    worker: Spread
    """Processor time in the worker until its answer."""

    def __str__(self) -> str:
        return (
            f"{self.method:<10} first answer {_ms(self.answered)}   start() returns {_ms(self.returned)}   "
            f"processor time: caller {_ms(self.caller)}   worker {_ms(self.worker)}"
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """One of several workers at once, the median of them, in megabytes."""

    method: str
    pss: float
    """What it has to itself, and its share of what it has in common with others."""
    private: float
    """What it has to itself."""

    def __str__(self) -> str:
        return (
            f"{self.method:<10} {WORKERS} workers at once, each: PSS {self.pss:.1f} MB, "
            f"private {self.private:.1f} MB"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; status 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(prog="./dev bench warm", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how many workers of each method")
    parser.add_argument("--modules", nargs="+", default=["torch"], help="what the workers have ready")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--transformers", action="store_true", help="the same with transformers as well")
    chosen = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        raise UnavailableError("zygotes are for Linux only")
    ready, starts, memory = measured(chosen.rounds, chosen.modules)
    left = Spread.of([left_after_death(chosen.modules) for _ in range(5)])
    print(f"the server was ready after {ready:.2f} s")
    print(*starts, *memory, sep="\n")
    print(f"all gone {_ms(left)} after the caller was killed, at most {left.high * 1000:.0f} ms")
    kept = judged(starts, memory[0], left)
    if chosen.transformers:
        kept = with_transformers(chosen.rounds) and kept
    if chosen.json is not None:
        figures = {
            "ready": ready,
            "starts": [asdict(each) for each in starts],
            "memory": [asdict(each) for each in memory],
            "left": asdict(left),
        }
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if kept else 1


def with_transformers(rounds: int) -> bool:
    """The same for a worker that has transformers: what is preloaded makes no difference to a zygote."""
    TRANSFORMERS.prepare()
    ready, starts, memory = measured(rounds, TRANSFORMERS_MODULES, TRANSFORMERS.python)
    print(f"with transformers: the server was ready after {ready:.2f} s")
    print(*starts, *memory, sep="\n")
    return promised(started(starts))


def measured(
    rounds: int, modules: Sequence[str], python: str | Path = sys.executable
) -> tuple[float, list[Starts], list[Memory]]:
    """When the server was ready, and the workers of each method."""
    command = _command("starts", rounds, modules, python)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise UnavailableError("the program that starts workers has failed")
    timed, rolled = map(json.loads, done.stdout.splitlines()[-2:])
    parts = ("answered", "returned", "caller", "worker")
    starts = [
        Starts(method, *(Spread.of([turn[method][part] for turn in timed["turns"]]) for part in parts))
        for method in ("zygote", "forkserver", "spawn")
    ]
    memory = [
        Memory(method, *(Spread.of(column).median for column in zip(*workers, strict=True)))
        for method, workers in rolled.items()
    ]
    return timed["ready"], starts, memory


def left_after_death(modules: Sequence[str]) -> float:
    """How long the server and the workers of a program are there after it was killed, in seconds."""
    with subprocess.Popen(_command("killed", 0, modules), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        processes = [os.pidfd_open(pid) for pid in json.loads(program.stdout.readline())]
        began = time.perf_counter()
        program.kill()
        for process in processes:
            if not select.select([process], [], [], LIMIT)[0]:
                raise UnavailableError("a worker outlived its caller")
            os.close(process)
        return time.perf_counter() - began


Promise = tuple[str, float, bool]


def judged(starts: Sequence[Starts], memory: Memory, left: Spread) -> bool:
    """Print each promise and whether it was kept."""
    gone = left.median * 1000
    rest = (
        (f"{memory.pss:.1f} MB PSS", MOST_PSS_MEGABYTES, memory.pss <= MOST_PSS_MEGABYTES),
        (
            f"{memory.private:.1f} MB private",
            MOST_PRIVATE_MEGABYTES,
            memory.private <= MOST_PRIVATE_MEGABYTES,
        ),
        (f"gone {gone:.0f} ms after the caller", MOST_LEFT_MILLISECONDS, gone <= MOST_LEFT_MILLISECONDS),
    )
    return promised((*started(starts), *rest))


def started(starts: Sequence[Starts]) -> tuple[Promise, ...]:
    """Return the promises about a start."""
    zygote, forkserver, spawn = starts
    times = spawn.answered.median / zygote.answered.median
    against = forkserver.answered.median / zygote.answered.median
    caller = zygote.caller.median * 1000
    return (
        (f"{times:.0f} times faster than spawn", TIMES_SPAWN, times >= TIMES_SPAWN),
        (f"{against:.2f} times faster than forkserver with preload", 1, against > 1),
        (f"{caller:.1f} ms in the caller", MOST_CALLER_MILLISECONDS, caller <= MOST_CALLER_MILLISECONDS),
    )


def promised(promises: Sequence[Promise]) -> bool:
    """Print each promise and whether it was kept; whether all were."""
    for text, bound, kept in promises:
        print(f"{text}; promised: {bound:g}: {'kept' if kept else 'NOT kept'}")
    return all(kept for *_, kept in promises)


def _command(
    what: str, rounds: int, modules: Sequence[str], python: str | Path = sys.executable
) -> list[str]:
    return [str(python), "-m", "benchmarks.warm_program", what, str(rounds), *modules]


def _ms(spread: Spread) -> str:
    return f"{spread.median * 1000:6.1f} ms (IQR {spread.interquartile * 1000:.1f})"


if __name__ == "__main__":
    sys.exit(main())
