"""`coldfork doctor` as text: one line for each group of checks, and below it the problems found.

A group in which all is well takes one line. With `options.everything`, every check has a line of its own;
skipped ones give the reason.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from coldfork.model.diagnosis import CheckResult, Checkup, Health
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.sheets import Sheet

#: Commands that examine the subject of a check more closely.
_CLOSER = {
    "poisoned": "coldfork ps shows the processes",
    "recordings": "coldfork report FILE shows one of them",
    "packages": "coldfork probe PACKAGE tries one of them",
}


_PAST = frozenset({"recordings"})


def closing(checkup: Checkup) -> str:
    """Return the number of checks with each result, in words."""
    counts = ", ".join(f"{checkup.count(health)} {_noun(health, checkup)}" for health in _shown(checkup))
    return f"{plural(len(checkup.results), 'check')}: {counts}"


def _shown(checkup: Checkup) -> list[Health]:
    return [health for health in sorted(Health, key=lambda one: -one.rank) if checkup.count(health)]


def _noun(health: Health, checkup: Checkup) -> str:
    if health is Health.FAIL:
        return "failed"
    return "to look at" if health is Health.WARN else health.value


def following(checkup: Checkup) -> str:
    """Return the command that the user should type next."""
    of = "" if checkup.named is None else f" --python {shlex.quote(checkup.named)}"
    for health in (Health.FAIL, Health.WARN):
        looked_at = checkup.of(health)
        for result in looked_at:
            # A recorded crash is old and may concern other work, so this is suggested only if nothing else
            # was found.
            if result.name in _CLOSER and (result.name not in _PAST or len(looked_at) == 1):
                return _CLOSER[result.name]
        if health is Health.FAIL and checkup.of(health):
            return f"coldfork doctor {checkup.of(health)[0].name}{of} checks again once it is fixed"
    if checkup.asked:
        return f"coldfork doctor{of} runs all checks"
    names = {result.name: result.answer.health for result in checkup.results}
    if names.get("driver") is Health.OK and names.get("touch") is Health.SKIPPED:
        return "coldfork doctor --touch wakes the devices in a process of its own"
    return f"coldfork doctor packages{of} says which installed packages wake a device"


_MARKS = {Health.OK: "✓", Health.WARN: "!", Health.FAIL: "✗", Health.SKIPPED: "-"}
_PLAIN_MARKS = {Health.OK: "+", Health.WARN: "!", Health.FAIL: "x", Health.SKIPPED: "-"}
_STYLES = {Health.OK: "clean", Health.WARN: "warning", Health.FAIL: "error", Health.SKIPPED: "quiet"}
_MOST_DETAILS = 8


def render(checkup: Checkup, options: Options) -> str:
    """Write the checks as text that ends with the counts and the command to type next."""
    return "\n".join(_Page(checkup, options).lines()) + "\n"


class _Page:
    """The text output being written."""

    def __init__(self, checkup: Checkup, options: Options) -> None:
        self._checkup = checkup
        self._everything = options.everything
        self._sheet = Sheet(options)
        self._marks = _MARKS if self._can_say("".join(_MARKS.values())) else _PLAIN_MARKS

    def lines(self) -> Iterator[str]:
        groups: dict[str, list[CheckResult]] = {}
        for result in self._checkup.results:
            groups.setdefault(result.group, []).append(result)
        for group, results in groups.items():
            yield from self._group(group, results)
        yield ""
        worst = max((result.answer.health for result in self._checkup.results), key=lambda one: one.rank)
        yield self._sheet.paint(_STYLES[worst], closing(self._checkup))
        yield f"Next: {following(self._checkup)}"

    def _group(self, group: str, results: list[CheckResult]) -> Iterator[str]:
        worst = max((result.answer.health for result in results), key=lambda one: one.rank)
        shown = [
            result for result in results if self._everything or result.answer.health.rank > Health.OK.rank
        ]
        # If the first check was skipped, the others in its group usually were too.
        mark = worst if worst.rank > Health.OK.rank else results[0].answer.health
        head = f"{self._mark(mark)} {self._sheet.paint('title', group)}"
        yield head if self._everything else f"{head}{self._told(results)}"
        width = max((len(result.name) for result in shown), default=0)
        for result in shown:
            yield from self._check(result, width)

    def _told(self, results: list[CheckResult]) -> str:
        """Return the first line of a group: its first check, unless that follows below, and how many are ok
        or skipped.
        """
        first = results[0].answer
        parts = [self._sheet.say(first.message)] if first.health.rank <= Health.OK.rank else []
        well = sum(result.answer.health is Health.OK for result in results)
        skipped = sum(result.answer.health is Health.SKIPPED for result in results)
        counts = [f"{well} ok"] if well else []
        counts += [f"{skipped} skipped"] if skipped else []
        parts += [self._sheet.paint("quiet", f"({', '.join(counts)})")] if counts else []
        return f"  {' '.join(parts)}" if parts else ""

    def _check(self, result: CheckResult, width: int) -> Iterator[str]:
        answer = result.answer
        message = self._sheet.say(answer.message)
        if answer.health is Health.SKIPPED:
            message = self._sheet.paint("quiet", message)
        gap = " " * (width - len(result.name) + 2)
        yield f"  {self._mark(answer.health)} {self._sheet.paint('place', result.name)}{gap}{message}"
        if answer.health.rank > Health.OK.rank or self._everything:
            for detail in answer.details[:_MOST_DETAILS]:
                yield f"      {self._sheet.say(detail)}"
            if len(answer.details) > _MOST_DETAILS:
                yield f"      and {len(answer.details) - _MOST_DETAILS} more; --format json lists them"
        for remedy in answer.remedies:
            yield f"      {self._sheet.paint('help', 'help:')} {self._sheet.say(remedy)}"

    def _mark(self, health: Health) -> str:
        return self._sheet.paint(_STYLES[health], self._marks[health])

    def _can_say(self, text: str) -> bool:
        try:
            text.encode(self._sheet.letters.encoding)
        except UnicodeError:
            return False
        return True
