"""The draft of a fix: replacements in one file, and reasons against applying them automatically."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from coldfork.mending.site import Function, Tree, bound
from coldfork.mending.text import CannotMend, Replacement, SourceText

STEP = "    "
_APART = 2


@dataclass(frozen=True, slots=True)
class Draft:
    """Replacements in the file of a finding, with doubts about them."""

    replacements: tuple[Replacement, ...]
    doubts: tuple[str, ...] = ()
    """Reasons why the code may behave differently afterwards, which make the fix unsafe."""
    adds: str = ""
    """A text that the draft inserts for several to share; it is needed only once, above all of them."""
    name: str = ""
    """A name that it adds to the module, which can have it only once."""
    shown: str = ""
    """The step that is left to the author; a fix with such a step is never applied."""


def above_body(tree: Tree, function: Function) -> tuple[int, str]:
    """Return where to insert a line at the top of a function's body, and the body's indentation."""
    source, body = tree.source, function.body
    if is_docstring(body[0]) and len(body) == 1:
        raise CannotMend(f"{function.name} has no body but its docstring")
    first = body[1] if is_docstring(body[0]) else body[0]
    line = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    while line > 1 and source.line(line - 1).lstrip().startswith("#"):
        # A comment belongs to the code below it, so the new line goes above the comment.
        line -= 1
    return source.line_start(line), source.indent(first.lineno)


def step(source: SourceText, function: Function) -> str:
    """Return how much further a function's body is indented than its header."""
    inner, outer = source.indent(function.body[0].lineno), source.indent(function.lineno)
    return inner.removeprefix(outer) or STEP


def inline(source: SourceText, node: ast.expr) -> str:
    """Return the text of an expression, in brackets if it could not otherwise follow a keyword."""
    return bracketed(source.of(node), node)


def bracketed(text: str, node: ast.expr) -> str:
    """Return the changed text of an expression, in brackets if it could not otherwise be parsed."""
    if isinstance(node, (ast.Tuple, ast.NamedExpr)) and not text.startswith("("):
        return f"({text})"
    try:
        ast.parse(f"_ = {text}\n")
    except SyntaxError:
        return f"({text})"
    return text


def indented(text: str, line: str) -> str:
    """Return a statement indented one step further, except for the content of multi-line strings."""
    rows = text.split(line)
    within = _rows_in_strings(text)
    return line.join(
        row if number in within or not row.strip() else f"{STEP}{row}" for number, row in enumerate(rows, 1)
    )


def dedented(text: str, indent: str, line: str) -> str:
    """Return a definition without the indentation of its first line, except in multi-line strings."""
    rows = text.split(line)
    within = _rows_in_strings(f"if True:{line}{text}{line}")
    return line.join(
        row if number in within else row.removeprefix(indent) for number, row in enumerate(rows, 2)
    )


def patched(
    source: SourceText, node: ast.expr | ast.stmt, inner: Iterable[Replacement], line: int | None = None
) -> str:
    """Return the text of a node after the replacements inside it."""
    start, end = source.span(node)
    start = start if line is None else source.line_start(line)
    text = source.text[start:end]
    for each in sorted(set(inner), reverse=True):
        if start <= each.start and each.end <= end:
            text = text[: each.start - start] + each.text + text[each.end - start :]
    return text


def _rows_in_strings(text: str) -> set[int]:
    """Return the numbers of the lines that begin inside a string."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE", "TSTRING_MIDDLE"):
            found.update(range(token.start[0] + 1, token.end[0] + 1))
    return found


def with_import(tree: Tree, name: str) -> list[Replacement]:
    """Return the insertion of an import from the standard library; nothing if the file has it already."""
    top = [node for node in tree.root.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in top:
        if isinstance(node, ast.Import) and any(a.name == name and a.asname is None for a in node.names):
            return []
    source = tree.source
    before = next((node for node in top if not _is_of_future(node)), None)
    if before is not None:
        line = before.lineno
    else:
        body = tree.root.body
        ahead = [*(node for node in body[:1] if is_docstring(node)), *top]
        line = (ahead[-1].end_lineno or ahead[-1].lineno) + 1 if ahead else 1
    start = source.line_start(line)
    return [Replacement(start, start, f"import {name}{source.newline}{_gap(source, before)}")]


def for_type_checkers(tree: Tree, statement: ast.stmt, imports: list[str]) -> tuple[list[Replacement], bool]:
    """Keep imports for type checkers, which do not evaluate `__getattr__`.

    Also return whether the module has a block for such imports; if not, one is put below the statement.
    """
    source = tree.source
    rows = "".join(f"{STEP}{row}{source.newline}" for row in imports)
    for node in tree.root.body:
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.If) and not node.orelse and end < source.length:
            if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                below = source.line_start(end + 1)
                return [Replacement(below, below, rows)], True
    is_known = "TYPE_CHECKING" in bound(tree.root)
    added = [] if is_known else with_import(tree, "typing")
    test = "TYPE_CHECKING" if is_known else "typing.TYPE_CHECKING"
    block = f"if {test}:{source.newline}{rows}"
    place = source.line_start((statement.end_lineno or statement.lineno) + 1)
    if place == len(source.text):  # this place is reserved for `__getattr__`
        place, block = source.line_start(statement.lineno), f"{block}{source.newline}"
    if added and added[0].start == place:
        return [Replacement(place, place, f"{added[0].text}{block}")], False
    return [*added, Replacement(place, place, block)], False


def with_function(tree: Tree, name: str, text: str, owner: ast.stmt) -> list[Replacement]:
    """Return the insertion of a shared function above its first use; nothing if the file has it already."""
    source = tree.source
    first = min([owner.lineno, *(each.lineno for each in getattr(owner, "decorator_list", ()))])
    for node in tree.root.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if ast.dump(node) != ast.dump(ast.parse(text).body[0]):
                break
            if node.lineno > first:
                raise CannotMend(f"`{name}` stands below {getattr(owner, 'name', 'it')}")
            return []
    if name in bound(tree.root):
        raise CannotMend(f"the file has a `{name}` of its own")
    while first > 1 and source.line(first - 1).startswith("#"):
        first -= 1
    start = source.line_start(first)
    return [Replacement(start, start, text.replace("\n", source.newline))]


def _gap(source: SourceText, following: ast.Import | ast.ImportFrom | None) -> str:
    """Return the empty line that separates standard library imports from others, if one is needed."""
    if following is None:
        return ""
    module = following.module or "" if isinstance(following, ast.ImportFrom) else following.names[0].name
    is_near = module.partition(".")[0] in sys.stdlib_module_names and not getattr(following, "level", 0)
    return "" if is_near else source.newline


def _is_of_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def is_docstring(node: ast.stmt) -> bool:
    """Return whether a statement is just a string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def without_aliases(
    source: SourceText, statement: ast.Import | ast.ImportFrom, names: tuple[str, ...]
) -> Replacement:
    """Return a replacement that removes some of the names from an import."""
    kept = [alias for alias in statement.names if (alias.asname or alias.name) not in names]
    first, last = statement.names[0], statement.names[-1]
    start = source.offset(first.lineno, first.col_offset)
    end = source.offset(last.end_lineno or 0, last.end_col_offset or 0)
    gone = {alias for alias in statement.names if alias not in kept}
    text, at = "", start
    for alias, following in zip(statement.names, [*statement.names[1:], None], strict=True):
        begin = source.offset(alias.lineno, alias.col_offset)
        stop = end if following is None else source.offset(following.lineno, following.col_offset)
        if alias not in gone:
            text += source.text[begin:stop]
        at = stop
    if last in gone:
        text = text.rstrip().removesuffix(",")
    return Replacement(start, at, text)


def first_line(statement: ast.stmt) -> int:
    """Return the line at which a statement begins, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def blank_lines(source: SourceText, statement: ast.stmt) -> tuple[int, int]:
    """Return how many blank lines a function needs above and below if it replaces the statement."""
    above, below = first_line(statement) - 1, (statement.end_lineno or statement.lineno) + 1
    is_commented = above > 0 and source.line(above).startswith("#")
    missing = []
    for line, onwards in ((above, -1), (below, 1)):
        blank = 0
        while 0 < line <= source.length and blank < _APART and not source.line(line).strip():
            blank, line = blank + 1, line + onwards
        missing.append(_APART - blank if 0 < line <= source.length else 0)
    return 0 if is_commented else missing[0], missing[1]
