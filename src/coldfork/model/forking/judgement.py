"""The judgement of a fork, by the things that the process holds and the purpose of the child.

Everything that speaks of forks asks here: the guard, recordings, the pytest plugin, decisions, the canary and
the table in the documentation. For the same holdings and the same purpose the answer is the same everywhere.
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
    """The child will fail or hang: what it is known to do needs something it cannot use."""
    BREAKS_IF = "breaks-if"
    """The child fails or hangs if it touches what it was handed, and works if it does not."""
    UNKNOWN = "unknown"
    """It could not be found out; the reason says why."""
    HARMLESS = "harmless"
    """The child can do what it is for."""

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank is worse."""
        return _RANKS[self.value]


_RANKS = {"harmless": 0, "unknown": 1, "breaks-if": 2, "breaks": 3}


class Purpose(StrEnum):
    """The purpose of a forked child, as far as the forking code shows it."""

    PROGRAM = "program"
    """It runs another program at once, which inherits nothing but files."""
    PREEXEC = "preexec"
    """It runs another program, after a function of the caller's own: `preexec_fn`."""
    DATALOADER = "dataloader"
    """A worker of PyTorch's DataLoader: it sets PyTorch to one thread and reads a data set."""
    POOL = "pool"
    """A worker of a pool, or of joblib or an executor: it runs the tasks that it is sent."""
    PROCESS = "process"
    """A process of multiprocessing: it runs one function."""
    PLAIN = "plain"
    """Unknown: the program forks itself."""

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
    """The kinds of things that a process can hold and its forked child cannot use."""

    DEVICE = "device"
    """A device's runtime whose framework notices the fork and raises an error: cuda, rocm, xpu."""
    RUNTIME = "runtime"
    """A runtime whose threads are gone in the child, which waits for them: opencl, jax, polars."""
    POOL = "pool"
    """The forking thread's pool of GNU OpenMP, which the child waits for."""
    LOOPS = "loops"
    """Numba's parallel loops on GNU OpenMP, which end a forked child."""
    ENCODING = "encoding"
    """Parallel encoding with tokenizers, kept on by a variable."""
    CALLS = "calls"
    """gRPC in use, without its support for forks."""
    CHANNELS = "channels"
    """Channels of gRPC, with its support for forks."""
    LOCK = "lock"
    """A lock that another thread holds, and that is never released in the child."""
    DOUBT = "doubt"
    """Something that could not be found out: a state, a thread's owner, what a thread has locked."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: an act that a child must not do with a held thing, and its consequence."""

    act: str
    """The act that breaks it, as a clause after "if it": `uses {name}`."""
    fate: str
    """The consequence: `fails`, `hangs`."""
    watched: bool
    """Whether the child notices the moment; where not, the warning at the fork is the only one."""


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
"""The kind of each thing that has a name."""

_SAFE = {
    (Hold.POOL, Purpose.DATALOADER): "its worker sets PyTorch to one thread before it reads the data set",
}
"""Acts of a worker of a known kind that make a thing harmless."""


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that a process holds at a fork."""

    kind: Hold
    name: str
    """`cuda`, `openmp`; of a lock, what it guards."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one held thing for a child of one purpose."""

    judgement: Judgement
    condition: str | None = None
    """For `breaks-if`: what the child must not do, and what happens if it does."""
    watched: bool = False
    """Whether the child notices the moment at which it does."""
    because: str | None = None
    """For `harmless`, why, where a reason is needed."""


@dataclass(frozen=True, slots=True)
class Deed:
    """An act that a child is certain to do, with the function, the call and the place."""

    who: str
    """`its function`, `its initializer`."""
    call: str
    """`torch.zeros`."""
    steps: tuple[tuple[str, int, str], ...]
    """The way there: file, line and function, outermost first."""

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
        """Return the line of the act, or the call if the act is the child's own function."""
        if not self.steps:
            return self.call
        path, line, _ = self.steps[-1]
        return f"{path}:{line}"


def held(name: str, *, doubtful: bool = False) -> Held:
    """Return the held thing of this name; any name that is not a known runtime is a lock."""
    return Held(Hold.DOUBT if doubtful else KINDS.get(name, Hold.LOCK), name)


NOTHING_KNOWN: Mapping[str, Deed] = MappingProxyType({})
"""For a child whose actions are unknown."""


def judge(thing: Held, purpose: Purpose, does: Mapping[str, Deed] = NOTHING_KNOWN) -> Verdict:
    """Return the judgement of one held thing; `does` holds the child's certain acts, by the thing's name."""
    if purpose is Purpose.PROGRAM:
        return Verdict(Judgement.HARMLESS, because="another program inherits nothing of it")
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
    # An error in a preexec_fn does not leave the child; the parent only learns that there was one.
    watched = rule.watched and purpose is not Purpose.PREEXEC
    return Verdict(Judgement.BREAKS_IF, f"it {rule.fate} if {condition}", watched)


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """Return the worst of the judgements of everything that is held, which is that of the fork."""
    return max(judgements, key=lambda one: one.rank, default=Judgement.HARMLESS)


_TERMINATED = 15
"""SIGTERM: with it pools end their workers, and multiprocessing the remaining daemons."""


def went_on(leaves: bool | None, status: int | None, signal: int | None) -> bool:
    """Return whether the child caught the framework's error and ended well without the device.

    `leaves` says whether the error left there the code that might have caught it; None, if unknown, counts as
    yes.
    """
    return leaves is False and (status == 0 or signal == _TERMINATED)
