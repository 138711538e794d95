"""A program without a main guard: its statements, up to the next definition, are put below one."""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft, indented
from coldfork.mending.project import Case
from coldfork.mending.site import bound
from coldfork.mending.text import CannotMend, Replacement

_DEFINING = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Import, ast.ImportFrom)


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Put the statement that starts processes, and those after it, below a main guard."""
    tree, source = case.tree, case.tree.source
    top = tree.top(node)
    body = tree.root.body
    at = body.index(top)
    if isinstance(top, _DEFINING):
        raise CannotMend("an import or a definition reaches it")
    following = next((n for n, each in enumerate(body) if n > at and isinstance(each, _DEFINING)), len(body))
    guarded = body[at:following]
    names = bound(ast.Module(guarded, []))
    for use in (use for name in names for use in tree.uses(name) if isinstance(use.node.ctx, ast.Load)):
        if use.deferred or tree.top(use.node) not in guarded:
            raise CannotMend(f"line {use.node.lineno} needs `{use.node.id}`")
    last = guarded[-1]
    source.comment_behind(last)
    start = source.line_start(top.lineno)
    end = source.line_start(last.end_lineno or 0) + len(source.line(last.end_lineno or 0))
    line = source.newline
    text = f'if __name__ == "__main__":{line}{indented(source.text[start:end], line)}'
    return Draft((Replacement(start, end, text),), ("other statements may belong below the guard, too",))
