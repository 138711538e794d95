"""Programs that keep something between runs, each a text of its own, with what reality says of them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coldfork import virtual
from coldfork.graphs import BatchDescriptor, Mode, Phase

torch: Any = pytest.importorskip("torch")

DESCRIPTOR = BatchDescriptor(Mode.FULL, 8)

#: How a program keeps something: what it needs, how it gets the value, and how it forgets it.
HOLDERS: dict[str, tuple[str, str, str]] = {
    "attribute": (
        "class Holder:\n    value = None\nholder = Holder()",
        "if holder.value is None:\n        holder.value = compute(x)\n    return holder.value",
        "holder.value = None",
    ),
    "slots": (
        "class Holder:\n    __slots__ = ('value',)\nholder = Holder()",
        "if not hasattr(holder, 'value'):\n        holder.value = compute(x)\n    return holder.value",
        "hasattr(holder, 'value') and delattr(holder, 'value')",
    ),
    "class attribute": (
        "class Holder:\n    value = None",
        "if Holder.value is None:\n        Holder.value = compute(x)\n    return Holder.value",
        "Holder.value = None",
    ),
    "global": (
        "value = None",
        "global value\n    if value is None:\n        value = compute(x)\n    return value",
        "globals().update(value=None)",
    ),
    "cache": (
        "@functools.cache\ndef kept(size):\n    return compute(tokens[:size])",
        "return kept(x.shape[0])",
        "kept.cache_clear()",
    ),
    "closure": (
        (
            "def made():\n    value = None\n    def get(x):\n        nonlocal value\n"
            "        if value is None:\n            value = compute(x)\n        return value\n"
            "    def forget():\n        nonlocal value\n        value = None\n    return get, forget\n"
            "get, forget = made()"
        ),
        "return get(x)",
        "forget()",
    ),
    "dictionary": (
        "kept = {}",
        "if x.shape not in kept:\n        kept[x.shape] = compute(x)\n    return kept[x.shape]",
        "kept.clear()",
    ),
    "deque": (
        "kept = collections.deque(maxlen=1)",
        "if not kept:\n        kept.append(compute(x))\n    return kept[0]",
        "kept.clear()",
    ),
    "set": (
        "kept = set()",
        "if not kept:\n        kept.add(compute(x))\n    return next(iter(kept))",
        "kept.clear()",
    ),
    "thread local": (
        "kept = threading.local()",
        "if not hasattr(kept, 'value'):\n        kept.value = compute(x)\n    return kept.value",
        "hasattr(kept, 'value') and delattr(kept, 'value')",
    ),
    "context variable": (
        "kept = contextvars.ContextVar('kept', default=None)",
        "if kept.get() is None:\n        kept.set(compute(x))\n    return kept.get()",
        "kept.set(None)",
    ),
    "generator": (
        "def values():\n    value = compute(tokens)\n    while True:\n        yield value\nkept = []",
        "if not kept:\n        kept.append(values())\n    return next(kept[0])",
        "kept.clear()",
    ),
    "function attribute": (
        "",
        "if not hasattr(compute, 'value'):\n        compute.value = compute(x)\n    return compute.value",
        "vars(compute).clear()",
    ),
    "array": (
        "kept = numpy.full(1, numpy.nan)",
        (
            "if numpy.isnan(kept[0]):\n        kept[0] = float(torch.as_tensor(compute(x)).sum())\n"
            "    return float(kept[0])"
        ),
        "kept.fill(numpy.nan)",
    ),
    "global module": (
        "model = torch.nn.Identity()",
        "if not hasattr(model, 'plan'):\n        model.plan = compute(x)\n    return model.plan",
        "hasattr(model, 'plan') and delattr(model, 'plan')",
    ),
    "buffer": (
        "kept = torch.zeros(8)\ndone = []",
        (
            "if not done:\n        kept.copy_(torch.as_tensor(compute(x)))\n        done.append(1)\n"
            "    return kept"
        ),
        "done.clear()",
    ),
    "thread pool": (
        "pool = concurrent.futures.ThreadPoolExecutor(1)\npool.submit(int).result()\nkept = []",
        "if not kept:\n        kept.append(pool.submit(compute, x).result())\n    return kept[0]",
        "kept.clear()",
    ),
}

#: What is kept: from the batch as a tensor or a number, the same for every batch, or drawn by chance.
VALUES = {
    "prefix sums": "x.cumsum(0)",
    "largest": "x.max().item()",
    "ones": "torch.ones(x.shape[0]) * 3",
    "two": "2.0",
    "drawn": "1 + random.random()",
    "noise": "1 + torch.rand(x.shape[0])",
}

_PROGRAM = """\
import collections, concurrent.futures, contextvars, functools, random, threading
import numpy, torch

tokens = torch.zeros(8)

def compute(x):
    return {value}

{setup}

def plan(x):
    {get}

def create(descriptor, phase):
    x = tokens[: descriptor.tokens]
    {forget}
    return (lambda mode: x * 2 + plan(x)), None
"""


@dataclass(frozen=True)
class Program:
    """One of the programs."""

    holder: str
    value: str
    forgets: bool
    """Whether each state begins without what was kept."""

    def __str__(self) -> str:
        return f"{self.holder}-{self.value}-{'forgets' if self.forgets else 'keeps'}"

    @property
    def source(self) -> str:
        """Its text."""
        setup, get, forget = HOLDERS[self.holder]
        return _PROGRAM.format(
            value=VALUES[self.value], setup=setup, get=get, forget=forget if self.forgets else "pass"
        )

    def load(self, folder: Path) -> dict[str, Any]:
        """A fresh run of its module level."""
        file = folder / "program.py"
        file.write_text(self.source)
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(self.source, str(file), "exec"), namespace)
        return namespace


def is_right(program: Program, folder: Path) -> bool:
    """Whether a replay computes what a fresh eager run does: capture on one batch, replay on another."""
    first, second = torch.arange(1.0, 9.0), torch.tensor([7.0, -3, 11, 2, 5, -8, 1, 9])
    captured, fresh = program.load(folder), program.load(folder)
    captured["tokens"].copy_(first)
    with _seeded(1):
        captured["create"](DESCRIPTOR, Phase.WARMUP)[0](Mode.NONE)
        forward = captured["create"](DESCRIPTOR, Phase.CAPTURE)[0]
        try:
            with virtual.capture() as graph:
                output = forward(Mode.FULL)
        except virtual.CaptureError:
            return False
    captured["tokens"].copy_(second)
    fresh["tokens"].copy_(second)
    with _seeded(2):
        graph.replay()
    with _seeded(2):
        wanted = fresh["create"](DESCRIPTOR, Phase.CAPTURE)[0](Mode.NONE)
    return bool(torch.allclose(output, wanted))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    random.seed(seed)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
