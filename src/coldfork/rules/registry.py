"""The list of rules, and how they judge an observation; rules load on demand."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from coldfork.model.causes import Audience
from coldfork.model.errors import ColdforkError, UsageError
from coldfork.model.findings import Finding, Severity
from coldfork.model.observations import Faults, IgnoreComment, Observation
from coldfork.rules.findings import drafting, suppression
from coldfork.rules.findings.drafting import Case

UNUSED_IGNORE = "unused-ignore"

#: The rules that judge how processes are started, including by programs.
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
#: Every rule, in the order in which a newcomer should meet them.
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

#: Removed rules, so that a configuration or a comment that still names one gets an explanation.
REMOVED = (
    "capture-before-warmup",
    "capture-reuses-warmup-state",
    "lazy-init-in-captured-region",
    "sync-in-captured-region",
)


class Rule(Protocol):
    """The interface of a rule's module; its docstring is the rule's page."""

    NAME: str
    """Kebab-case; it reads after "allow ..."."""
    SEVERITY: Severity
    """The rule's highest severity."""

    def judge(self, case: Case) -> Iterator[Finding]:
        """Yield findings, still without ids."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings of the rules, and those that ignore comments suppressed."""

    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]


def rule(name: str) -> Rule:
    """Import one rule."""
    if name not in NAMES:
        raise UsageError(unknown((name,)))
    return cast(Rule, importlib.import_module(module_of(name)))


def module_of(name: str) -> str:
    """Return the module of a rule."""
    folder = "coldfork.rules.processes" if name in PROCESSES else "coldfork.rules"
    return f"{folder}.{name.replace('-', '_')}"


def selection(only: Iterable[str] = (), without: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the names to run, in the registry's order; an unknown one is refused, with a near match."""
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
    """Run the named rules; ignored findings are kept separately, not dropped."""
    faults = faults or Faults()
    programs = [module.name for module in observation.modules if module.audience is Audience.SCRIPT]
    case = Case(observation, remedies or {}, programs=frozenset(programs))
    judged = drafting.identify(
        finding
        for name in NAMES
        if name in names and name != UNUSED_IGNORE
        for finding in _judged(rule(name), case, faults)
    )
    outcome = faults.attempt(
        lambda: suppression.sort_out(judged, observation.ignores), suppression.Sorted(tuple(judged), (), ())
    )
    # If a rule failed, a comment may be for a finding that it would have made.
    if UNUSED_IGNORE not in names or not outcome.leftovers or faults.noted:
        return Judgement(outcome.kept, outcome.ignored)
    idle = replace(case, idle_ignores=_reportable(outcome.leftovers, names))
    complaints = drafting.identify(_judged(rule(UNUSED_IGNORE), idle, faults))
    listed = sorted(outcome.kept + complaints, key=drafting.place)
    return Judgement(tuple(listed), outcome.ignored)


def _judged(one: Rule, case: Case, faults: Faults) -> list[Finding]:
    """Return the findings of a rule; if coldfork fails at an effect, those of all others."""
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
    if len(faults.noted) == before:  # the reason is their number, or a fault noted by the other
        faults.note(failed)
    return findings


def _listed(one: Rule, case: Case) -> list[Finding]:
    return list(one.judge(case))


def near_match(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that was probably meant."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)), None)


def _reportable(leftovers: Iterable[IgnoreComment], names: Sequence[str]) -> tuple[IgnoreComment, ...]:
    """Drop what this run cannot know: a rule that did not run may still need its comment."""
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
    """Return a sentence that there are no rules of these names, each with its near match."""
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


#: The sections that every page has, in this order.
SECTIONS = (
    "What it does",
    "Why is this bad",
    "Example",
    "Use instead",
    "Fix safety",
    "How it is seen",
    "References",
)


@dataclass(frozen=True, slots=True)
class Page:
    """One rule's page, as users read it."""

    name: str
    severity: Severity
    summary: str
    markdown: str


def page(name: str) -> Page:
    """Return the page of one rule; an unknown name is refused, with a near match."""
    module = rule(name)
    text = inspect.cleandoc(module.__doc__ or _docstring_from_source(name))
    return Page(name, module.SEVERITY, text.partition("\n")[0], f"# {name}\n\n{text}\n")


def pages() -> tuple[Page, ...]:
    """Return all pages, in the registry's order."""
    return tuple(page(name) for name in NAMES)


def _docstring_from_source(name: str) -> str:
    # `python -OO` drops docstrings; the source still has them.
    from importlib.util import find_spec

    spec = find_spec(module_of(name))
    if spec is None or spec.origin is None:
        return ""
    return ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
