"""The judgement of a fork: what the process holds, what the child is for, and what comes of the two.

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
    """What a fork does to its child."""

    BREAKS = "breaks"
    """The child will fail or hang: what it is known to do needs what it cannot use."""
    BREAKS_IF = "breaks-if"
    """The child fails or hangs if it touches what it was handed, and works if it does not."""
    UNKNOWN = "unknown"
    """It could not be found out; the reason says why."""
    HARMLESS = "harmless"
    """The child can do what it is for."""

    @property
    def rank(self) -> int:
        """Its place among the others; what is worse has more."""
        return _RANKS[self.value]


_RANKS = {"harmless": 0, "unknown": 1, "breaks-if": 2, "breaks": 3}


class Purpose(StrEnum):
    """What a forked child is for, as far as the code that forks it tells."""

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
    """Nobody knows: the program forks itself."""

    @property
    def worker(self) -> str:
        """Who has to keep his hands off what the child cannot use."""
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
    """The kinds of things that a process holds and its forked child cannot use."""

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
    """gRPC at work, without its support for forks."""
    CHANNELS = "channels"
    """Channels of gRPC, with its support for forks."""
    LOCK = "lock"
    """A lock that another thread has and that nobody opens in the child."""
    DOUBT = "doubt"
    """Something that could not be found out: a state, a thread's owner, what a thread has locked."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: what a child may not do with what is held, and what happens if it does."""

    act: str
    """What breaks it, as a clause after "if it": `uses {name}`."""
    fate: str
    """What happens then: `fails`, `hangs`."""
    watched: bool
    """Whether the moment is seen in the child; where it is not, the word at the fork is all there is."""


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
"""What each of the things that have names is."""

_SAFE = {
    (Hold.POOL, Purpose.DATALOADER): "its worker sets PyTorch to one thread before it reads the data set",
}
"""What a worker of a known kind does by itself that makes a thing harmless."""


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that a process holds at a fork."""

    kind: Hold
    name: str
    """`cuda`, `openmp`; of a lock, what it guards."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one thing held comes to for a child of one purpose."""

    judgement: Judgement
    condition: str | None = None
    """For `breaks-if`: what the child must not do, and what happens if it does."""
    watched: bool = False
    """Whether the moment at which it does is seen in the child."""
    because: str | None = None
    """For `harmless`, why, where it takes a reason."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a child is known, for certain, to do with a thing: who in it does so, by which call, and where."""

    who: str
    """`its function`, `its initializer`."""
    call: str
    """`torch.zeros`."""
    steps: tuple[tuple[str, int, str], ...]
    """The way there: file, line and function, outermost first."""

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Deed:
        """The deed that a recording tells of."""
        steps = ((str(path), int(line), str(function)) for path, line, function in said["steps"])
        return cls(str(said["who"]), str(said["call"]), tuple(steps))

    def as_object(self) -> dict[str, Any]:
        """What a recording says of it."""
        return {"who": self.who, "call": self.call, "steps": [list(step) for step in self.steps]}

    @property
    def place(self) -> str:
        """The line that does it, or the call where it is the child's own function."""
        if not self.steps:
            return self.call
        path, line, _ = self.steps[-1]
        return f"{path}:{line}"


def held(name: str, *, doubtful: bool = False) -> Held:
    """A thing by its name; what is no runtime that is known here is a lock."""
    return Held(Hold.DOUBT if doubtful else KINDS.get(name, Hold.LOCK), name)


NOTHING_KNOWN: Mapping[str, Deed] = MappingProxyType({})
"""Of a child of which nobody knows what it will do."""


def judge(thing: Held, purpose: Purpose, does: Mapping[str, Deed] = NOTHING_KNOWN) -> Verdict:
    """What one thing held comes to; `does` says by name what the child is known, for certain, to touch."""
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
    # The error of a preexec_fn does not leave the child: its parent hears no more than that there was one.
    watched = rule.watched and purpose is not Purpose.PREEXEC
    return Verdict(Judgement.BREAKS_IF, f"it {rule.fate} if {condition}", watched)


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """The judgement of a fork from those on everything that is held."""
    return max(judgements, key=lambda one: one.rank, default=Judgement.HARMLESS)


_TERMINATED = 15
"""SIGTERM: with it pools end their workers, and multiprocessing the daemons that are left."""


def went_on(leaves: bool | None, status: int | None, signal: int | None) -> bool:
    """Whether the child caught the framework's error and came to a good end without the device.

    `leaves` says whether the error left there what might have caught it; None where that is not known, and
    then it counts as one that did.
    """
    return leaves is False and (status == 0 or signal == _TERMINATED)
