"""The end of a report: where packages were read, and what a change can affect."""

from __future__ import annotations

import pytest

from coldfork.model.observations import ChangeScope, EnvironmentRead, Origin
from coldfork.report.findings.closing import environment_sentence, scope_sentence

MISSING = "a; name their environment with --python PATH"
THERE = "imported but not found there: a"
LEFT_OUT = "findings in the others left out"
SEVEN = ("a", "b", "c", "d", "e", "f", "g")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (None, ""),
        (EnvironmentRead("x", Origin.NAMED, True), "packages: read from x"),
        (EnvironmentRead("x", Origin.ACTIVE, True), "packages: read from x, the active environment"),
        (
            EnvironmentRead("x", Origin.NEIGHBOUR, True),
            "packages: read from x, the environment beside the code",
        ),
        (EnvironmentRead("x", Origin.OWN, True), "packages: read from x, coldfork's own environment"),
        (
            EnvironmentRead("x", Origin.NAMED, True, SEVEN[:5]),
            "packages: read from x; imported but not found there: a, b, c, d, e",
        ),
        (
            EnvironmentRead("x", Origin.NAMED, True, SEVEN),
            "packages: read from x; imported but not found there: a, b, c, d, e and 2 more",
        ),
        (
            EnvironmentRead("x", Origin.NAMED, True, ("a",), (("b", "V"), ("b", "W"), ("c", "V"))),
            f"packages: read from x; {THERE}; not followed: imports of b, c that need V, W set",
        ),
        (EnvironmentRead("x", Origin.OWN, False), ""),
        (EnvironmentRead(None, Origin.OWN, True), ""),
        (
            EnvironmentRead("x", Origin.OWN, False, ("a",)),
            f"packages: not read (and not looked for in coldfork's own environment): {MISSING}",
        ),
        (
            EnvironmentRead(None, Origin.OWN, True, ("a",)),
            f"packages: not read: {MISSING}",
        ),
        (EnvironmentRead("a\nb", Origin.NAMED, True), "packages: read from a b"),
    ],
)
def test_environments(environment: EnvironmentRead | None, said: str) -> None:
    assert environment_sentence(environment) == said


NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (None, ""),
        (ChangeScope("main", (), NONE, 9), "no Python file changed since main"),
        (
            ChangeScope("main", (), NONE, 9, 1),
            "no Python file changed since main; 1 finding in the others left out",
        ),
        (
            ChangeScope("main", ("a.py",), frozenset("ab"), 9),
            "1 Python file changed since main, which can affect 2 of 9 modules",
        ),
        (
            ChangeScope("v\n1", ("a.py", "b.py"), NONE, 9, 3),
            f"2 Python files changed since v 1, which can affect 0 of 9 modules; 3 {LEFT_OUT}",
        ),
        (
            ChangeScope("main", ("a.py",), None, 9, everything="b.json"),
            "b.json changed since main, which affects every module",
        ),
    ],
)
def test_changes(scope: ChangeScope | None, said: str) -> None:
    assert scope_sentence(scope) == said
