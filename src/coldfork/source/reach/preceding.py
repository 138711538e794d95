"""The wake that always precedes another one in the function in which both happen."""

from __future__ import annotations

from collections.abc import Mapping

from coldfork.model.effects import WAKING, Ahead
from coldfork.source.evaluation.trace import Link, Site, Wake
from coldfork.source.program.program import Program
from coldfork.source.reach.always_before import AlwaysBefore
from coldfork.source.reach.propagation import ModuleResult
from coldfork.source.reach.quotations import Quotations


class Preceding:
    """Looks among the wakes that the same line of a module leads to."""

    def __init__(self, program: Program, results: Mapping[str, ModuleResult], quotations: Quotations) -> None:
        self._program = program
        self._results = results
        self._quotations = quotations
        self._always_before = AlwaysBefore(program.read_source)

    def of(self, way: Link) -> Ahead | None:
        """The wake that always comes before the end of a way; the way may lead through imports first."""
        above: list[Link] = []
        link: Link | None = way
        while link is not None:
            found = self._first_on(link)
            if found is not None:
                chain = link._replace(following=found.link.following)
                for outer in reversed(above):
                    chain = outer._replace(following=chain)
                return Ahead(found.kind, self._quotations.chain(chain))
            above.append(link)
            link = link.following
        return None

    def _first_on(self, link: Link) -> Wake | None:
        """If a link is a waking line of its module: what the line has always woken before."""
        result = self._results.get(link.module) if link.module is not None else None
        if result is None or link.following is None:
            return None
        alike = [site for site in result.sites if site.line == link.line]
        for index, site in enumerate(alike):
            if site.wake.link.following is link.following:
                return next((one.wake for one in alike[:index] if self._precedes(one, site)), None)
        return None

    def _precedes(self, one: Site, site: Site) -> bool:
        """Whether the first is sure to wake the same device whenever the second does."""
        if one.wake.accelerator != site.wake.accelerator or (site.certain and not one.certain):
            return False
        if one.wake.kind not in WAKING or site.wake.kind not in WAKING:
            return False
        if not set(one.wake.conditions) <= set(site.wake.conditions):
            return False
        module, earlier, later = _parting(one.wake.link, site.wake.link)
        located = self._program.finder.find(module) if module else None
        return (
            located is not None
            and located.path is not None
            and self._always_before(located.path, earlier, later)
        )


def _parting(one: Link | None, other: Link | None) -> tuple[str, int, int]:
    """The module of the function in which two ways from one line part, and the line of each there."""
    while one is not None and other is not None and one.symbol == other.symbol and one.module == other.module:
        if one.line != other.line:
            return one.module or "", one.line or 0, other.line or 0
        one, other = one.following, other.following
    return "", 0, 0
