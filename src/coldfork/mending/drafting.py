"""From a cause to its fix: each of its findings has a shape, and the shape a module that drafts for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coldfork.mending.draft import Draft
from coldfork.mending.project import Case, Project
from coldfork.mending.shapes import class_attribute, default_argument, module_constant, waking_import
from coldfork.mending.text import CannotMend, Replacement, replaced
from coldfork.model.causes import Applicability, Cause, Edit, Fix, Refusal
from coldfork.model.effects import Position
from coldfork.model.findings import Finding

_AT_IMPORT = frozenset({"device-init-at-import", "device-query-at-import", "driver-init-at-import"})
_SHAPES: Mapping[str, Callable[..., Draft]] = {
    Position.CLASS_BODY: class_attribute.draft,
    Position.DEFAULT_ARGUMENT: default_argument.draft,
    Position.MODULE: module_constant.draft,
}
_NO_SHAPE = "there is none for a line of this shape yet"


def fix_of(cause: Cause, findings: Mapping[str, Finding], project: Project) -> Fix | Refusal:
    """Draft the edits that mend all findings of a cause, with what speaks against them."""
    edits: list[Edit] = []
    doubts: list[str] = []
    group = ""
    by_path: dict[str, list[Replacement]] = {}
    try:
        for finding in _sites(cause, findings):
            draft = _draft(finding, project)
            by_path.setdefault(finding.path, []).extend(draft.replacements)
            doubts += draft.doubts
            if draft.adds:
                group = f"{finding.path}:{draft.adds}"
                by_path[finding.path] = _once(by_path[finding.path], draft.adds)
        for path, replacements in by_path.items():
            source = project.tree(path).source
            replaced(source, replacements)
            edits += [source.edit(path, each) for each in sorted(set(replacements))]
    except CannotMend as error:
        return Refusal(cause.id, str(error))
    if not edits:
        return Refusal(cause.id, _NO_SHAPE)
    applicability = Applicability.UNSAFE if doubts else Applicability.SAFE
    return Fix(cause.id, applicability, doubts[0] if doubts else "", tuple(edits), group)


def _sites(cause: Cause, findings: Mapping[str, Finding]) -> list[Finding]:
    """The findings whose own lines are to be mended: imports on the way are cold then."""
    found = [findings[name] for name in cause.findings if name in findings]
    return [
        finding
        for finding in found
        if finding is found[0] or (finding.rule in _AT_IMPORT and finding.leads_to(cause))
    ]


def _draft(finding: Finding, project: Project) -> Draft:
    tree = project.tree(finding.path)
    node = tree.place(finding.line, finding.column)
    case = Case(finding, tree, project)
    if finding.rule == "waking-import":
        return waking_import.draft(case, node)
    shape = _SHAPES.get(finding.position or "") if finding.rule in _AT_IMPORT else None
    if shape is None:
        raise CannotMend(_NO_SHAPE)
    return shape(case, node)


def _once(replacements: list[Replacement], text: str) -> list[Replacement]:
    """The same with only the first of the places at which a text is inserted."""
    first = min(each for each in replacements if each.text == text)
    return [each for each in replacements if each.text != text or each == first]
