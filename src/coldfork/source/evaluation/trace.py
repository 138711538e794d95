"""The results of following code: wakes with their paths, imports, process starts and failures; and which to
report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from coldfork.model.effects import WAKING, EffectKind, Obstacle, Position, StepKind
from coldfork.source.values.conditions import (
    Condition,
    Conditions,
    any_of,
    contradiction,
    either,
    implies,
    presumed_together,
)


class Link(NamedTuple):
    """One step of the path to a sink, with a reference to the next step."""

    kind: StepKind
    symbol: str
    module: str | None
    line: int | None
    following: Link | None

    @property
    def along(self) -> Iterator[Link]:
        """Return this link and all that follow it."""
        link: Link | None = self
        while link is not None:
            yield link
            link = link.following


class Wake(NamedTuple):
    """A path to a call that wakes a device."""

    accelerator: str
    kind: EffectKind
    conditions: Conditions
    presumed: tuple[str, ...]
    cost: int
    link: Link
    remedy: str | None = None
    off: bool = False
    """True if the path is not the one that the program is presumed to take."""
    unless: tuple[str, str] | None = None
    """An environment variable that would keep the device cold."""

    @property
    def surety(self) -> str:
        """The key under which this wake is recorded as certain: its accelerator, with a `+` for a context."""
        return f"{self.accelerator}+" if self.kind is EffectKind.CREATES_CONTEXT else self.accelerator

    @property
    def makes_sure(self) -> tuple[str, ...]:
        """The keys of all wakes that are certain if this one is: a context implies a woken driver."""
        deeper = (f"{self.accelerator}+",) if self.kind is EffectKind.CREATES_CONTEXT else ()
        return (self.accelerator, *deeper)

    @property
    def possible(self) -> bool:
        """True if some condition of the path is merely possible, such as the choice of an override."""
        return any(condition.possible for condition in self.conditions)

    @property
    def order(self) -> tuple[bool, bool, bool, int, int, int]:
        """The sort key, smallest first: surest first, then deepest, then shortest."""
        depth = 0 if self.kind is EffectKind.CREATES_CONTEXT else 1 if self.kind in WAKING else 2
        return (self.possible, self.off, depth == 2, len(self.conditions), depth, self.cost)


class Edge(NamedTuple):
    """An import that runs, with its target and its conditions."""

    target: str
    conditions: Conditions
    presumed: tuple[str, ...]
    link: Link | None
    """The path from the call to the import statement, if it runs inside a function."""
    off: bool = False
    """True if the import runs off the nominal path."""


class Site(NamedTuple):
    """A wake caused by a line of a module body."""

    line: int
    end_line: int
    column: int
    position: Position
    symbol: str
    wake: Wake
    certain: bool
    sure: bool = False
    """True if the wake happens whenever the path is followed, under whatever conditions that is."""


class SiteEdge(NamedTuple):
    """An import run by a line of a module body."""

    line: int
    end_line: int
    column: int
    position: Position
    symbol: str
    edge: Edge
    statement: bool
    gated: bool
    tried: bool = False
    """True inside a `try` that may handle a failure of the import."""
    behind: int = 0
    """The number of the module's wakes recorded before this import; both lists are in execution order."""


class Trouble(NamedTuple):
    """A reason why a process does not start as intended."""

    obstacle: Obstacle
    words: str
    link: Link | None = None
    """The line that causes the trouble, if it is not the line that starts the process."""


class Start(NamedTuple):
    """A process start, or a choice of the start method, with the wakes before it."""

    does: EffectKind
    method: str
    """`fork`, `spawn` or `forkserver`; empty if unknown."""
    chosen: str
    """A description of the code that chose the method; empty if nothing did."""
    target: str
    """The function that the child runs, or the name of the variable that is set; empty if unknown."""
    conditions: Conditions
    presumed: tuple[str, ...]
    link: Link
    off: bool = False
    before: Wake | None = None
    """The surest wake in this process before the start."""
    sure: bool = False
    """True if the earlier wake is certain."""
    imports: tuple[Edge, ...] = ()
    """The imports that functions on the path have run before the start."""
    child: Wake | None = None
    """The surest way in which the child uses a device."""
    trouble: Trouble | None = None
    tasks: bool = False
    """True if the processes already run and are given a task."""
    handled: bool = False
    """True inside a `try` that may handle an error."""
    by_default: bool = False
    """True if the code names no start method."""
    pool: tuple[str, int] | None = None
    """The module and line at which the pool started, if another function gives it the task."""

    @property
    def place(self) -> tuple[str, int, EffectKind, bool]:
        """The module and line that start the process or give it a task, and the kind of start."""
        link = self.link
        while link.following is not None and link.following.module is not None:
            link = link.following
        return link.module or "", link.line or 0, self.does, self.tasks

    @property
    def order(self) -> tuple[bool, bool, bool, bool, bool, int]:
        """The sort key, smallest first: starts after a wake whose child uses a device come first."""
        told = (self.child is None, self.before is None, not self.sure)
        return (*told, self.trouble is None, self.off, len(self.conditions))


class SiteStart(NamedTuple):
    """A process start at a line of a module body."""

    line: int
    end_line: int
    column: int
    position: Position
    symbol: str
    start: Start
    behind: int
    """The number of imports in the module that were recorded before this start."""


class Failure(NamedTuple):
    """A possible exception: its name, its condition, and whether it is as likely as not."""

    condition: Condition
    even: bool
    kind: str
    must: frozenset[str]
    """The wakes that are certain before the failure."""

    def joined(self, other: Failure) -> Failure:
        """Return this failure joined with another of its kind, either of which may happen."""
        condition = self.condition
        if other.condition is not condition:
            condition = any_of(condition, other.condition) or condition
        return self._replace(condition=condition, must=self.must & other.must)


class Cut(NamedTuple):
    """A place where following a module ended early: the budget ran out, or coldfork itself failed."""

    module: str
    function: str
    line: int
    fault: str = ""
    """The error in coldfork itself; empty if the budget ran out."""


#: The properties by which wakes are grouped: accelerator, depth, and the variable that would prevent the
#: wake.
Kind = tuple[str, EffectKind, tuple[str, str] | None]

_CHANGING = Condition(words="the same test comes out both ways", possible=True)


def kind_of(wake: Wake) -> Kind:
    """Return the properties by which wakes are grouped; one wake of each group is reported."""
    return wake.accelerator, wake.kind, wake.unless


def possible_together(conditions: Conditions) -> Conditions | None:
    """Return all conditions of a path; None if they contradict each other.

    If they can all hold only because the answer of a test changes in between, that change is added as a
    condition.
    """
    if len(conditions) < 2:
        return conditions
    settled = contradiction(conditions)
    if settled is None:
        return conditions
    return None if settled else tuple(dict.fromkeys((*conditions, _CHANGING)))


def joined(known: Wake, found: Wake) -> Wake:
    """Return two paths of the same kind as one: the better path, with the condition that either is taken."""
    if not known.conditions and not known.off:
        return known  # the first certain one is reported
    better, other = (found, known) if found.order < known.order else (known, found)
    if not better.conditions:
        return better
    conditions = either([better.conditions, other.conditions])
    if conditions == better.conditions and better.off <= other.off:
        return better
    presumed = presumed_together(better.presumed, other.presumed)
    return better._replace(conditions=conditions, presumed=presumed, off=better.off and other.off)


def told(sites: Iterable[Site]) -> Iterator[Site]:
    """Yield the wakes to report for a module's lines, leaving out those that another wake covers.

    A wake is covered by another whose condition holds whenever its own does. Of two wakes with the same
    condition the deeper one is reported. A query, which wakes nothing, is reported only if nothing else
    wakes.
    """
    lines: dict[tuple[int, str], dict[Kind, Site]] = {}
    for site in sites:
        kinds = lines.setdefault((site.line, site.wake.accelerator), {})
        kind = kind_of(site.wake)
        known = kinds.get(kind)
        kinds[kind] = site if known is None else _joined_sites(known, site)
    for kinds in lines.values():
        if len(kinds) == 1:
            yield from kinds.values()
            continue
        every = sorted(kinds.values(), key=_rank)
        for index, site in enumerate(every):
            if not any(_covers(other, site) for other in every[:index]):
                yield site


def _joined_sites(known: Site, found: Site) -> Site:
    if known.certain or found.certain:
        return known if known.certain else found
    wake = joined(known.wake, found.wake)
    first = found if wake.link is found.wake.link else known
    return first._replace(wake=wake)


def _rank(site: Site) -> tuple[object, ...]:
    wake = site.wake
    return (wake.kind not in WAKING, not site.certain, *wake.order)


def _covers(site: Site, other: Site) -> bool:
    if other.wake.kind not in WAKING:
        return True
    return site.certain or implies(other.wake.conditions, site.wake.conditions)
