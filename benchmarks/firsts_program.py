"""The program that `./dev bench firsts` measures: `... firsts_program.py EXECUTOR MODULES BEGAN`

It prints how long it took from its own start (BEGAN, on the monotonic clock) to the first result of a pool,
to that of a second pool beside it, and to that of another after both. It imports little itself, for workers
may import it, too.
"""

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def add(number: int) -> int:
    """A task."""
    return number + 1


def have(modules: "list[str]") -> None:
    """Import these, in a worker that has no other way to have them."""
    from importlib import import_module

    for name in modules:
        import_module(name)


def opened(executor: str, modules: "list[str]") -> "Any":
    """A pool of two that has given its first result."""
    if executor == "coldfork":
        import coldfork

        pool: Any = coldfork.WorkerPool(2, preload=modules)
    else:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        context: Any = multiprocessing.get_context(executor)
        if executor == "forkserver":
            context.set_forkserver_preload(modules)
        pool = ProcessPoolExecutor(2, mp_context=context, initializer=have, initargs=(modules,))
    if pool.submit(add, 1).result() != 2:
        raise SystemExit("a worker cannot add")
    return pool


def main(executor: str, modules: "list[str]", began: float) -> None:
    """Open three pools."""
    first = opened(executor, modules)
    figures = [time.monotonic() - began]
    began = time.monotonic()
    beside = opened(executor, modules)
    figures.append(time.monotonic() - began)
    beside.shutdown()
    first.shutdown()
    began = time.monotonic()
    after = opened(executor, modules)
    figures.append(time.monotonic() - began)
    after.shutdown()
    print(*figures)


if __name__ == "__main__":
    main(sys.argv[1], [name for name in sys.argv[2].split(",") if name], float(sys.argv[3]))
