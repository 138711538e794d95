"""Runs checks one after the other; one that crashes is reported as skipped and never stops the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic

from coldfork.diagnose.doctor import registry
from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis.checks import Answer, CheckResult, Checkup, skipped


def examine(names: Iterable[str], facts: Facts, clock: Callable[[], float] = monotonic) -> Checkup:
    """Run the checks that are named, else all of them."""
    asked = tuple(dict.fromkeys(names))
    for name in asked:
        registry.check(name)
    results = tuple(_result(name, facts, clock) for name in asked or registry.folders())
    python = facts.python
    return Checkup(results, python.executable, tuple(map(str, python.folders)), asked)


def _result(name: str, facts: Facts, clock: Callable[[], float]) -> CheckResult:
    began = clock()
    answer = _answer(name, facts)
    return CheckResult(name, registry.group(name), registry.title(name), answer, clock() - began)


def _answer(name: str, facts: Facts) -> Answer:
    try:
        return registry.check(name).examine(facts)
    except Exception as error:
        return skipped(f"the check itself failed: {type(error).__name__}: {error}")
