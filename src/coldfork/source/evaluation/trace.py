"""The finds of following code: wakes, the way there and which are told, imports, and failures."""

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
    """One frame on the way to a sink, linked to the next."""

    kind: StepKind
    symbol: str
    module: str | None
    line: int | None
    following: Link | None

    @property
    def along(self) -> Iterator[Link]:
        """This frame and those that follow."""
        link: Link | None = self
        while link is not None:
            yield link
            link = link.following


class Wake(NamedTuple):
    """One way to a sink."""

    accelerator: str
    kind: EffectKind
    conditions: Conditions
    presumed: tuple[str, ...]
    cost: int
    link: Link
    remedy: str | None = None
    off: bool = False
    """True when the way leaves the nominal path."""
    unless: tuple[str, str] | None = None
    """An environment variable with which the device stays asleep."""

    @property
    def surety(self) -> str:
        """What has to be sure for this wake to be: the accelerator, and how deep it is woken."""
        return f"{self.accelerator}+" if self.kind is EffectKind.CREATES_CONTEXT else self.accelerator

    @property
    def makes_sure(self) -> tuple[str, ...]:
        """What is sure when this wake is: a context takes the driver too."""
        deeper = (f"{self.accelerator}+",) if self.kind is EffectKind.CREATES_CONTEXT else ()
        return (self.accelerator, *deeper)

    @property
    def possible(self) -> bool:
        """True when the way needs dynamic dispatch that could not be narrowed."""
        return any(condition.possible for condition in self.conditions)

    @property
    def order(self) -> tuple[bool, bool, bool, int, int, int]:
        """Smaller is the better way to report: surest first, the deeper effect first, shortest."""
        depth = 0 if self.kind is EffectKind.CREATES_CONTEXT else 1 if self.kind in WAKING else 2
        return (self.possible, self.off, depth == 2, len(self.conditions), depth, self.cost)


class Edge(NamedTuple):
    """An import that runs: what it imports, and under what conditions."""

    target: str
    conditions: Conditions
    presumed: tuple[str, ...]
    link: Link | None
    """The way from the call to the import statement, when it runs inside a function."""
    off: bool = False
    """True when the import runs off the nominal path."""


class Site(NamedTuple):
    """A wake at a line of a module body."""

    line: int
    end_line: int
    column: int
    position: Position
    symbol: str
    wake: Wake
    certain: bool
    sure: bool = False
    """True when it happens on the way that is being followed, whatever led there."""


class SiteEdge(NamedTuple):
    """An import at a line of a module body."""

    line: int
    end_line: int
    column: int
    position: Position
    symbol: str
    edge: Edge
    statement: bool
    gated: bool
    tried: bool = False
    """True inside a `try` that may handle its failing."""
    behind: int = 0
    """How many wakes of its module were noted before it: sites and imports are noted as they run."""


class Trouble(NamedTuple):
    """What keeps a process from starting as it is meant to."""

    obstacle: Obstacle
    words: str
    link: Link | None = None
    """The line that makes it one, where that is another one."""


class Start(NamedTuple):
    """A process that is started, or how they are to be, and what has become of the device by then."""

    does: EffectKind
    method: str
    """`fork`, `spawn` or `forkserver`; empty where nobody knows."""
    chosen: str
    """What chose it, in words; empty where nothing did."""
    target: str
    """The function that the child runs, or the variable that is set; empty where nobody knows."""
    conditions: Conditions
    presumed: tuple[str, ...]
    link: Link
    off: bool = False
    before: Wake | None = None
    """The surest wake before it in this process."""
    sure: bool = False
    """True where that is sure to have happened."""
    imports: tuple[Edge, ...] = ()
    """The imports that functions on the way here had run by then."""
    child: Wake | None = None
    """The surest way in which the child uses a device."""
    trouble: Trouble | None = None
    tasks: bool = False
    """True where the processes run already, and are given something to do."""
    handled: bool = False
    """True inside a `try` that may handle an error."""
    by_default: bool = False
    """True where nobody states the method."""
    pool: tuple[str, int] | None = None
    """Module and line at which the pool started that is given something to do in another function."""

    @property
    def place(self) -> tuple[str, int, EffectKind, bool]:
        """The line that starts it, or that has something to do for it."""
        link = self.link
        while link.following is not None and link.following.module is not None:
            link = link.following
        return link.module or "", link.line or 0, self.does, self.tasks

    @property
    def order(self) -> tuple[bool, bool, bool, bool, bool, int]:
        """Smaller tells more: what wakes the device before, and what uses it in the child."""
        told = (self.child is None, self.before is None, not self.sure)
        return (*told, self.trouble is None, self.off, len(self.conditions))


class SiteStart(NamedTuple):
    """A process that a line of a module body starts."""

    line: int
    end_line: int
    column: int
    position: Position
    symbol: str
    start: Start
    behind: int
    """How many imports of its module were noted before it."""


class Failure(NamedTuple):
    """Something that may raise: on what condition, whether that is as likely as not, and which exception."""

    condition: Condition
    even: bool
    kind: str
    must: frozenset[str]
    """What is sure to have woken by then."""

    def joined(self, other: Failure) -> Failure:
        """This failure, or the other of its kind."""
        condition = self.condition
        if other.condition is not condition:
            condition = any_of(condition, other.condition) or condition
        return self._replace(condition=condition, must=self.must & other.must)


class Cut(NamedTuple):
    """Where following a module ended: its budget had come to its end, or coldfork itself failed there."""

    module: str
    function: str
    line: int
    fault: str = ""
    """Which error of coldfork's own it was; empty for the end of the budget."""


#: What is told apart: the accelerator, how deep it is woken, and the variable that would keep it asleep.
Kind = tuple[str, EffectKind, tuple[str, str] | None]

_CHANGING = Condition(words="the same test comes out both ways", possible=True)


def kind_of(wake: Wake) -> Kind:
    """The traits that a wake shares with those that it is told together with."""
    return wake.accelerator, wake.kind, wake.unless


def possible_together(conditions: Conditions) -> Conditions | None:
    """The conditions of one way; None where they cannot all hold.

    Where a test would have to change its answer in between, and may, that is one more condition.
    """
    if len(conditions) < 2:
        return conditions
    settled = contradiction(conditions)
    if settled is None:
        return conditions
    return None if settled else tuple(dict.fromkeys((*conditions, _CHANGING)))


def joined(known: Wake, found: Wake) -> Wake:
    """Two ways of one kind as one: the better chain, and what has to hold for one of them to be open."""
    if not known.conditions and not known.off:
        return known  # what runs first is reported
    better, other = (found, known) if found.order < known.order else (known, found)
    if not better.conditions:
        return better
    conditions = either([better.conditions, other.conditions])
    if conditions == better.conditions and better.off <= other.off:
        return better
    presumed = presumed_together(better.presumed, other.presumed)
    return better._replace(conditions=conditions, presumed=presumed, off=better.off and other.off)


def told(sites: Iterable[Site]) -> Iterator[Site]:
    """The wakes at the lines of a module that are told: those that no other one covers.

    A wake is covered by one whose condition holds wherever its own does; of two with one condition the
    deeper is told, and of what wakes nothing, as a query does, only where nothing wakes.
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
