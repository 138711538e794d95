"""Selects the causes that a report shows or folds, and the finding that represents each cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from coldfork.model.terms.grades import Audience
from coldfork.report.shared.quantities import plural

if TYPE_CHECKING:
    from coldfork.model.causes import Cause
    from coldfork.model.findings import Finding, Report
    from coldfork.report.shared.options import Options

_OPEN = (Audience.LIBRARY, Audience.SCRIPT)
_PLACES = {
    Audience.LIBRARY: "in the library",
    Audience.SCRIPT: "in scripts",
    Audience.BUILD: "in the build",
    Audience.EXAMPLE: "in examples",
    Audience.TEST: "in tests",
}


class Selection:
    """The causes of a report, with their findings and the limits on what is shown."""

    def __init__(self, report: Report, options: Options) -> None:
        self._findings = {finding.id: finding for finding in report.findings}
        self._limit = options.limit
        is_open = {one: options.tests or one in _OPEN or one in options.fail_for for one in Audience}
        self.shown: tuple[Cause, ...] = tuple(cause for cause in report.causes if is_open[cause.audience])
        self.folded: tuple[Cause, ...] = tuple(
            cause for cause in report.causes if not is_open[cause.audience]
        )

    def in_order(self) -> tuple[Cause, ...]:
        """Return the causes to show, followed by new ways to causes that the baseline accepts."""
        return tuple(sorted(self.shown, key=lambda cause: cause.accepted))

    def listed(self) -> tuple[Cause, ...]:
        """The causes to list: the first ones, up to the limit."""
        return self.in_order()[: self._limit]

    @property
    def left_out(self) -> int:
        """The number of causes beyond the limit, which are not listed."""
        return len(self.shown) - len(self.listed())

    def all(self) -> tuple[Cause, ...]:
        """Return all causes, including the folded ones."""
        return (*self.in_order(), *self.folded)

    def first(self, cause: Cause) -> Finding:
        """Return the finding to mend first, which stands for the cause."""
        return self._findings[cause.findings[0]]

    def others(self, cause: Cause) -> tuple[Finding, ...]:
        """Return the other lines that lead to the same cause, except imports that merely pass it on."""
        return tuple(one for one in self._rest(cause) if one.leads_to(cause) and not one.chain.by_import)

    def same_program(self, cause: Cause) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """Return the program's other waking lines: those before the first certain one, and those after it."""
        first = self.first(cause)
        rest = [one for one in self._rest(cause) if not one.leads_to(cause)]
        earlier = tuple(one for one in rest if one.path == first.path and one.turn < first.turn)
        return earlier, tuple(one for one in rest if one not in earlier)

    def only_passed_on(self, cause: Cause) -> bool:
        """Return whether only imports lead to a cause, so that no finding is on the cause's own line."""
        first = self.first(cause)
        return (
            first.chain.by_import
            and not (cause.spares or cause.accepted)
            and (first.path, first.line) != (cause.path, cause.line)
            and first.leads_to(cause)
        )

    def entries(self, cause: Cause) -> tuple[Finding, ...]:
        """Return the findings to list for a cause: each new way to an accepted cause, otherwise the
        main one.
        """
        return tuple(
            self._findings[name] for name in (cause.findings if cause.accepted else cause.findings[:1])
        )

    def _rest(self, cause: Cause) -> Iterable[Finding]:
        return (self._findings[name] for name in cause.findings[1:])

    def limit_line(self) -> str:
        """Return `12 more causes are not listed; --limit 0 lists them all`; empty if all are listed."""
        if not self.left_out:
            return ""
        are = "is" if self.left_out == 1 else "are"
        return f"{plural(self.left_out, 'more cause')} {are} not listed; --limit 0 lists them all"

    def fold_line(self) -> str:
        """Return `3 more causes in tests are folded; --tests shows them`; empty if none are folded."""
        if not self.folded:
            return ""
        are, them = ("is", "it") if len(self.folded) == 1 else ("are", "them")
        return f"{_counted(self.folded)} {are} folded; --tests shows {them}"


def place_of(audience: Audience) -> str:
    """Return where code for this audience is, for example `in tests`."""
    return _PLACES[audience]


def _counted(causes: Iterable[Cause]) -> str:
    counts = Counter(cause.audience for cause in causes)
    parts = [
        f"{plural(count, 'cause') if not index else count} {place_of(audience)}"
        for index, (audience, count) in enumerate(sorted(counts.items(), key=lambda item: item[0].rank))
    ]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
