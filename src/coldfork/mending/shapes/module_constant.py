"""A module's constant: a function that computes it once, called by whoever read the constant.

Other modules that read it as an attribute get it through the module's `__getattr__` (PEP 562). One that takes
it by `from` reads it when it is imported itself: there the fix would do nothing, and is refused.
"""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft, inline, with_import
from coldfork.mending.expressions import BY_NAME, doubts, require_movable
from coldfork.mending.project import Case, Reader
from coldfork.mending.site import Use, bindings, bound, target_of
from coldfork.mending.text import BESIDE, CannotMend, Replacement, SourceText

_APART = 2


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Put a cached function in the constant's place."""
    tree, source = case.tree, case.tree.source
    statement, name, value = _constant(case, node)
    require_movable(value)
    uses = [use for use in tree.uses(name) if isinstance(use.node.ctx, ast.Load)]
    _refuse_eager(name, uses)
    readers = list(case.project.readers(case.finding.module, name))
    for reader in readers:
        if reader.eager:
            raise CannotMend(f"{reader.path}:{reader.line} reads `{name}` when it is imported")
    function = _free_name(case, name)
    comment = source.comment_behind(statement)
    line = source.newline
    rows = ["@functools.cache", f"def {function}():", f"    return {inline(source, value)}{comment}"]
    if not name.startswith("_") or readers:
        rows += _module_getattr(name, function)
    before, after = _blank_lines(source, statement)
    written = line * before + line.join(rows) + line * after
    last = statement.end_lineno or statement.lineno
    end = source.line_start(last) + len(source.line(last))
    edits = [Replacement(source.line_start(statement.lineno), end, written), *with_import(tree, "functools")]
    edits += (Replacement(*source.span(use.node), f"{function}()") for use in uses)
    return Draft(tuple(edits), tuple(doubts(case, value) + _doubts(case, name, readers, uses)))


def _constant(case: Case, node: ast.expr | ast.stmt) -> tuple[ast.stmt, str, ast.expr]:
    tree = case.tree
    statement = tree.statement(node)
    if not isinstance(tree.parents[statement], ast.Module):
        raise CannotMend("it stands in a block of the module")
    value = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is None:
        raise CannotMend("it is no assignment")
    name = target_of(statement)
    if name is None:
        raise CannotMend("it is not the value of one name")
    if bindings(tree, name) > 1:
        raise CannotMend(f"`{name}` is bound more than once")
    if "__getattr__" in bound(tree.root):
        raise CannotMend("the module has a `__getattr__` of its own")
    if statement.col_offset:
        raise CannotMend(BESIDE)
    return statement, name, value


def _refuse_eager(name: str, uses: list[Use]) -> None:
    for use in uses:
        if not use.deferred:
            raise CannotMend(f"line {use.node.lineno} reads `{name}` when the module is imported")


def _free_name(case: Case, name: str) -> str:
    wanted = f"_{name.strip('_').lower()}"
    taken = {each.id for each in ast.walk(case.tree.root) if isinstance(each, ast.Name)}
    taken |= {each.arg for each in ast.walk(case.tree.root) if isinstance(each, ast.arg)}
    taken |= bound(case.tree.root)
    for candidate in (wanted, f"{wanted}_once"):
        if candidate not in taken and candidate.isidentifier():
            return candidate
    raise CannotMend(f"the file uses the name `{wanted}` already")


def _blank_lines(source: SourceText, statement: ast.stmt) -> tuple[int, int]:
    """How many lines a function needs above and below it in the statement's place, to stand apart."""
    above, below = statement.lineno - 1, (statement.end_lineno or statement.lineno) + 1
    is_commented = above > 0 and source.line(above).startswith("#")
    missing = []
    for line, onwards in ((above, -1), (below, 1)):
        blank = 0
        while 0 < line <= source.length and blank < _APART and not source.line(line).strip():
            blank, line = blank + 1, line + onwards
        missing.append(_APART - blank if 0 < line <= source.length else 0)
    return 0 if is_commented else missing[0], missing[1]


def _module_getattr(name: str, function: str) -> list[str]:
    return [
        "",
        "",
        "def __getattr__(name):",
        f'    if name == "{name}":',
        f"        return {function}()",
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
    ]


def _doubts(case: Case, name: str, readers: list[Reader], uses: list[Use]) -> list[str]:
    changing = [reader for reader in readers if reader.changes]
    found = [f"{reader.path}:{reader.line} may put something else in its place" for reader in changing[:1]]
    found += (f"`{each}` may read it by its name" for each in BY_NAME if case.tree.uses(each))
    if not uses and not readers:
        found.append(f"nobody here reads `{name}`")
    return found
