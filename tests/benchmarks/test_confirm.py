"""The benchmark that imports what was found: what counts as a difference, and what the table says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.confirm import Outcome, known, place, reason, table, unaccounted
from benchmarks.confirmlist import ROWS

pytestmark = pytest.mark.once


def finding(answer: str, verdict: str = "certain", line: int = 1, said: str = "") -> dict[str, Any]:
    return {
        "path": "engine/core.py",
        "line": line,
        "rule": "waking-import",
        "verdict": verdict,
        "confirmed": answer,
        "confirmation": said,
    }


def outcome(*findings: dict[str, Any]) -> Outcome:
    return Outcome(ROWS[0], findings)


def test_only_what_was_certain_and_stayed_cold_is_a_difference() -> None:
    cold = finding("cold", line=4)
    seen = outcome(finding("woken"), finding("cold", "conditional"), finding("not-testable"), cold)
    assert seen.differences == (cold,)
    assert unaccounted(seen, {}) == [cold]
    assert unaccounted(seen, {ROWS[0].name: {"engine/core.py:4 waking-import": "looked into"}}) == []
    assert unaccounted(seen, {"another": {"engine/core.py:4 waking-import": "looked into"}}) == [cold]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("engine/core.py:3 had woken cuda before the line ran", "hidden by an earlier wake"),
        ("cuda was awake before the module ran: woken by a.py:2", "hidden by an earlier wake"),
        ("the import failed with ModuleNotFoundError: No module named 'x'", "a dependency is missing"),
        ("the import failed with AttributeError: no", "the import fails"),
        ("the import did not end within 3 s", "the import fails"),
        (
            "it presumes that x is installed, which the interpreter does not find",
            "the package is not installed",
        ),
        ("it is a program, and an import would run it", "a program"),
        ("nobody knows", "another reason"),
    ],
)
def test_reasons_are_told_apart(said: str, kind: str) -> None:
    assert reason(said) == kind


def test_the_table() -> None:
    seen = outcome(
        finding("woken"), finding("cold"), finding("not-testable", said="the import failed with E")
    )
    assert table([seen]).splitlines()[-1] == (
        f"| {ROWS[0].name} | 3 | 1 | 1 | 1 | 1 | the import fails (1) |"
    )


def test_every_account_is_of_a_package_that_is_confirmed_and_gives_a_reason() -> None:
    names = {row.name for row in ROWS}
    for name, places in known().items():
        assert name in names
        assert all(len(why.split()) > 3 for why in places.values()), json.dumps(places)


def test_a_place_names_the_rule_too() -> None:
    assert place(finding("cold", line=9)) == "engine/core.py:9 waking-import"
