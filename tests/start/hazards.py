"""Real runtimes that a fork breaks, and some that it does not: what each does in a parent and a child.

Run as a program with the name of one of them: it uses the runtime, forks a child that uses it again, asks
coldfork for a context and has the same done in a process of that context. It prints what became of each.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module as load
from typing import Any

SECONDS = 6
"""What a child may take; one that does the work takes well under a second of processor time."""


def torch(size: int) -> None:
    torch: Any = load("torch")
    torch.ones(size * 4_000_000).exp().sum().item()


def polars(size: int) -> None:
    pl: Any = load("polars")
    table = pl.DataFrame({"a": range(200_000), "b": [number % 7 for number in range(200_000)]})
    table.lazy().group_by("b").agg(pl.col("a").sum()).collect()


def tokenizers(size: int) -> None:
    tokenizers: Any = load("tokenizers")
    model = tokenizers.models.WordLevel({"word": 0}, unk_token="word")
    tokenizers.Tokenizer(model).encode_batch(["word word"] * 2000)


def jax(size: int) -> None:
    jax: Any = load("jax")
    # Another size is compiled anew.
    jax.jit(lambda matrix: (matrix @ matrix.T).sum())(jax.numpy.ones((64 * size, 64))).block_until_ready()


def numba(size: int) -> None:
    numba: Any = load("numba")
    np: Any = load("numpy")

    def squares(values: Any) -> float:
        total = 0.0
        for index in numba.prange(values.size):
            total += values[index] ** 2
        return total

    assert numba.njit(parallel=True)(squares)(np.ones(1000)) == 1000


def sklearn(size: int) -> None:
    np: Any = load("numpy")
    ensemble: Any = load("sklearn.ensemble")
    values = np.random.default_rng(0).random((5000, 10))
    ensemble.HistGradientBoostingClassifier(max_iter=2).fit(values, values[:, 0] > 0.5)


def pocl(size: int) -> None:
    pyopencl: Any = load("pyopencl")

    devices = [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
    context = pyopencl.Context(devices[:1])
    with pyopencl.CommandQueue(context) as queue:
        buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 1024)
        pyopencl.enqueue_fill_buffer(queue, buffer, b"\0", 0, 1024)
        queue.finish()


def openblas(size: int) -> None:
    np: Any = load("numpy")

    matrix = np.ones((500, 500))
    assert (matrix @ matrix)[0, 0] == 500


def pyarrow(size: int) -> None:
    pa: Any = load("pyarrow")
    table = pa.table({"a": list(range(200_000)), "b": [number % 7 for number in range(200_000)]})
    assert table.group_by("b").aggregate([("a", "sum")]).num_rows == 7


def import_torch(size: int) -> None:
    torch: Any = load("torch")
    if size > 1:
        torch.ones(4_000_000).exp().sum().item()


def sized_torch(size: int) -> None:
    torch: Any = load("torch")
    torch.set_num_threads(2)
    if size > 1:
        torch.ones(4_000_000).exp().sum().item()


def nothing(size: int) -> None:
    pass


WORKS: dict[str, Callable[[int], None]] = {
    work.__name__: work
    for work in (
        torch,
        polars,
        tokenizers,
        jax,
        numba,
        sklearn,
        pocl,
        openblas,
        pyarrow,
        import_torch,
        sized_torch,
        nothing,
    )
}


def again(name: str) -> None:
    """Do what every child does."""
    WORKS[name](2)


def forked(name: str) -> int:
    """The process id of a plainly forked child that does the work."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        # Ends even a process that is stuck in C.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        again(name)
        os._exit(0)
    return child


def ended(child: int) -> dict[str, Any]:
    """How it ends, and how much processor time it took."""
    _, status, usage = os.wait4(child, 0)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "waited": usage.ru_utime + usage.ru_stime < SECONDS / 4,
    }


def main(name: str) -> None:
    """Do it all and print what became of it."""
    import coldfork
    from coldfork.observe import states

    WORKS[name](1)
    # Now, for OpenBLAS ends its threads before a fork and starts them at their next use.
    owners = sorted({thread.owner for thread in states.native_threads() or ()})
    decision = coldfork.decide()
    context = coldfork.get_context()
    process = context.Process(target=again, args=(name,))
    process.start()
    process.join(60)
    # Both may hang until their time is over, and that at the same time.
    child = forked(name)
    answer = coldfork.canary(3)
    told = {
        "method": decision.method,
        "codes": [reason.code for reason in decision.against("fork")],
        "line": decision.line(),
        "started by": context.get_start_method(),
        "ours": process.exitcode,
        "owners": owners,
        "plain": ended(child),
        "canary": str(answer),
        "expected": [one.code for one in answer.against if one.judgement == "breaks"],
    }
    print(json.dumps(told), flush=True)
    # Without the clean-up of the runtimes: some hang in it.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
