"""The judgement of a fork, from what the process holds and from the purpose of the child.

Every part of coldfork that judges forks uses it: the guard, recordings, the pytest plugin, decisions, the
canary and the table in the documentation. So for the same holdings and the same purpose, all of them give the
same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class Judgement(StrEnum):
    """The effect of a fork on its child."""

    BREAKS = "breaks"
    """The child will fail or hang: its known actions need something that it cannot use."""
    BREAKS_IF = "breaks-if"
    """The child fails or hangs if it touches what it inherits, and otherwise works."""
    UNKNOWN = "unknown"
    """It is unknown; the reason says why."""
    HARMLESS = "harmless"
    """The child can do its work."""

    @property
    def rank(self) -> int:
        """The position in the order; a larger rank is worse."""
        return _RANKS[self.value]


_RANKS = {"harmless": 0, "unknown": 1, "breaks-if": 2, "breaks": 3}


class Purpose(StrEnum):
    """The purpose of a forked child, as far as the forking code shows it."""

    PROGRAM = "program"
    """It runs another program at once, which inherits nothing but files."""
    PREEXEC = "preexec"
    """It runs another program, after the caller's own function `preexec_fn`."""
    DATALOADER = "dataloader"
    """A worker of PyTorch's DataLoader: it sets PyTorch to one thread and reads a data set."""
    POOL = "pool"
    """A worker of a pool, or of joblib or an executor: it runs the tasks that it is sent."""
    PROCESS = "process"
    """A process of multiprocessing: it runs one function."""
    PLAIN = "plain"
    """Unknown, because the program itself forks."""

    @property
    def worker(self) -> str:
        """The code in the child that must not touch anything that the child cannot use."""
        return _WORKERS[self.value]


_WORKERS = {
    "program": "the program",
    "preexec": "its preexec_fn",
    "dataloader": "its data set",
    "pool": "a task",
    "process": "its function",
    "plain": "the child",
}


class Hold(StrEnum):
    """The kinds of things that a process can hold and that its forked child cannot use."""

    DEVICE = "device"
    """A device's runtime whose framework notices the fork and raises an error: cuda, rocm, xpu."""
    RUNTIME = "runtime"
    """A runtime whose threads do not exist in the child, which waits for them: opencl, jax, polars."""
    POOL = "pool"
    """The forking thread's pool of GNU OpenMP, for which the child waits."""
    LOOPS = "loops"
    """Numba's parallel loops on GNU OpenMP, which end a forked child."""
    ENCODING = "encoding"
    """Parallel encoding with tokenizers, if a variable keeps it on."""
    CALLS = "calls"
    """gRPC in use, without support for forks."""
    CHANNELS = "channels"
    """Channels of gRPC, with support for forks."""
    LOCK = "lock"
    """A lock that another thread holds, and that is never released in the child."""
    DOUBT = "doubt"
    """Something that is unknown: a state, the owner of a thread, or what a thread has locked."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: what a child must not do with a held thing, and what happens if it does."""

    act: str
    """The act that breaks the child, as a clause to follow "if it": `uses {name}`."""
    fate: str
    """The consequence for the child: `fails` or `hangs`."""
    watched: bool
    """Whether the child notices the moment; if not, the warning at the fork is the only one."""


RULES: dict[Hold, Rule] = {
    Hold.DEVICE: Rule("touches {name}", "fails", True),
    Hold.RUNTIME: Rule("uses {name}", "hangs", False),
    Hold.POOL: Rule("runs a parallel region of GNU OpenMP", "hangs", False),
    Hold.LOOPS: Rule("runs a parallel loop of numba", "is ended", False),
    Hold.ENCODING: Rule("encodes a batch with tokenizers", "hangs", False),
    Hold.CALLS: Rule("makes a call through gRPC", "fails or hangs", False),
    Hold.CHANNELS: Rule("makes a call on a channel of gRPC that its parent opened", "fails", False),
    Hold.LOCK: Rule("takes {name}", "hangs", False),
}

KINDS: dict[str, Hold] = {
    "cuda": Hold.DEVICE,
    "rocm": Hold.DEVICE,
    "xpu": Hold.DEVICE,
    "opencl": Hold.RUNTIME,
    "jax": Hold.RUNTIME,
    "jax-cpu": Hold.RUNTIME,
    "polars": Hold.RUNTIME,
    "openmp": Hold.POOL,
    "numba": Hold.LOOPS,
    "tokenizers": Hold.ENCODING,
    "grpc": Hold.CALLS,
    "grpc-channels": Hold.CHANNELS,
}
"""The kind of each thing that has a name of its own."""

_SAFE = {
    (Hold.POOL, Purpose.DATALOADER): "its worker sets PyTorch to one thread before it reads the data set",
}
"""Why something held is harmless: what workers of a known kind do about it."""


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that a process holds at a fork."""

    kind: Hold
    name: str
    """The name of the runtime, such as `cuda` or `openmp`; for a lock, what it guards."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one held thing for a child with one purpose."""

    judgement: Judgement
    condition: str | None = None
    """For `breaks-if`: what the child must not do, and what happens if it does."""
    watched: bool = False
    """Whether the child notices the moment when it does that."""
    because: str | None = None
    """For `harmless`: why, if a reason is needed."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that a child is certain to do, with the function, the call and the place."""

    who: str
    """The subject, in words: `its function`, `its initializer`."""
    call: str
    """The call that does it, such as `torch.zeros`."""
    steps: tuple[tuple[str, int, str], ...]
    """The steps that lead there: file, line and function, outermost first."""

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Deed:
        """Return the deed that an entry of a recording describes."""
        steps = ((str(path), int(line), str(function)) for path, line, function in said["steps"])
        return cls(str(said["who"]), str(said["call"]), tuple(steps))

    def as_object(self) -> dict[str, Any]:
        """Return the deed as an entry of a recording."""
        return {"who": self.who, "call": self.call, "steps": [list(step) for step in self.steps]}

    @property
    def place(self) -> str:
        """Return the line of the act, or the call if the child's own function does it."""
        if not self.steps:
            return self.call
        path, line, _ = self.steps[-1]
        return f"{path}:{line}"


def held(name: str, *, doubtful: bool = False) -> Held:
    """Return the held thing with this name; a name that is no known runtime is that of a lock."""
    return Held(Hold.DOUBT if doubtful else KINDS.get(name, Hold.LOCK), name)


NOTHING_KNOWN: Mapping[str, Deed] = MappingProxyType({})
"""Used for a child whose actions are unknown."""


def judge(thing: Held, purpose: Purpose, does: Mapping[str, Deed] = NOTHING_KNOWN) -> Verdict:
    """Return the judgement of one held thing; `does` maps things to what the child will certainly do."""
    if purpose is Purpose.PROGRAM:
        return Verdict(Judgement.HARMLESS, because="another program inherits none of it")
    if thing.kind is Hold.DOUBT:
        return Verdict(Judgement.UNKNOWN)
    safe = _SAFE.get((thing.kind, purpose))
    if safe is not None:
        return Verdict(Judgement.HARMLESS, because=safe)
    rule = RULES[thing.kind]
    act = rule.act.format(name=thing.name)
    deed = does.get(thing.name)
    if deed is not None:
        condition = f"it {rule.fate}, because {deed.who} {act} ({deed.place})"
        return Verdict(Judgement.BREAKS, condition, rule.watched)
    condition = f"{purpose.worker} {act}"
    # An error in a `preexec_fn` does not leave the child; the parent learns only that there was one.
    watched = rule.watched and purpose is not Purpose.PREEXEC
    return Verdict(Judgement.BREAKS_IF, f"it {rule.fate} if {condition}", watched)


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """Return the judgement of the fork, which is the worst judgement of anything that is held."""
    return max(judgements, key=lambda one: one.rank, default=Judgement.HARMLESS)


_TERMINATED = 15
"""SIGTERM, by which pools end their workers, and multiprocessing ends remaining daemons."""


def went_on(leaves: bool | None, status: int | None, signal: int | None) -> bool:
    """Return whether the child caught the framework's error and ended well without the device.

    `leaves` says whether the error left the code that might have caught it; None, for unknown, counts as yes.
    """
    return leaves is False and (status == 0 or signal == _TERMINATED)
