"""A call or body that is being followed, and its outcome: records what is certain along each path."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.model.effects import WAKING, EffectKind, Position, StepKind
from coldfork.source.evaluation.trace import (
    Cut,
    Edge,
    Failure,
    Kind,
    Link,
    Site,
    SiteEdge,
    SiteStart,
    Start,
    Wake,
    joined,
    kind_of,
    possible_together,
)
from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition, Conditions, either, presumed_together
from coldfork.source.values.kinds import ClassRef, Env, Function, Value


class CallResult(NamedTuple):
    """The outcome of calling a function with specific arguments."""

    value: Value
    wakes: tuple[Wake, ...]
    edges: tuple[Edge, ...]
    must: frozenset[str]
    raises: str
    """The name of the exception if the call is sure to raise, else empty."""
    failures: tuple[Failure, ...]
    consulted: int = 0
    presumed: tuple[str, ...] = ()
    """Presumptions made on the paths that make the call's wakes certain."""
    raise_must: frozenset[str] | None = None
    """Wakes that are certain even if the call raises; None if it does not raise."""
    outright: bool = False
    """True if the call raises whatever the state of the program."""
    stays: Conditions = ()
    """The conditions for the program not to end in the call."""
    cut: Cut | None = None
    """The place where the budget for following the call ran out."""
    starts: tuple[Start, ...] = ()
    """The processes that the call starts."""
    made_up: bool = False
    """True if the value stands for any object of the annotated class."""

    @property
    def strict(self) -> frozenset[str]:
        """The wakes that are certain even if the call raises."""
        return self.must if self.raise_must is None else self.must & self.raise_must


#: Not an exception of the program: a generator was followed only to its first `yield`, for `next`.
PAUSED = "(paused)"


class Raised(Exception):
    """Raised by the evaluator when the code being followed is sure to raise."""

    def __init__(self, kind: str, outright: bool = False) -> None:
        super().__init__(kind)
        self.kind = kind
        self.outright = outright
        """True for an unconditional `raise`."""


class State(NamedTuple):
    """The state of a frame between two statements."""

    env: Env | None
    names: dict[str, Value] | None
    cls: ClassRef | None
    binds: dict[str, tuple[Node, ...]] | None
    conditions: Conditions
    presumed: tuple[str, ...]
    off: Condition | None
    must: set[str]
    position: Position
    symbol: str
    gate: int
    tries: int


class Frame:
    """One call, module body or class body that is being followed."""

    __slots__ = (
        "before", "binds", "cls", "column", "conditions", "edges", "end_line", "env", "exit_musts",
        "first_yield_only", "function", "gate", "globals", "left_with", "line", "loop_musts", "module",
        "must", "nominal_presumed", "nonlocals", "off", "partial", "position", "presumed", "quiet",
        "raise_musts", "returns", "site_edges", "site_starts", "sites", "starts", "stays", "step_kind",
        "symbol", "toplevel", "tries", "wakes", "yields",
    )  # fmt: skip

    def __init__(self, module: Module, env: Env | None, function: Function | None = None) -> None:
        self.module: Module = module
        self.env = env
        self.function: Function | None = function
        self.cls: ClassRef | None = None
        """The class whose body is running."""
        self.binds: dict[str, tuple[Node, ...]] | None = None
        """Bindings of the module or class body being run: names bound once are looked up, not stored."""
        self.toplevel: bool = False
        self.quiet: bool = False
        self.before: int = 0
        """A line of the module body, if names have the values that they had before this line; else 0."""
        self.conditions: Conditions = ()
        self.presumed: tuple[str, ...] = ()
        self.off: Condition | None = None
        """The condition for the followed code to run, if that is off the nominal path."""
        self.must: set[str] = set()
        self.exit_musts: list[set[str]] = []
        self.returns: list[tuple[Value, Condition | None]] = []
        self.yields: list[Value] = []
        self.wakes: dict[Kind, Wake] = {}
        self.edges: dict[str, Edge] = {}
        self.sites: list[Site] = []
        self.site_edges: list[SiteEdge] = []
        self.starts: dict[tuple[str, int, EffectKind, bool], Start] = {}
        self.site_starts: list[SiteStart] = []
        self.position: Position = Position.MODULE
        self.symbol: str = "__main__" if module.is_main else module.plain
        self.step_kind: StepKind = StepKind.CALL
        self.line: int = 0
        self.end_line: int = 0
        self.column: int = 0
        self.nominal_presumed: tuple[str, ...] = ()
        """Presumptions along the nominal paths to a sink."""
        self.tries: int = 0
        self.partial: bool = False
        """True once a loop was followed for only one representative item, so that its results are
        incomplete.
        """
        self.first_yield_only: bool = False
        self.globals: frozenset[str] | set[str] = frozenset()
        self.nonlocals: frozenset[str] | set[str] = frozenset()
        self.raise_musts: list[set[str]] = []
        """Sets of wakes that are certain at each place where the code may raise."""
        self.loop_musts: list[set[str]] = []
        """Sets of wakes that are certain at each place where a round of the innermost loop may end early."""
        self.left_with: list[tuple[dict[str, Value], set[str]]] = []
        """The variables and certain wakes at each `break` of the innermost loop."""
        self.gate: int = 0
        self.stays: Conditions = ()
        """The conditions for the program to get here without ending earlier."""

    def at(self, line: int, end_line: int) -> None:
        """Set the first and last line being followed."""
        self.line = line
        self.end_line = end_line
        self.column = 0

    @property
    def place(self) -> tuple[int, int, int, Position, str]:
        """Return the current position: lines, column, part of the body, and symbol."""
        return self.line, self.end_line, self.column, self.position, self.symbol

    def state(self) -> State:
        """Return the current state, to which `go_back` can return."""
        names = None if self.env is None else self.env.names
        return State(
            self.env, names, self.cls, self.binds, self.conditions, self.presumed, self.off, self.must,
            self.position, self.symbol, self.gate, self.tries,
        )  # fmt: skip

    def go_back(self, state: State) -> None:
        """Return to an earlier state, undoing anything begun since then."""
        self.env, self.cls, self.binds = state.env, state.cls, state.binds
        self.conditions, self.presumed, self.off, self.must = (
            state.conditions, state.presumed, state.off, state.must,
        )  # fmt: skip
        self.position, self.symbol, self.gate, self.tries = (
            state.position, state.symbol, state.gate, state.tries,
        )  # fmt: skip
        if self.env is not None and state.names is not None:
            self.env.names = state.names

    def enter(self, position: Position, symbol: str) -> tuple[Position, str]:
        """Move to another position of a body; return the old position, to which `leave` returns."""
        outer = self.position, self.symbol
        if self.toplevel:
            self.position, self.symbol = position, symbol
        return outer

    def leave(self, outer: tuple[Position, str]) -> None:
        """Go back to the position before `enter`."""
        self.position, self.symbol = outer

    def stay(self, conditions: Conditions) -> None:
        """Make the following code depend on these conditions: if they do not hold, the program ends here."""
        if conditions:
            self.stays = _unique(self.stays + conditions)
            self.exit_musts.append(set(self.must))
            self.conditions = _unique(self.conditions + conditions)

    def doubt(self, words: str) -> None:
        """Make everything after this line uncertain; `words` is the condition under which the program
        continues.
        """
        self.stay((Condition(words=f"{words} at line {self.line} of {self.module.plain}"),))

    def step(self, following: Link | None) -> Link:
        """Return a link for the current line, followed by `following`."""
        kind = _KIND_OF.get(self.position, StepKind.CLASS_BODY) if self.toplevel else self.step_kind
        return Link(kind, self.symbol, self.module.name, self.line, following)

    def wake(self, wake: Wake, must: bool) -> None:
        """Record a wake that the current line leads to; if a call leads there, the wake's link describes the
        call.
        """
        if self.quiet:
            return
        sure = must and wake.kind in WAKING
        conditions = possible_together(_unique(self.conditions + (() if sure else wake.conditions)))
        if conditions is None:
            return
        presumed, link = presumed_together(self.presumed, wake.presumed), self.step(wake.link)
        off = self.off is not None or (wake.off and not sure)
        found = Wake(
            wake.accelerator,
            wake.kind,
            conditions,
            presumed,
            wake.cost + 1,
            link,
            wake.remedy,
            off,
            wake.unless,
        )
        if self.off is None:
            if sure:
                self.must.update(found.makes_sure)
            if not wake.possible:
                self.nominal_presumed = presumed_together(self.nominal_presumed, found.presumed)
        if self.toplevel:
            certain = sure and not self.conditions and self.off is None
            self.sites.append(Site(*self.place, found, certain, sure))
            return
        key = kind_of(found)
        known = self.wakes.get(key)
        self.wakes[key] = found if known is None else joined(known, found)

    def edge(self, edge: Edge, statement: bool) -> None:
        """Record an import that the current line runs."""
        if self.quiet:
            return
        known = None if self.toplevel else self.edges.get(edge.target)
        if known is not None and not known.conditions:
            return  # the import is already recorded without conditions
        conditions = possible_together(_unique(self.conditions + edge.conditions))
        if conditions is None:
            return
        presumed = presumed_together(self.presumed, edge.presumed)
        off = edge.off or self.off is not None
        if self.toplevel:
            found = edge
            if conditions or presumed or off is not edge.off:
                found = Edge(edge.target, conditions, presumed, edge.link, off)
            gated, tried = self.gate > 0, self.tries > 0
            self.site_edges.append(SiteEdge(*self.place, found, statement, gated, tried, len(self.sites)))
            return
        if known is not None:
            shorter = len(conditions) < len(known.conditions)
            ways = [conditions, known.conditions] if shorter else [known.conditions, conditions]
            conditions, off = either(ways), off and known.off
            presumed = presumed_together(known.presumed, presumed)
            if not shorter:
                self.edges[edge.target] = known._replace(conditions=conditions, presumed=presumed, off=off)
                return
        link = Link(self.step_kind, self.symbol, self.module.name, self.line, edge.link)
        self.edges[edge.target] = Edge(edge.target, conditions, presumed, link, off)


_KIND_OF = {position: StepKind(position.value) for position in Position if position.value in set(StepKind)}


def _unique(conditions: Conditions) -> Conditions:
    if len(conditions) < 2:
        return conditions
    return tuple(dict.fromkeys(conditions))
