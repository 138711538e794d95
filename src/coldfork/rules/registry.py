"""The list of rules, and how they judge an observation; rules are loaded on demand."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from coldfork.model.errors import ColdforkError, UsageError
from coldfork.model.observations import Faults, IgnoreComment, Observation
from coldfork.model.terms.grades import Audience

if TYPE_CHECKING:
    from coldfork.model.findings import Finding, Severity
    from coldfork.rules.findings.drafting import Case

UNUSED_IGNORE = "unused-ignore"

#: Rules that judge how processes are started; for them, programs are followed as well.
PROCESSES = (
    "fork-after-device-init",
    "missing-main-guard",
    "unpicklable-target",
    "start-method-in-library",
    "start-method-too-late",
    "default-start-method",
    "mixed-contexts",
    "daemonic-worker-with-children",
    "visibility-too-late",
    "initialised-flag-as-fork-guard",
)
#: All rules, in the order in which newcomers should read about them.
NAMES = (
    "device-init-at-import",
    "driver-init-at-import",
    "waking-import",
    "eager-reexport",
    "device-query-at-import",
    *PROCESSES,
    UNUSED_IGNORE,
    "unreadable-source",
)

#: Rules of which no finding is mended; their pages say why.
UNMENDED = frozenset({"eager-reexport", "initialised-flag-as-fork-guard", "unreadable-source"})

#: Removed rules; if a configuration or comment names one, the error message explains why it is gone.
REMOVED = (
    "capture-before-warmup",
    "capture-reuses-warmup-state",
    "lazy-init-in-captured-region",
    "sync-in-captured-region",
)


class Rule(Protocol):
    """The interface of each rule's module, whose docstring is the rule's page."""

    NAME: str
    """In kebab-case, so that it can follow "allow ..."."""
    SEVERITY: Severity
    """The rule's highest severity."""

    def judge(self, case: Case) -> Iterator[Finding]:
        """Yield this rule's findings, without ids."""


class Judgement(NamedTuple):
    """The findings of the rules, and those that ignore comments suppressed."""

    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]


def rule(name: str) -> Rule:
    """Import the module of one rule."""
    if name not in NAMES:
        raise UsageError(unknown((name,)))
    return cast(Rule, importlib.import_module(module_of(name)))


def module_of(name: str) -> str:
    """Return the dotted name of a rule's module."""
    folder = "coldfork.rules.processes" if name in PROCESSES else "coldfork.rules"
    return f"{folder}.{name.replace('-', '_')}"


def selection(only: Iterable[str] = (), without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names of the rules to run, in the registry's order; for an unknown name, raise an error with
    a hint.
    """
    wanted, unwanted = set(only), set(without)
    if unknown_names := (wanted | unwanted) - set(NAMES):
        raise UsageError(unknown(sorted(unknown_names)))
    return tuple(name for name in NAMES if (not wanted or name in wanted) and name not in unwanted)


def judge(
    observation: Observation, names: Sequence[str] = NAMES, remedies: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Run the named rules and return the findings that no ignore comment suppresses, sorted by place."""
    return judge_all(observation, names, remedies).findings


def judge_all(
    observation: Observation,
    names: Sequence[str] = NAMES,
    remedies: Mapping[str, str] | None = None,
    faults: Faults | None = None,
) -> Judgement:
    """Run the named rules; suppressed findings are returned separately."""
    if not (observation.effects or observation.unreadable or observation.ignores):
        return Judgement((), ())  # most checks find nothing, and need no rule for that
    from coldfork.rules.findings import drafting, suppression

    faults = faults or Faults()
    programs = [module.name for module in observation.modules if module.audience is Audience.SCRIPT]
    case = drafting.Case(observation, remedies or {}, programs=frozenset(programs))
    judged = drafting.identify(
        finding
        for name in NAMES
        if name in names and name != UNUSED_IGNORE
        for finding in _judged(rule(name), case, faults)
    )
    outcome = faults.attempt(
        lambda: suppression.sort_out(judged, observation.ignores), suppression.Sorted(tuple(judged), (), ())
    )
    # If coldfork failed in a rule, a comment that seems idle may belong to a finding that was lost.
    if UNUSED_IGNORE not in names or not outcome.leftovers or faults.noted:
        return Judgement(outcome.kept, outcome.ignored)
    idle = replace(case, idle_ignores=_reportable(outcome.leftovers, names))
    complaints = drafting.identify(_judged(rule(UNUSED_IGNORE), idle, faults))
    listed = sorted(outcome.kept + complaints, key=drafting.place)
    return Judgement(tuple(listed), outcome.ignored)


def _judged(one: Rule, case: Case, faults: Faults) -> list[Finding]:
    """Return a rule's findings; if coldfork fails on one effect, those for all other effects."""
    try:
        return list(one.judge(case))
    except ColdforkError:
        raise
    except Exception as problem:
        failed = problem
    before, seen = len(faults.noted), case.observation
    findings: list[Finding] = []
    rest = replace(case, observation=replace(seen, effects=()))
    findings += faults.attempt(partial(_listed, one, rest), [])
    for effect in seen.effects:
        alone = replace(case, observation=replace(seen, effects=(effect,), unreadable=()), idle_ignores=())
        findings += faults.attempt(
            partial(_listed, one, alone), [], effect.module, effect.path, effect.line, one.NAME
        )
    if len(faults.noted) == before:  # no effect fails alone, or the fault is already on record
        faults.note(failed)
    return findings


def _listed(one: Rule, case: Case) -> list[Finding]:
    return list(one.judge(case))


def near_match(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that was probably meant; None if none is close."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)), None)


def _reportable(leftovers: Iterable[IgnoreComment], names: Sequence[str]) -> tuple[IgnoreComment, ...]:
    """Return the comments that may be called idle; for rules that did not run, this is unknown."""
    unasked = frozenset(NAMES) - frozenset(names)
    reportable = []
    for comment in leftovers:
        if UNUSED_IGNORE in comment.rules:
            continue
        if not comment.rules:
            reportable += [] if unasked else [comment]
        elif idle := tuple(name for name in comment.rules if name not in unasked):
            reportable.append(replace(comment, rules=idle))
    return tuple(reportable)


def unknown(names: Iterable[str]) -> str:
    """Return a sentence that says that no rules have these names, and names the closest rules."""
    return "; ".join(map(_unknown, names))


def _unknown(name: str) -> str:
    if name in REMOVED:
        return (
            f"the rule {name!r} was removed: coldfork.graphs.assert_replayable finds such faults at run time"
        )
    match = near_match(name, NAMES)
    return f"there is no rule {name!r}; " + (
        f"did you mean {match}?" if match else "`coldfork rule` lists them all"
    )


#: The sections of every page, in order.
SECTIONS = (
    "What it does",
    "Why is this bad",
    "Example",
    "Use instead",
    "Fix safety",
    "How it is seen",
    "References",
)


class Page(NamedTuple):
    """The documentation page of one rule."""

    name: str
    severity: Severity
    summary: str
    markdown: str


def page(name: str) -> Page:
    """Return the documentation page of one rule; for an unknown name, raise an error with a hint."""
    module = rule(name)
    text = inspect.cleandoc(module.__doc__ or _docstring_from_source(name))
    return Page(name, module.SEVERITY, text.partition("\n")[0], f"# {name}\n\n{text}\n")


def pages() -> tuple[Page, ...]:
    """Return the pages of all rules, in registry order."""
    return tuple(page(name) for name in NAMES)


def _docstring_from_source(name: str) -> str:
    # `python -OO` drops docstrings; the page is then read from the source file.
    from importlib.util import find_spec

    spec = find_spec(module_of(name))
    if spec is None or spec.origin is None:
        return ""
    return ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
