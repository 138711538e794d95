"""The state of following captured code: calls, the region that is captured, and what was found in it."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from coldfork.model.captures import CaptureKind
from coldfork.source.capture.names import Names
from coldfork.source.capture.objects import Env, First, Func, Object, Value, Work
from coldfork.source.syntax.nodes import NO_SPAN
from coldfork.source.values.conditions import Condition

#: How much a value depends on the batch: not at all, perhaps, or surely.
FIXED, MAYBE, DEPENDENT = 0, 1, 2
_MOST_STEPS = 12_000
_DEEPEST = 14


def _part_of(view: Object) -> object:
    """What tells a part of a tensor's memory from others; None where it is not told."""
    if view.base is None or view.base.base is not None:
        return None
    shape = view.parts.get("shape")
    return id(shape) if shape is not None else None


class Frame:
    """One function that is being followed."""

    __slots__ = (
        "aliases",
        "arguments",
        "broken",
        "column",
        "conditions",
        "continued",
        "end",
        "env",
        "func",
        "line",
        "returns",
        "sources",
        "yields",
    )

    def __init__(self, func: Func, env: Env, arguments: tuple[Value, ...] = ()) -> None:
        self.func = func
        self.env = env
        self.arguments = arguments
        self.conditions: tuple[Condition, ...] = ()
        self.line = func.line
        self.column = 0
        self.broken = False
        """True when the round of a loop that is followed may have ended in `break`."""
        self.continued = False
        """True when the round of a loop that is followed has ended in `continue`."""
        self.end = func.line
        self.returns: list[tuple[Value, int]] = []
        self.yields: list[Value] = []
        self.aliases: dict[str, tuple[Object, str, str]] = {}
        """Names that were read from an attribute: of which object, and which."""
        self.sources: dict[str, tuple[Read, ...]] = {}
        """What was looked at for what names hold."""


class Region(NamedTuple):
    """What is captured: from where, in which function, and under what conditions."""

    module: str
    line: int
    end: int
    column: int
    captor: Func
    depth: int
    """How many functions stand around the captured code."""
    conditions: tuple[Condition, ...]


class CallStep(NamedTuple):
    """A step of a chain: which function, where, and at which of its lines."""

    symbol: str
    module: str
    line: int


class Observed(NamedTuple):
    """Something in a captured region that a rule may want to speak of."""

    kind: CaptureKind
    region: Region
    steps: tuple[CallStep, ...]
    sink: str
    what: str
    conditions: tuple[Condition, ...]
    possible: bool = False
    earlier: tuple[str, int] | None = None

    @property
    def culprit(self) -> tuple[str, int]:
        """Where it happens."""
        return self.steps[-1].module, self.steps[-1].line


class Read(NamedTuple):
    """A place that code looked at, and what it held; None where there was nothing."""

    owner: Object | Env
    key: str
    value: Value | None


class Choice(NamedTuple):
    """A way that was gone before the capture: what had been looked at, and what the work left."""

    way: object
    reads: tuple[Read, ...]
    works: tuple[Work, ...]
    conditions: tuple[Condition, ...]
    runs: int = 0
    """How many calls there had been."""


class Missing(NamedTuple):
    """Work that a capture left out, which matters if the capture reads what it left."""

    kind: CaptureKind
    text: str
    values: tuple[Object, ...]
    conditions: tuple[Condition, ...]
    earlier: tuple[str, int]
    steps: tuple[CallStep, ...]


class Trying(NamedTuple):
    """A `try` that is followed: in which function, what it catches, and what its handlers assign."""

    frame: Frame
    caught: frozenset[str]
    fills: frozenset[str]


class Captor(NamedTuple):
    """A function that captures what it is given: where, what its calls say, and what is imported for them."""

    module: str
    name: str
    symbol: str


class Leftover(NamedTuple):
    """What a call found built by an earlier one: which object, by what, and the calls that were under way."""

    holder: Object
    first: First
    steps: tuple[CallStep, ...]
    text: str
    envs: tuple[Env, ...]


def contradictory(conditions: tuple[Condition, ...]) -> bool:
    """True when one of them is another's negation: both arms of one test."""
    known = set(conditions)
    return any(one.span != NO_SPAN and one._replace(negated=not one.negated) in known for one in conditions)


class Spent(Exception):
    """Following took longer than it is worth."""


class Run:
    """One function followed from its beginning, with what its captures were seen to hold."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.stack: list[Frame] = []
        self.region: Region | None = None
        self.observed: list[Observed] = []
        self.ran: set[object] = set()
        """What was called outside captured regions."""
        self.runs = 0
        """How many calls of other functions there were outside captured regions."""
        self.listeners: list[list[Work]] = []
        self.lazily: list[tuple[Object, str]] = []
        """What is being initialised lazily at the moment."""
        self.leftovers: list[Leftover] = []
        """What a second call found built by the first."""
        self.touched: dict[int, Object] = {}
        """The objects that captured code looked at."""
        self.lines: dict[int, set[tuple[str, int]]] = {}
        """Where it did."""
        self.renewed: dict[int, Object] = {}
        """The tensors that captured code wrote anew, before it used them."""
        self.parts: dict[int, Counter[object]] = {}
        """Through which parts of a tensor captured code looked at it; None stands for all of it."""
        self.renewed_parts: dict[int, object] = {}
        """The parts of tensors that it wrote anew before."""
        self.handed: list[Object] = []
        """What captured code handed to code that was not followed."""
        self.asking = 0
        """More than nothing while a test is evaluated: to ask is not to use."""
        self.readers: list[list[Read]] = []
        """Who wants to know what is looked at."""
        self.choices: dict[tuple[str, int], list[Choice]] = {}
        """The ways that were gone before the capture, by their places."""
        self.trying: list[Trying] = []
        self.missing: list[Missing] = []
        """What the capture that is followed has left out."""
        self.numbered: dict[tuple[str, ...], Object] = {}
        """What pure functions gave, by what they were given."""
        self._numbers: dict[int, tuple[Object, int]] = {}
        self.opaque: set[Captor] = set()
        """Functions that capture something they were given."""
        self.begun = 0
        """How many captures were begun, inside others too."""
        self.called: list[tuple[object, Func | Object]] = []
        """What captured code called."""
        self.nested: list[Func] = []
        self.followed: set[tuple[str, int]] = set()
        self.rounds: list[int] = []
        """The loops that are followed for one round, though they may run more: their lines."""
        self._steps = 0

    def number(self, subject: Object) -> int:
        """A number of an object's own."""
        return self._numbers.setdefault(id(subject), (subject, len(self._numbers)))[1]

    def touch(self, subject: Value) -> None:
        """Captured code looks at something."""
        if self.region is None or self.asking or type(subject) is not Object:
            return
        frame = self.stack[-1]
        parts = self.parts.setdefault(id(subject.memory), Counter())
        parts[_part_of(subject)] += 1
        for one in (subject, subject.memory, *subject.among):
            self.touched[id(one)] = one
            self.lines.setdefault(id(one), set()).add((frame.func.module.name, frame.line))

    def look_through(self, view: Object) -> None:
        """Captured code makes a view of a tensor that it has just looked at: it sees this part only."""
        part = _part_of(view)
        if self.region is None or self.asking or part is None:
            return
        parts = self.parts.setdefault(id(view.memory), Counter())
        parts[None] -= 1
        parts[part] += 1

    def renew(self, subject: Object) -> None:
        """Captured code writes a whole tensor, or a whole view of one, at the present line."""
        frame = self.stack[-1]
        memory = subject.memory
        if self.lines.get(id(memory), set()) <= {(frame.func.module.name, frame.line)}:
            if memory is subject:
                self.renewed[id(subject)] = subject
            elif _part_of(subject) is not None:
                self.renewed_parts.setdefault(id(memory), _part_of(subject))

    def is_renewed(self, subject: Object) -> bool:
        """True when captured code wrote anew all that it looked at of a tensor."""
        part = self.renewed_parts.get(id(subject))
        looked = self.parts.get(id(subject), Counter())
        only = part is not None and all(one == part for one, times in looked.items() if times > 0)
        return id(subject) in self.renewed or only

    def count_statement(self) -> None:
        """Count one statement."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Spent

    def may_enter(self, func: Func) -> bool:
        """True when following a call leads somewhere: not too deep, not round in circles."""
        again = sum(frame.func.place == func.place for frame in self.stack)
        return len(self.stack) < _DEEPEST and again < 2

    def work(self, work: Work) -> None:
        """Tell those who listen that something was done."""
        for listener in self.listeners:
            listener.append(work)

    def steps(self) -> tuple[CallStep, ...]:
        """The functions between the capture and the present line."""
        start = self.region.depth - 1 if self.region is not None else 0
        return tuple(
            [CallStep(frame.func.symbol, frame.func.module.name, frame.line) for frame in self.stack[start:]]
        )

    def conditions(self) -> tuple[Condition, ...]:
        """What has to hold for the captured region to come to the present line."""
        if self.region is None:
            return tuple(dict.fromkeys(c for frame in self.stack for c in frame.conditions))
        inside = self.stack[self.region.depth - 1 :]
        every = dict.fromkeys(condition for frame in inside for condition in frame.conditions)
        return tuple(condition for condition in every if condition not in self.region.conditions)

    def observe(
        self,
        kind: CaptureKind,
        what: str,
        sink: str = "",
        extra: tuple[Condition, ...] = (),
        possible: bool = False,
        earlier: tuple[str, int] | None = None,
        steps: tuple[CallStep, ...] | None = None,
    ) -> None:
        """Note what happens at the present line of the captured region."""
        assert self.region is not None
        every = dict.fromkeys((*self.conditions(), *extra))
        conditions = tuple(one for one in every if one not in self.region.conditions)
        if contradictory((*conditions, *self.region.conditions)):
            return
        steps = steps if steps is not None else self.steps()
        self.observed.append(
            Observed(kind, self.region, steps, sink or what, what, conditions, possible, earlier)
        )
