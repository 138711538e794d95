"""Which files and findings the configuration leaves out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from coldfork.checking.configuration import Configuration
from coldfork.checking.places import Locate
from coldfork.model.findings import Finding

Matches = Callable[[str], bool]


def matcher(globs: Iterable[str], configuration: Configuration) -> Matches:
    """A test whether a file, seen from where the user stands, matches one of these globs."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(globs)
    folder = os.path.realpath(configuration.folder)

    def matches(path: str) -> bool:
        inside = os.path.relpath(os.path.realpath(path), folder)
        return not inside.startswith(os.pardir) and spec.match_file(inside)

    return matches


def excluded(configuration: Configuration) -> Matches:
    """A test for `exclude`."""
    return matcher(configuration.exclude, configuration) if configuration.exclude else lambda _: False


def select_findings(
    findings: Iterable[Finding], configuration: Configuration, locate: Locate
) -> tuple[Finding, ...]:
    """The findings that neither `exclude` nor `per-file-ignores` drops."""
    is_excluded = excluded(configuration)
    tests = [(matcher([glob], configuration), rules) for glob, rules in configuration.per_file_ignores]
    return tuple(
        finding
        for finding in findings
        if not is_excluded(path := locate(finding.path))
        and not any(finding.rule in rules and matches(path) for matches, rules in tests)
    )
