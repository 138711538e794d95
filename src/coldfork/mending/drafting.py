"""Drafts the fix of a cause: each finding has a shape, and one module for each shape drafts the edits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from coldfork.mending.deferral import Deferral
from coldfork.mending.draft import Draft
from coldfork.mending.project import Case, Project
from coldfork.mending.rewriting import write
from coldfork.mending.shapes import (
    available_device,
    chosen_device,
    class_attribute,
    closure_class,
    daemon,
    decorator,
    default_argument,
    earlier_statement,
    local_function,
    main_guard,
    start_context,
)
from coldfork.mending.site import Tree
from coldfork.mending.text import CannotMend, Replacement, replaced
from coldfork.model.causes import Applicability, Audience, Cause, Edit, Fix, Refusal
from coldfork.model.effects import Position
from coldfork.model.findings import Finding

_AT_IMPORT = frozenset({"device-init-at-import", "device-query-at-import", "driver-init-at-import"})
_STARTED = frozenset({Audience.EXAMPLE, Audience.TEST})
"""The audiences of code that is not part of the package and is started by its path."""
Shape = Callable[[Case, ast.expr | ast.stmt], Draft]
_SHAPES: Mapping[str, Shape] = {
    Position.CLASS_BODY: class_attribute.draft,
    Position.DEFAULT_ARGUMENT: default_argument.draft,
}
_STARTS: Mapping[str, Shape] = {
    "daemonic-worker-with-children": daemon.draft,
    "default-start-method": start_context.draft,
    "fork-after-device-init": start_context.draft,
    "missing-main-guard": main_guard.draft,
    "mixed-contexts": start_context.draft_shared,
    "start-method-in-library": start_context.draft_unset,
    "start-method-too-late": earlier_statement.draft,
    "visibility-too-late": chosen_device.draft,
}
_MANY = 3
"""This many calls through one function are mended in the function."""
NOT_KEPT = "its fix would cause another finding, or not remove this one"
_NO_SHAPE = "there is no fix for this shape of line yet"


def fix_of(
    cause: Cause,
    findings: Mapping[str, Finding],
    project: Project,
    passed: int = 0,
    careful: bool = False,
) -> Fix | Refusal:
    """Draft the edits that mend all findings of a cause, with any reasons against them.

    If `careful`, longer edits that are safe come before shorter ones that are not. The first `passed` of its
    possible fixes are skipped, because they have been tried. If none is left, the first refusal gives the
    reason.
    """
    sites = _sites(cause, findings)
    ways = [lambda: _drafts(sites, project)]
    if careful:
        kept = _composed(cause, lambda: _drafts(sites, project, keeps=True), project)
        if isinstance(kept, Fix) and kept.applicability is Applicability.SAFE:
            return Refusal(cause.id, NOT_KEPT) if passed else kept
    if cause.call == available_device.ASKED:
        ways.insert(0 if len(sites) >= _MANY else 1, lambda: _asked_otherwise(cause, project))
    if cause.audience in _STARTED:
        ways.append(lambda: _guarded(sites, project))
    answers = [_composed(cause, way, project) for way in ways]
    fixes = [each for each in answers if isinstance(each, Fix)]
    if passed < len(fixes):
        return fixes[passed]
    return Refusal(cause.id, NOT_KEPT) if fixes else next(one for one in answers if isinstance(one, Refusal))


def _asked_otherwise(cause: Cause, project: Project) -> list[tuple[str, Draft]]:
    return [(cause.path, available_device.draft(project.tree(cause.path), cause.line))]


def _guarded(sites: list[Finding], project: Project) -> list[tuple[str, Draft]]:
    """Return the drafts that put what programs do under a main guard, each from its first waking line on."""
    drafts = []
    for path in dict.fromkeys(finding.path for finding in sites):
        first = min((one for one in sites if one.path == path), key=lambda one: one.line)
        if first.rule not in _AT_IMPORT:
            raise CannotMend(_NO_SHAPE)
        tree = project.tree(path)
        node = tree.place(first.line, first.column)
        drafts.append((path, main_guard.draft_program(Case(first, tree, project), node)))
    return drafts


def _composed(
    cause: Cause, drafted: Callable[[], list[tuple[str, Draft]]], project: Project
) -> Fix | Refusal:
    try:
        drafts = drafted()
        edits: list[Edit] = []
        by_path: dict[str, list[Replacement]] = {}
        shares: set[str] = set()
        for path, draft in drafts:
            by_path.setdefault(path, []).extend(draft.replacements)
            if draft.adds:
                shares.add(f"{path}:{draft.adds}")
                by_path[path] = _once(by_path[path], draft.adds)
            if draft.name:
                shares.add(f"{path}:{draft.name}")
        for path, replacements in by_path.items():
            source = project.tree(path).source
            replaced(source, replacements)
            edits += [source.edit(path, each) for each in sorted(set(replacements))]
    except CannotMend as error:
        return Refusal(cause.id, str(error))
    if not edits:
        return Refusal(cause.id, _NO_SHAPE)
    shown = next((draft.shown for _, draft in drafts if draft.shown), "")
    if shown:
        return Fix(cause.id, Applicability.SHOWN, shown, tuple(edits))
    doubts = [doubt for _, draft in drafts for doubt in draft.doubts]
    applicability = Applicability.UNSAFE if doubts else Applicability.SAFE
    return Fix(cause.id, applicability, doubts[0] if doubts else "", tuple(edits), frozenset(shares))


def _sites(cause: Cause, findings: Mapping[str, Finding]) -> list[Finding]:
    """Return the findings whose own lines have to be mended; their importers then become cold as well."""
    found = [findings[name] for name in cause.findings if name in findings]
    return [
        finding
        for finding in found
        if finding is found[0] or (finding.rule in _AT_IMPORT and finding.leads_to(cause))
    ]


def _drafts(sites: list[Finding], project: Project, keeps: bool = False) -> list[tuple[str, Draft]]:
    """Return the drafts for these findings; all deferred statements share one draft."""
    deferral = Deferral(project)
    drafts: list[tuple[str, Draft]] = []
    case: Case | None = None
    for finding in sites:
        tree = project.tree(finding.path)
        node = tree.place(finding.line, finding.column)
        case = Case(finding, tree, project)
        if finding.rule == "unpicklable-target":
            drafts.append(_sendable(case, node))
            continue
        shape = _shape(case, node)
        if shape is not None:
            drafts.append((finding.path, shape(case, node)))
            if shape is start_context.draft and local_function.is_needed(case):
                drafts.append(local_function.draft(case, node))
        else:
            deferral = _deferred(deferral, finding, tree, tree.statement(node), project)
    return drafts + (write(deferral, case, keeps) if case is not None and deferral.chosen else [])


def _sendable(case: Case, node: ast.expr | ast.stmt) -> tuple[str, Draft]:
    """Return the draft that makes what is sent picklable: a class where a function only makes it, or else a
    function of the module.
    """
    try:
        return closure_class.draft(case)
    except CannotMend:
        return local_function.draft(case, node)


def _shape(case: Case, node: ast.expr | ast.stmt) -> Shape | None:
    """Return the shape of a line that can be mended where it is; None if the line must be deferred."""
    rule, position = case.finding.rule, case.finding.position
    if rule in _STARTS:
        return _STARTS[rule]
    if rule in _AT_IMPORT:
        if position is not None and position in _SHAPES:
            return _SHAPES[position]
        if position == Position.DECORATOR and decorator.is_only_called(case, node):
            return decorator.draft
    elif rule != "waking-import":
        raise CannotMend(_NO_SHAPE)
    if position not in (Position.MODULE, Position.IMPORT, Position.DECORATOR):
        raise CannotMend(_NO_SHAPE)
    return None


def _deferred(
    deferral: Deferral, finding: Finding, tree: Tree, statement: ast.stmt, project: Project
) -> Deferral:
    """Defer a statement; for an import, if possible also the neighbouring imports from the same package."""
    beside = deferral.copy()
    try:
        for each in _imports_beside(tree, statement):
            beside.add(finding.module, finding.path, each, first=True)
    except CannotMend:
        deferral.add(finding.module, finding.path, statement, first=True)
        return deferral
    return beside


def _imports_beside(tree: Tree, statement: ast.stmt) -> list[ast.stmt]:
    parent = tree.parents[statement]
    body = getattr(parent, "body", [])
    package = _package(statement)
    if package is None or statement not in body:
        return [statement]
    return [each for each in body if _package(each) == package]


def _package(statement: ast.stmt) -> str | None:
    """Return the top-level package that an import statement names."""
    if isinstance(statement, ast.ImportFrom) and not statement.level:
        return (statement.module or "").partition(".")[0]
    return statement.names[0].name.partition(".")[0] if isinstance(statement, ast.Import) else None


def _once(replacements: list[Replacement], text: str) -> list[Replacement]:
    """Return the replacements; this text is inserted only at the first of its places."""
    first = min(each for each in replacements if each.text == text)
    return [each for each in replacements if each.text != text or each == first]
