"""What several formats say of a checkup: the closing line, and the command to type next."""

from __future__ import annotations

import shlex

from coldfork.model.diagnosis.checks import Checkup, Health
from coldfork.report.shared.quantities import plural

#: What looks closer than the check itself.
_CLOSER = {
    "poisoned": "coldfork ps shows the processes",
    "recordings": "coldfork report FILE shows one of them",
    "packages": "coldfork probe PACKAGE tries one of them",
}


def closing(checkup: Checkup) -> str:
    """How many checks came to what."""
    counts = ", ".join(f"{checkup.count(health)} {_noun(health, checkup)}" for health in _shown(checkup))
    return f"{plural(len(checkup.results), 'check')}: {counts}"


def _shown(checkup: Checkup) -> list[Health]:
    return [health for health in sorted(Health, key=lambda one: -one.rank) if checkup.count(health)]


def _noun(health: Health, checkup: Checkup) -> str:
    if health is Health.FAIL:
        return "failed"
    return "to look at" if health is Health.WARN else health.value


def following(checkup: Checkup) -> str:
    """The command to type next."""
    of = "" if checkup.named is None else f" --python {shlex.quote(checkup.named)}"
    for health in (Health.FAIL, Health.WARN):
        for result in checkup.of(health):
            if result.name in _CLOSER:
                return _CLOSER[result.name]
        if health is Health.FAIL and checkup.of(health):
            return f"coldfork doctor {checkup.of(health)[0].name}{of} looks again when it is mended"
    if checkup.asked:
        return f"coldfork doctor{of} runs all checks"
    names = {result.name: result.answer.health for result in checkup.results}
    if names.get("driver") is Health.OK and names.get("touch") is Health.SKIPPED:
        return "coldfork doctor --touch wakes the devices in a process of its own"
    return f"coldfork doctor packages{of} says which installed packages wake a device"
