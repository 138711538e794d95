"""A statement that comes too late, moved above the one that it should precede."""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft
from coldfork.mending.project import Case
from coldfork.mending.site import Tree, bound, loads
from coldfork.mending.text import BESIDE, CannotMend, Replacement


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Move the statement above the one that needs its effect."""
    tree, source = case.tree, case.tree.source
    statement = tree.statement(node)
    body: list[ast.stmt] = getattr(tree.parents[statement], "body", [])
    if statement not in body or not isinstance(statement, (ast.Expr, ast.Assign)):
        raise CannotMend("the statement stands in a block that does more")
    before = _before(case, body)
    if body.index(before) >= body.index(statement):
        raise CannotMend("the statement to move it above is in another function")
    between = body[body.index(before) : body.index(statement)]
    names = bound(ast.Module(between, []))
    for name in loads(statement):
        if name.id in names:
            raise CannotMend(f"it needs `{name.id}`, which is bound in between")
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    start, end = source.line_start(first), source.line_start(last + 1)
    source.comment_behind(statement)
    if source.text[start : source.span(statement)[0]].strip():
        raise CannotMend(BESIDE)
    text = source.text[start:end]
    above = source.line_start(_first_line(tree, before))
    text = text if text.endswith(("\n", "\r")) else f"{text}{source.newline}"
    edits = (Replacement(above, above, text), Replacement(start, end, ""))
    return Draft(edits, ("what runs in between may have been meant to come first",))


def _before(case: Case, body: list[ast.stmt]) -> ast.stmt:
    """Return the statement of the same block that woke the device, or started a process, too early."""
    lines = [
        step.line
        for way in case.finding.ways
        for step in way.chain.steps
        if way.role == "before" and step.path == case.finding.path and step.line is not None
    ]
    for each in body:
        if any(_first_line(case.tree, each) <= line <= (each.end_lineno or 0) for line in lines):
            return each
    raise CannotMend("the statement to move it above is in another function")


def _first_line(tree: Tree, statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    line = min([statement.lineno, *(each.lineno for each in decorators)])
    while line > 1 and tree.source.line(line - 1).lstrip().startswith("#"):
        line -= 1
    return line
