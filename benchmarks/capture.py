"""The cost of virtual capture: recording, replaying and memory beside eager execution: `./dev bench capture`.

Times are processor time of the one thread that works, and of several runs the fastest counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase
from coldfork.virtual import capture

RECORDING_LIMIT = 25.0
"""Microseconds an operator once its shapes are known, with all the poison, where memory is used again."""
REPLAY_LIMIT = 2.0
"""Times eager execution."""
MANAGER_LIMIT = 15.0
"""Microseconds that a manager's `replay` may add to the graph's own, copies of inputs excepted."""


@dataclass(frozen=True, slots=True)
class Program:
    """Something to capture, and how it is called in the table."""

    name: str
    run: Callable[[], Any]
    bound: bool
    """Whether the limit of recording holds for it."""


class Counting(TorchDispatchMode):  # type: ignore[misc]
    """Counts operators, those included that a capture executes at once and does not record, such as views."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **kwargs or {})


class Block(torch.nn.Module):  # type: ignore[misc]
    """A transformer's block that writes to a cache, as inference engines capture it."""

    def __init__(self, width: int, heads: int, tokens: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.inside, self.outside = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.register_buffer("cache", torch.zeros(2, tokens, width))
        self.register_buffer("slots", torch.arange(tokens))

    def forward(self, x: Any) -> Any:
        query, key, value = self.inside(self.before(x)).chunk(3, -1)
        self.cache[0].index_copy_(0, self.slots[: len(x)], key)
        self.cache[1].index_copy_(0, self.slots[: len(x)], value)
        parts = [one.view(len(x), self.heads, -1).transpose(0, 1) for one in (query, key, value)]
        mixed = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.outside(mixed.transpose(0, 1).reshape(x.shape))
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.after(x))))


def programs() -> list[Program]:
    """Small operators, where the overhead is everything, and a model, where it is not."""
    torch.manual_seed(0)
    x = torch.ones(16)

    def small() -> Any:
        y = x
        for _ in range(250):
            y = (y + x) * x
        return y

    layers = [Block(256, 4, 64) for _ in range(4)]
    model = torch.nn.Sequential(*layers).eval()
    tokens = torch.randn(64, 256)
    wide = torch.ones(256, 1024)

    def chain() -> Any:
        y = wide
        for _ in range(100):
            y = (y * 0.5 + 1).sin()
        return y

    def keeping() -> Any:
        return [wide + number for number in range(300)]

    return [
        Program("500 additions and products of 16 elements", small, True),
        Program("4 transformer blocks, 64 tokens, width 256", lambda: model(tokens), False),
        Program("a chain of 300 operators on 1 MiB", chain, True),
        Program("300 sums of 1 MiB, all of them kept", keeping, False),
    ]


def fastest(work: Callable[[], Any], runs: int) -> float:
    """The least processor time, in microseconds."""
    best = float("inf")
    for _ in range(runs):
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return best * 1e6


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one program."""

    program: Program
    operators: int
    first: float
    """Microseconds an operator to record it while its shapes are learned."""
    recording: float
    """The same once they are known."""
    replay: float
    """Microseconds an operator."""
    eager: float
    """The same without capture."""
    kept: int
    """Bytes that the graph allocated and keeps."""
    made: int
    """Bytes of all intermediate results together."""


def measure(program: Program, runs: int) -> Cost:
    """Record, replay and execute a program, on one thread."""

    def record() -> Any:
        with capture() as graph:
            program.run()
        return graph

    with torch.no_grad():
        start = time.thread_time()
        graph = record()
        first = (time.thread_time() - start) * 1e6
        made = sum(memory.nbytes for memory in graph.memories if memory.kind == "pool")
        with Counting() as counting:
            program.run()
        count = counting.count
        return Cost(
            program,
            count,
            first / count,
            fastest(record, runs) / count,
            fastest(graph.replay, runs) / count,
            fastest(program.run, runs) / count,
            graph.nbytes,
            made,
        )


def managed(runs: int) -> tuple[float, float]:
    """Microseconds that a manager adds to a replay, without an input and with one: medians of pairs."""
    x = torch.ones(4)
    descriptor = BatchDescriptor(Mode.FULL, 4)

    def create(_: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: x.add(1)), None

    manager = GraphManager("cpu", check="off")
    manager.capture(create, [descriptor], inputs=lambda _: {"x": x})
    with capture() as graph:
        x.add(1)
    more, copying = [], []
    given = torch.ones(4)
    for _ in range(runs * 200):
        bare = _once(graph.replay)
        more.append(_once(lambda: manager.replay(descriptor)) - bare)
        copying.append(_once(lambda: manager.replay(descriptor, x=given)) - bare)
    return statistics.median(more), statistics.median(copying)


def poisoning(runs: int) -> float:
    """Microseconds that writing poison into 1 MiB takes: a part of recording what is allocated first."""
    wide = torch.empty(256, 1024)
    return fastest(lambda: wide.fill_(float("nan")), runs * 10)


def new_memory(runs: int) -> float:
    """The same where the system gives each page of it only then, in eager execution as in a capture."""
    return fastest(lambda: [torch.full((256, 1024), 1.0) for _ in range(300)], runs) / 300


def _once(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and fail when a limit is not kept."""
    parser = argparse.ArgumentParser(prog="./dev bench capture", description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    costs = [measure(program, chosen.runs) for program in programs()]
    print(f"{'':44} operators   learning  recording     replay      eager  replay/eager   kept of made")
    for cost in costs:
        print(
            f"{cost.program.name:44} {cost.operators:9} {cost.first:7.1f} us {cost.recording:7.1f} us "
            f"{cost.replay:7.2f} us {cost.eager:7.2f} us {cost.replay / cost.eager:13.2f} "
            f"{cost.kept / 2**20:6.2f} of {cost.made / 2**20:.2f} MiB"
        )
    print(
        "microseconds an operator, views included; learning: the first capture, when shapes are not known yet"
    )
    more, copying = managed(chosen.runs)
    print(
        f"a manager adds {more:.1f} us to a graph's replay, and {copying:.1f} us with an input of 4 numbers"
    )
    used, new = poisoning(chosen.runs), new_memory(chosen.runs)
    print(f"writing to 1 MiB takes {used:.1f} us, and {new:.1f} us where it is new to the process")
    slow = [cost for cost in costs if cost.program.bound and cost.recording > RECORDING_LIMIT]
    slow += [cost for cost in costs if cost.replay > REPLAY_LIMIT * cost.eager]
    return 1 if slow or more > MANAGER_LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
