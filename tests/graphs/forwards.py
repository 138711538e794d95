"""Random forward functions as text: what they compute, where they keep things, and where results go.

Whether a replay of one is right is asked of a plain capture beside eager runs of the same text, loaded anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from coldfork import virtual
from coldfork.graphs import BatchDescriptor, Mode, Phase

torch: Any = pytest.importorskip("torch")

_HEAD = """
import torch
class Kept:
    plan = out = buffer = sums = rows = None
    done = False
hidden, cache, before, table = torch.zeros(8, 4), torch.zeros(16, 4), torch.zeros(8, 4), torch.zeros(8, 4)
slots, lens = torch.arange(8), torch.full((4,), 2)
starts, flags = torch.tensor([0, 2, 4, 6, 8]), torch.zeros(8, dtype=torch.bool)
weight = torch.arange(16.0).reshape(4, 4) / 8 - 1
runner, kept, metas = Kept(), {}, {}
def feed(seed):
    chance = torch.Generator().manual_seed(seed)
    hidden.copy_(torch.randn(8, 4, generator=chance))
    cache.copy_(torch.randn(16, 4, generator=chance))
    slots.copy_(torch.randperm(16, generator=chance)[:8])
    cuts = torch.randperm(7, generator=chance)[:3].sort().values + 1
    starts.copy_(torch.cat([torch.tensor([0]), cuts, torch.tensor([8])]))
    lens.copy_(starts.diff())
    flags.copy_(torch.rand(8, generator=chance) < torch.rand((), generator=chance))
def feed_one(descriptor, seed):
    feed(seed)
def checked():
    if bool((lens != starts.diff()).any()) or int(starts[-1]) != 8 or bool((lens <= 0).any()):
        raise ValueError("the lengths do not fill the batch")
    if len(set(slots.tolist())) != 8:
        raise ValueError("two tokens share a slot")
"""

_EXPRESSIONS = (
    "hidden[:n].cumsum(0)",
    "hidden[:n].softmax(-1) * 3",
    "slots[:n, None] * 0.5",
    "weight.sum() * torch.ones(n, 1)",
    "torch.repeat_interleave(lens, lens, output_size=8)[:n, None].float()",
    "lens.max().float()",
    "starts[1:3].sum() * 1.0",
    "flags[:n, None].float() * 2",
    "torch.arange(n)[:, None] * 1.0",
)
_STEPS = (
    "v = v * 0.5 + w",
    "v = (v @ weight).relu() + w",
    "v = v.cumsum(0)",
    "v = v[torch.argsort(slots[:n])]",
    "v = torch.where(flags[:n, None], v, -v)",
    "v = v + cache.index_select(0, slots[:n])",
    "cache.index_copy_(0, slots[:n], v)",
    "cache.index_add_(0, slots[:n], v)",
    "v = v / (1 + lens.float().std())",
    "v = v + torch.rand(n, 4)",
    "w = v.sort(0).values",
    "w = w.clone(); w[1:].add_(v[:1])",
)
#: How something is kept from its first use on; `PLAN` is what.
_LAZY = {
    "state": """
if meta.plan is None:
    meta.plan = (PLAN) + torch.zeros(n, 1)
v = v + meta.plan[:n]""",
    "runner": """
if runner.plan is None:
    runner.plan = (PLAN) + torch.zeros(n, 1)
v = v * runner.plan[:n]""",
    "dictionary": """
if n not in kept:
    kept[n] = PLAN
v = v + kept[n]""",
    "table": """
if not meta.done:
    table[:n].copy_((PLAN).expand(n, 4))
    meta.done = True
v = v + table[:n]""",
    "sums": """
if meta.sums is None:
    meta.sums = torch.zeros(8, 4)
meta.sums[:n].add_(v)
v = v + meta.sums[:n]""",
    "rows": """
if meta.rows is None:
    meta.rows = slots[:n] + 0
cache.index_copy_(0, meta.rows[:n], v * 2)""",
}
#: How the number that building the state takes from the batch is used.
_NUMBERS = {
    "longest": ("int(lens.max())", "v = v * number"),
    "decodes": ("int((lens == 1).sum())", "v = torch.cat([v[:number] * 2, v[number:]])"),
    "path": ("int(lens.max()) > THRESHOLD", "v = v.cumsum(0) if number else v"),
    "tokens": ("int(starts[-1])", "v = v / number"),
    "any": ("bool(flags.any())", "v = v * 2 if number else v"),
}
_OUTPUTS = {
    "returned": "return v",
    "named": "return {'first': v, 'second': (w, n)}",
    "attribute": "runner.out = v",
    "of the state": "meta.out = v",
    "buffer": "if runner.buffer is None:\n    runner.buffer = torch.empty(8, 4)\nrunner.buffer[:n] = v",
    "before": "before[:n].copy_(v)",
    "cache": "cache[:n].copy_(v)",
}


@dataclass(frozen=True)
class Forward:
    """One of them."""

    seed: int

    def __str__(self) -> str:
        return f"forward {self.seed}:\n{self.source}"

    @property
    def source(self) -> str:
        """Its text."""
        chance = random.Random(self.seed)
        body = ["n = descriptor.tokens", "v, w = hidden[:n] * 1.0, hidden[:n].flip(0)"]
        body += chance.choices(_STEPS, k=chance.randint(0, 3))
        number = chance.choice([*_NUMBERS, None, None, None, None])
        takes, uses = _NUMBERS[number] if number else ("0", "")
        takes = takes.replace("THRESHOLD", str(chance.choice([3, 4])))
        body.append(uses)
        for name in chance.sample(sorted(_LAZY), chance.choice([0, 1, 1, 2])):
            body.append(_LAZY[name].replace("PLAN", chance.choice(_EXPRESSIONS)))
        body += chance.choices(_STEPS, k=chance.randint(0, 3))
        body.append(_OUTPUTS[chance.choice(sorted(_OUTPUTS))])
        lines = [line for part in body for line in part.splitlines()]
        made = {
            "anew": "Kept()",
            "for each size": "metas.setdefault(descriptor.tokens, Kept())",
            "for all": "metas.setdefault(0, Kept())",
        }[chance.choice(["anew", "anew", "for each size", "for all"])]
        sizes = chance.choice([[8], [8], [8, 4]])
        return "\n".join(
            (
                _HEAD,
                f"SIZES, PREPARED, FED = {sizes}, {chance.random() < 0.4}, {chance.random() < 0.4}",
                "def create(descriptor, phase):",
                "    checked()",
                f"    meta, number = {made}, {takes}",
                "    if 0:" if chance.random() < 0.8 else "    if phase.name == 'CAPTURE':",
                "        kept.clear(); runner.plan = runner.sums = None",
                "    def forward(mode):",
                *(f"        {line}" for line in lines),
                "    return forward, meta",
            )
        )

    def load(self) -> dict[str, Any]:
        """A fresh run of its text."""
        loaded: dict[str, Any] = {"__name__": "forward"}
        exec(compile(self.source, "forward.py", "exec"), loaded)
        return loaded

    def sizes(self, loaded: dict[str, Any]) -> list[BatchDescriptor]:
        """The batches that it is captured for."""
        return [BatchDescriptor(Mode.FULL, tokens, 4) for tokens in loaded["SIZES"]]

    def replays_wrong(self, seeds: range) -> bool:
        """Whether a capture fails, or a replay computes something else than an eager run on some seed."""
        captured = self.load()
        graphs = []
        pool: Any = None
        for size in self.sizes(captured):
            captured["feed"](0)
            torch.manual_seed(0)
            captured["create"](size, Phase.WARMUP)[0](Mode.NONE)
            forward, meta = captured["create"](size, Phase.CAPTURE)
            try:
                with virtual.capture(*([pool] if pool is not None else [])) as graph:
                    returned = forward(Mode.FULL)
            except virtual.CaptureError:
                return True
            pool = graph.pool
            # A later capture may put other tensors in the place of these.
            graphs.append((size, graph, list(_found(captured, returned, meta, size.tokens))))
        for size, graph, found in graphs:
            for seed in seeds:
                wanted = self._eager(size, seed)
                captured["feed"](seed)
                captured["before"].zero_()
                torch.manual_seed(seed)
                graph.replay()
                both = zip(found, wanted, strict=True)
                if not all(torch.allclose(one, other, rtol=1e-4, atol=1e-5) for one, other in both):
                    return True
        return False

    def _eager(self, size: BatchDescriptor, seed: int) -> list[Any]:
        fresh = self.load()
        fresh["feed"](seed)
        torch.manual_seed(seed + 1)
        forward, meta = fresh["create"](size, Phase.CAPTURE)
        torch.manual_seed(seed)
        return list(_found(fresh, forward(Mode.NONE), meta, size.tokens))


def _found(loaded: dict[str, Any], returned: Any, meta: Any, tokens: int) -> Iterator[Any]:
    if isinstance(returned, dict):
        yield from (returned["first"], returned["second"][0])
    elif returned is not None:
        yield returned
    runner = loaded["runner"]
    yield from (one for one in (runner.out, meta.out) if one is not None)
    if runner.buffer is not None:
        yield runner.buffer[:tokens]
    yield from (loaded["before"], loaded["cache"])
