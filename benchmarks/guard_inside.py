"""The measurements that `./dev bench guard` makes in processes of their own, one each, printed as JSON.

Each compares the guard with its absence in the same process, in turns, so that a busy machine slows both.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable

EVERYTHING = ("numpy", "torch", "jax", "polars", "tokenizers", "pyopencl", "pyarrow", "sklearn", "numba")
EVENTS = 50_000
FORKS = 60
EXAMINATIONS = 2_000


def nanoseconds(work: Callable[[], object], clock: Callable[[], int] = time.perf_counter_ns) -> int:
    """How long one call takes."""
    began = clock()
    work()
    return clock() - began


def loaded(names: tuple[str, ...]) -> list[str]:
    """Import what there is of these."""
    found = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        found.append(name)
    return found


def events() -> dict[str, object]:
    """Time an audit event and code without events: without a hook, with the guard, and with it off."""
    import coldfork

    def audited() -> None:
        audit = sys.audit
        for _ in range(EVENTS):
            audit("coldfork.bench", 1, 2)

    def plain() -> None:
        total = 0
        for number in range(EVENTS):
            total += number * number

    def rounds() -> tuple[float, float]:
        # Processor time, and the fastest of several: what it costs, and not what else the machine did.
        return min(nanoseconds(audited, time.process_time_ns) for _ in range(9)) / EVENTS, min(
            nanoseconds(plain, time.process_time_ns) for _ in range(9)
        ) / EVENTS

    without = rounds()
    coldfork.guard("strict")
    guarded = rounds()
    coldfork.guard("off")
    off = rounds()
    return {"without": without, "guard": guarded, "off": off}


def forks(names: tuple[str, ...]) -> dict[str, object]:
    """Return the microseconds that the guard adds to a fork, measured with it on and off in turns."""
    import coldfork

    coldfork.guard("strict")
    have = loaded(names)
    first = nanoseconds(lambda: sys.audit("os.fork"), time.process_time_ns) / 1e6
    guard_on: list[int] = []
    guard_off: list[int] = []
    # The event of a fork is all that the guard sees of it, and raising it does not fork.
    for _ in range(EXAMINATIONS):
        with coldfork.guard("off"):
            guard_off.append(nanoseconds(lambda: sys.audit("os.fork")))
        guard_on.append(nanoseconds(lambda: sys.audit("os.fork")))
    after: list[int] = []
    real_on: list[int] = []
    real_off: list[int] = []
    for _ in range(FORKS):
        with coldfork.guard("off"):
            real_off.append(nanoseconds(_fork_and_wait))
        # The fork before has left every page of the process to be copied at its next use.
        after.append(nanoseconds(lambda: sys.audit("os.fork")))
        real_on.append(nanoseconds(_fork_and_wait))
    return {
        "loaded": have,
        "first_ms": first,
        "on_us": statistics.median(guard_on) / 1e3,
        "off_us": statistics.median(guard_off) / 1e3,
        "after_us": statistics.median(after) / 1e3,
        "fork_on_us": statistics.median(real_on) / 1e3,
        "fork_off_us": statistics.median(real_off) / 1e3,
    }


def imports(name: str, guarded: str) -> dict[str, object]:
    """The processor time of one import, watched or not, in seconds."""
    if guarded == "guarded":
        import coldfork

        coldfork.guard("strict")
    began = time.process_time()
    importlib.import_module(name)
    return {"seconds": time.process_time() - began}


def _fork_and_wait() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


MEASUREMENTS: dict[str, Callable[..., dict[str, object]]] = {
    "events": events,
    "forks": lambda *names: forks(names),
    "imports": imports,
}

if __name__ == "__main__":
    print(json.dumps(MEASUREMENTS[sys.argv[1]](*sys.argv[2:])))
