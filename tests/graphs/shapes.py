"""Programs of the shapes that engines have, each a text of its own, with what has to be said of it.

`# ORIGIN` and `# READ` mark the lines of a leak; a program without them has none.
"""

from __future__ import annotations

_HEAD = """
import torch
from coldfork.graphs import BatchDescriptor, Mode
SIZES = [BatchDescriptor(Mode.FULL, 8), BatchDescriptor(Mode.FULL, 4)]
hidden = torch.zeros(8, 4)
inputs = {"hidden": hidden}
persistent = []
"""

PROGRAMS: dict[str, str] = {
    "an output in a buffer made on first use": """
class Metadata:
    plan = None
class Manager:
    hidden_states = None
    def run(self, n, meta):
        if meta.plan is None:
            meta.plan = hidden[:n].cumsum(0)  # ORIGIN
        out = hidden[:n] + meta.plan  # READ
        if self.hidden_states is None:
            self.hidden_states = torch.empty_like(out)
        self.hidden_states[:n] = out
manager, metas = Manager(), {}
def create_forward(descriptor, phase):
    n = descriptor.tokens
    meta = metas.setdefault(n, Metadata())
    return (lambda mode: manager.run(n, meta)), meta
""",
    "the same with metadata of its own for each phase": """
class Metadata:
    plan = None
class Manager:
    hidden_states = None
    def run(self, n, meta):
        if meta.plan is None:
            meta.plan = hidden[:n].cumsum(0)
        out = hidden[:n] + meta.plan
        if self.hidden_states is None:
            self.hidden_states = torch.empty_like(out)
        self.hidden_states[:n] = out
manager = Manager()
def create_forward(descriptor, phase):
    meta = Metadata()
    return (lambda mode: manager.run(descriptor.tokens, meta)), meta
""",
    "a result kept as an attribute": """
class Runner:
    logits = plan = None
    def forward(self, n):
        if self.plan is None:
            self.plan = hidden.cumsum(0)  # ORIGIN
        self.logits = hidden[:n] + self.plan[:n]  # READ
runner = Runner()
def create_forward(descriptor, phase):
    return (lambda mode: runner.forward(descriptor.tokens)), runner
""",
    "a table that only the first batch of a phase fills": """
table = torch.zeros(8, 4)
made = set()
def create_forward(descriptor, phase):
    n = descriptor.tokens
    def forward(mode):
        if phase not in made:
            table.copy_(hidden.cumsum(0))  # ORIGIN
            made.add(phase)
        return hidden[:n] + table[:n]  # READ
    return forward, None
""",
    "a cache whose rows are chosen once": """
slots, cache, plans = torch.arange(8), torch.zeros(16, 4), {}
inputs["slots"] = slots
persistent.append(cache)
def forward(n):
    if n not in plans:
        plans[n] = slots[:n] * 2  # ORIGIN
    cache.index_copy_(0, plans[n], hidden[:n])  # READ
def create_forward(descriptor, phase):
    return (lambda mode: forward(descriptor.tokens)), None
""",
    "an index that is out of range for another batch alone": """
lens, cache = torch.full((8,), 3, dtype=torch.int32), torch.zeros(16)
inputs["lens"] = lens
persistent.append(cache)
def create_forward(descriptor, phase):
    n = descriptor.tokens
    assert bool((lens[:n] > 0).all())
    def forward(mode):
        at = lens[:n].long()
        cache.index_add_(0, at, torch.ones(n))
        return cache[at] * 2 + hidden[:n, 0]
    return forward, None
""",
    "buffers that take turns": """
class Buffers:
    def __init__(self):
        self.every, self.turn = [torch.zeros(2, 32) for _ in range(3)], 0
    def reduce(self, x):
        self.turn = (self.turn + 1) % 3
        mine, following = self.every[self.turn], self.every[(self.turn + 1) % 3]
        mine[0, : x.numel()] = x.reshape(-1)
        mine[1, : x.numel()] = 0.5
        y = mine[:, : x.numel()].sum(0).view_as(x)
        following.zero_()
        return y
buffers = Buffers()
def create_forward(descriptor, phase):
    return (lambda mode: buffers.reduce(buffers.reduce(hidden[: descriptor.tokens]).relu())), None
""",
    "an input that is expanded": """
SIZES = SIZES[:1]
positions = torch.zeros(8, dtype=torch.int64).expand(3, 8)
inputs["positions"] = positions
plan = {}
def forward(n):
    if n not in plan:
        plan[n] = positions[:, :n].float().sum(0).cos()  # ORIGIN
    return hidden[:n] * plan[n][:, None]  # READ
def create_forward(descriptor, phase):
    return (lambda mode: forward(descriptor.tokens)), None
""",
    "metadata that checks its lengths against each other": """
SIZES = [BatchDescriptor(Mode.FULL, 8, 4)]
starts = torch.tensor([0, 2, 4, 6, 8], dtype=torch.int32)
seen = torch.full((4,), 3, dtype=torch.int32)
lens = seen + 2
inputs.update(starts=starts, lens=lens, seen=seen)
class Metadata:
    plan = None
    def check(self):
        assert bool((lens - seen == starts.diff()).all()), "lengths do not agree"
meta = Metadata()
def forward(n):
    if meta.plan is None:
        meta.plan = lens.repeat_interleave(2, output_size=n).float()  # ORIGIN
    return hidden[:n] * meta.plan[:, None]  # READ
def create_forward(descriptor, phase):
    meta.check()
    return (lambda mode: forward(descriptor.tokens)), meta
""",
    "the same with a plan of its own for each phase": """
SIZES = [BatchDescriptor(Mode.FULL, 8, 4)]
seen = torch.full((4,), 3, dtype=torch.int32)
lens = seen + 2
inputs.update(lens=lens, seen=seen)
class Metadata:
    plan = None
    def __init__(self):
        assert bool((lens - seen == 2).all()), "lengths do not agree"
def forward(meta):
    if meta.plan is None:
        meta.plan = lens.repeat_interleave(2, output_size=8).float()
    return hidden * meta.plan[:, None]
def create_forward(descriptor, phase):
    meta = Metadata()
    return (lambda mode: forward(meta)), meta
""",
    "a number of the batch, in metadata that few values pass": """
SIZES = [BatchDescriptor(Mode.FULL, 8, 4)]
starts, slots = torch.tensor([0, 1, 2, 3, 8], dtype=torch.int32), torch.arange(4)
states = torch.zeros(6, 4)
inputs.update(starts=starts, slots=slots)
persistent.append(states)
def build():
    lens = starts.diff()
    decodes = int((lens == 1).sum())  # ORIGIN
    if int(starts[-1]) != 8 or bool((lens <= 0).any()) or bool((lens[:decodes] != 1).any()):
        raise ValueError("decodes have to come first, and the lengths to fill the batch")
    if len(set(slots.tolist())) != 4:
        raise ValueError("two requests share a state")
    return decodes
def forward(decodes):
    out = torch.empty_like(hidden)
    out[:decodes] = hidden[:decodes] + states[slots][:decodes]  # READ
    out[decodes:] = hidden[decodes:].cumsum(0) * 0.5
    states.index_copy_(0, slots, states[slots] * 0.9 + 1)
    return out
def create_forward(descriptor, phase):
    decodes = build()
    return (lambda mode: forward(decodes)), decodes
""",
}


def program(name: str) -> dict[str, object]:
    """Load one; its lines are those of its text."""
    loaded: dict[str, object] = {}
    exec(_HEAD, loaded)
    exec(compile(PROGRAMS[name], "program.py", "exec"), loaded)
    return loaded


def lines(name: str) -> set[int]:
    """Where its leak is."""
    text = PROGRAMS[name].splitlines()
    return {number for number, line in enumerate(text, 1) if "# ORIGIN" in line or "# READ" in line}
