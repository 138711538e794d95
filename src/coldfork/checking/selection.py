"""Which files and findings the configuration leaves out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache

from coldfork.checking.configuration import Configuration
from coldfork.checking.places import Locate
from coldfork.model.findings import Finding

Matches = Callable[[str], bool]


def matcher(globs: Iterable[str], configuration: Configuration) -> Matches:
    """A test whether a file, seen from where the user stands, matches one of these globs."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(globs)
    folder = os.path.realpath(configuration.folder)

    @cache
    def matches(path: str) -> bool:
        inside = os.path.relpath(os.path.realpath(path), folder)
        return not inside.startswith(os.pardir) and spec.match_file(inside)

    return matches


class Selection:
    """The files and the findings that a configuration leaves out, for the length of one check."""

    def __init__(self, configuration: Configuration) -> None:
        self.is_excluded: Matches = (
            matcher(configuration.exclude, configuration) if configuration.exclude else lambda _: False
        )
        """Whether `exclude` leaves a file out."""
        self._ignores = [
            (matcher([glob], configuration), rules) for glob, rules in configuration.per_file_ignores
        ]

    def select(self, findings: Iterable[Finding], locate: Locate) -> tuple[Finding, ...]:
        """The findings that neither `exclude` nor `per-file-ignores` drops."""
        return tuple(
            finding
            for finding in findings
            if not self.is_excluded(path := locate(finding.path))
            and not any(finding.rule in rules and matches(path) for matches, rules in self._ignores)
        )
