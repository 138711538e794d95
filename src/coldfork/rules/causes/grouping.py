"""Groups findings by the line that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coldfork.model.causes import Audience, CheckedModule
from coldfork.model.effects import WAKING, Chain, Step, StepKind
from coldfork.model.findings import Finding

#: The path and number of a line, and the accelerator that it affects, or the rule if it affects none.
Key = tuple[str, int, str]


class Origin(NamedTuple):
    """The line that a finding comes from: the last line of the checked code on the way to a device."""

    path: str
    line: int
    text: str
    function: str
    """The function or module that contains the line."""
    call: str | None
    """The called function or the imported module."""

    @property
    def is_import(self) -> bool:
        """Whether the line imports a package that is not part of the check."""
        return names_import(self.call)


def names_import(call: str | None) -> bool:
    """Return whether a call, or the end of a chain, is really an import of a package."""
    return call is not None and call.startswith("import ")


class Origins:
    """Finds the line that each finding comes from, and the findings that share one."""

    def __init__(self, modules: Iterable[CheckedModule]) -> None:
        self._modules: Mapping[str, CheckedModule] = {module.path: module for module in modules}

    def audience(self, finding: Finding) -> Audience:
        """Return the audience of the module that has the finding."""
        module = self._modules.get(finding.path)
        if module is not None:
            return module.audience
        return Audience.TEST if finding.test else Audience.LIBRARY

    def of(self, finding: Finding) -> Origin:
        """Return the line that a finding comes from: a call, or the import of a package outside the check."""
        return self._last_checked(
            finding, finding.ahead.chain if finding.ahead is not None else finding.chain
        )

    def then(self, finding: Finding) -> Origin | None:
        """Return the line at the end of a finding's own chain, if an earlier line always wakes the device."""
        return None if finding.ahead is None else self._last_checked(finding, finding.chain)

    def _last_checked(self, finding: Finding, chain: Chain) -> Origin:
        steps = chain.steps
        for index in range(len(steps) - 1, -1, -1):
            step = steps[index]
            if step.path is not None and step.line is not None and self._is_checked(step.path):
                call = _called(steps[index + 1]) if index + 1 < len(steps) else None
                return Origin(step.path, step.line, step.text, step.symbol, call)
        return Origin(finding.path, finding.line, finding.text, finding.module, None)

    def groups(self, findings: Iterable[Finding]) -> list[tuple[Origin, list[Finding]]]:
        """Return the findings of each line; those of a program all belong to its first waking line."""
        groups: dict[Key, list[Finding]] = {}
        keys = {finding.id: self._key(finding) for finding in findings}
        later: set[str] = set()
        for first, others in self._programs(findings):
            keys.update((other.id, keys[first.id]) for other in others)
            later.update(other.id for other in others)
        for finding in findings:
            groups.setdefault(keys[finding.id], []).append(finding)
        made = []
        for key, members in groups.items():
            members.sort(key=lambda one: (one.id in later, *self._urgency(one)))
            own = next(finding for finding in members if self._key(finding) == key)
            made.append((self.of(own), members))
        return made

    def is_consequence(self, finding: Finding, origin: Origin) -> bool:
        """Return True if the finding is an import that merely leads to another line of the checked code."""
        return finding.chain.by_import and (finding.path, finding.line) != (origin.path, origin.line)

    def _key(self, finding: Finding) -> Key:
        origin = self.of(finding)
        return origin.path, origin.line, finding.accelerator or finding.rule

    def _is_checked(self, path: str) -> bool:
        return not self._modules or path in self._modules

    def _programs(self, findings: Iterable[Finding]) -> Iterable[tuple[Finding, list[Finding]]]:
        """Yield each unimported program's first waking finding, and its later ones."""
        programs: dict[tuple[str, str], list[Finding]] = {}
        for finding in findings:
            module = self._modules.get(finding.path)
            if module is None or module.imported or module.audience is Audience.LIBRARY:
                continue
            if finding.accelerator is not None:
                programs.setdefault((finding.path, finding.accelerator), []).append(finding)
        for members in programs.values():
            first = min(
                members,
                key=lambda one: (not wakes(one), -one.verdict.rank, one.turn, one.line, one.column),
            )
            # Other findings on the same line are kept, because they depend on another condition.
            yield first, [one for one in members if one is not first and one.line != first.line]

    def _urgency(self, finding: Finding) -> tuple[object, ...]:
        """Return a sort key for findings: surest first, then those nearest to the waking line."""
        origin = self.of(finding)
        return (
            not wakes(finding),
            -finding.verdict.rank,
            self.is_consequence(finding, origin),
            finding.effect != "creates-context",
            self.audience(finding).rank,
            (finding.path != origin.path, finding.line != origin.line),
            len(finding.chain.steps),
            finding.path,
            finding.line,
        )


def wakes(finding: Finding) -> bool:
    """Return whether the finding's effect wakes the device."""
    return finding.effect in WAKING


def _called(step: Step) -> str:
    return f"import {step.symbol}" if step.kind is StepKind.IMPORT else step.symbol
