"""A program without a main guard; its statements, up to the next definition, are put under one."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from pathlib import Path

from coldfork.mending.draft import Draft, indented
from coldfork.mending.project import Case
from coldfork.mending.site import Tree, bound, loads
from coldfork.mending.text import CannotMend, Replacement

_DEFINING = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Import, ast.ImportFrom)
#: The files in which pytest looks for tests, unless it is told otherwise.
_COLLECTED = ("test_*.py", "*_test.py", "conftest.py")


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Put the statement that starts processes, and those after it, under a main guard."""
    tree = case.tree
    body = tree.root.body
    first = _run(body, tree.top(node))
    _refuse_other_needs(tree, first)
    return Draft((_below_guard(tree, first),), ("other statements may belong below the guard, too",))


def draft_program(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Put everything that a program does from this statement on, even between definitions, under a main
    guard.

    The guard opens no scope, so the program still does the same when it is run, but not when it is imported.
    """
    tree, project = case.tree, case.project
    if case.finding.module.endswith("__main__"):
        raise CannotMend("it is the program itself")
    if any(fnmatch(Path(case.finding.path).name, pattern) for pattern in _COLLECTED):
        raise CannotMend("pytest imports it to find tests")
    if (importer := project.importer(case.finding.module)) is not None:
        raise CannotMend(f"{importer} imports it")
    body = tree.root.body
    runs = [_run(body, tree.top(node))]
    for each in body[body.index(runs[0][-1]) + 1 :]:
        guarded = [statement for run in runs for statement in run]
        names = {name.id for name in loads(each)}
        if each not in guarded and not isinstance(each, _DEFINING) and names & bound(ast.Module(guarded, [])):
            runs.append(_run(body, each))
    _refuse_other_needs(tree, [statement for run in runs for statement in run])
    edits = tuple(_below_guard(tree, run) for run in runs)
    return Draft(edits, ("an import of it no longer runs these statements",))


def _run(body: list[ast.stmt], top: ast.stmt) -> list[ast.stmt]:
    """Return a statement and those after it, up to the next definition."""
    if isinstance(top, _DEFINING):
        raise CannotMend("an import or a definition reaches it")
    at = body.index(top)
    following = next((n for n, each in enumerate(body) if n > at and isinstance(each, _DEFINING)), len(body))
    return body[at:following]


def _refuse_other_needs(tree: Tree, guarded: list[ast.stmt]) -> None:
    names = bound(ast.Module(guarded, []))
    for use in (use for name in names for use in tree.uses(name) if isinstance(use.node.ctx, ast.Load)):
        if use.deferred or tree.top(use.node) not in guarded:
            raise CannotMend(f"line {use.node.lineno} needs `{use.node.id}`")


def _below_guard(tree: Tree, run: list[ast.stmt]) -> Replacement:
    source, last = tree.source, run[-1]
    source.comment_behind(last)
    start = source.line_start(run[0].lineno)
    end = source.line_start(last.end_lineno or 0) + len(source.line(last.end_lineno or 0))
    line = source.newline
    text = f'if __name__ == "__main__":{line}{indented(source.text[start:end], line)}'
    return Replacement(start, end, text)
