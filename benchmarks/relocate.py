"""Moves the culprit of a small package to another position, or into a function where no import reaches it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

from benchmarks.mutate import EXPECTED, Package, expectations
from published.errors import UnavailableError

Where = Literal["module", "class-body", "default-argument", "decorator", "lazy"]
POSITIONS: tuple[Where, ...] = ("module", "class-body", "default-argument", "decorator")


@dataclass(frozen=True, slots=True)
class Site:
    """A culprit in its file: the expression or the import that wakes, and the statement it belongs to."""

    node: ast.expr | ast.Import | ast.ImportFrom
    statement: ast.stmt
    """The statement behind which the moved code goes; the whole class or function the site is part of."""
    rule: str
    first: int
    last: int
    """The lines on which the mark may stand: those of the statement without the blocks below it."""
    is_decorator: bool = False


def move_site(package: Package, where: Where) -> dict[str, str]:
    """Move every culprit to a position; `lazy` puts it into a function and expects nothing any more."""
    moved = dict(package)
    for path in {one.path for one in expectations(package)}:
        lines = [one.line for one in expectations(package) if one.path == path]
        for number, line in enumerate(sorted(lines, reverse=True)):
            moved[path] = _moved(moved[path], line, where, number)
    return moved


def can_move(package: Package, where: Where) -> bool:
    """Whether every culprit can stand there: an import statement fits neither an argument nor a decorator."""
    if where in {"module", "class-body", "lazy"}:
        return True
    return all(
        isinstance(find_site(package[one.path], one.line).node, ast.expr) for one in expectations(package)
    )


def find_site(text: str, line: int) -> Site:
    """The culprit on a line that carries an `expect` comment."""
    match = EXPECTED.search(text.splitlines()[line - 1])
    rule = match[1] if match else ""
    for site in _sites(ast.parse(text).body, None, rule):
        if site.first <= line <= site.last:
            return site
    raise UnavailableError(f"line {line} holds nothing that an import executes and that could be moved")


def _sites(body: list[ast.stmt], outer: ast.stmt | None, rule: str) -> list[Site]:
    """Return the possible culprits, outermost blocks first; `outer` is the class that the body belongs to."""
    found: list[Site] = []
    for node in body:
        home = outer or node
        last = node.end_lineno or node.lineno
        match node:
            case ast.Import() | ast.ImportFrom():
                found.append(Site(node, home, rule, node.lineno, last))
            case ast.Expr() | ast.Assign():
                found.append(Site(node.value, home, rule, node.lineno, last))
            case ast.AnnAssign(value=ast.expr() as value):
                found.append(Site(value, home, rule, node.lineno, last))
            case ast.If():
                header = max(node.lineno, node.body[0].lineno - 1)
                found.append(Site(node.test, home, rule, node.lineno, header))
                found += _sites([*node.body, *node.orelse], outer, rule)
            case ast.FunctionDef():
                found += _in_header(node, home, rule)
            case ast.ClassDef():
                found += _in_header(node, home, rule)
                found += _sites(node.body, home, rule)
            case ast.Try():
                found += _sites([*node.body, *node.orelse, *node.finalbody], outer, rule)
    return found


def _in_header(node: ast.FunctionDef | ast.ClassDef, home: ast.stmt, rule: str) -> list[Site]:
    """Decorators and default arguments; the mark stands on their own lines."""
    found = [Site(one, home, rule, one.lineno, one.end_lineno or 0, True) for one in node.decorator_list]
    if isinstance(node, ast.FunctionDef):
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        found += [Site(one, home, rule, one.lineno, one.end_lineno or 0) for one in defaults]
    return found


def _moved(text: str, line: int, where: Where, number: int) -> str:
    site = find_site(text, line)
    lines = text.splitlines(keepends=True)
    lines = [
        EXPECTED.sub("", one).rstrip() + "\n" if index == line else one for index, one in enumerate(lines, 1)
    ]
    source = ast.get_source_segment(text, site.node) or ""
    if "\n" in source:
        source = ast.unparse(site.node)
    if site.is_decorator and where != "decorator":
        # It is often the decorator's application, not the decorator, that wakes: apply it to any function.
        source = f"({source})(len)"
    home = site.statement
    indent = " " * home.col_offset
    fresh = [f"{indent}{one}\n" if one else "\n" for one in _placed(source, site, where, number)]
    before, after = _emptied(lines, site), lines[home.end_lineno or home.lineno :]
    if isinstance(site.node, ast.expr):
        return "".join([*before, "\n", "\n", *fresh, *after])
    return "".join([*before, *fresh, *after])


def _emptied(lines: list[str], site: Site) -> list[str]:
    """The lines up to the end of the statement, with the culprit taken out of it."""
    node, home = site.node, site.statement
    kept = lines[: home.end_lineno]
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    if site.is_decorator:
        return kept[:first] + kept[last:]
    head = kept[first].encode()[: node.col_offset].decode()
    tail = kept[last - 1].encode()[node.end_col_offset :].decode()
    if isinstance(node, ast.expr):
        return [*kept[:first], f"{head}None{tail}", *kept[last:]]
    alone = node is home
    return [*kept[:first], *([] if alone else [f"{head}pass{tail}"]), *kept[last:]]


def _placed(source: str, site: Site, where: Where, number: int) -> list[str]:
    """The culprit at its new position, marked there."""
    mark = f"  # expect: {site.rule}"
    name = f"moved_{number}"
    if not isinstance(site.node, ast.expr):
        return {
            "module": [source + mark],
            "class-body": [f"class Moved{number}:", f"    {source}{mark}"],
            "lazy": [f"def {name}():", f"    {source}"],
        }[where]
    return {
        "module": [f"{name} = {source}{mark}"],
        "class-body": [f"class Moved{number}:", f"    value = {source}{mark}"],
        "default-argument": [f"def {name}(value={source}):{mark}", "    return value"],
        "decorator": [
            f"def keep_{number}(value):", "    return lambda function: function", "", "",
            f"@{source}{mark}" if site.is_decorator else f"@keep_{number}({source}){mark}",
            f"def {name}():", "    return None",
        ],
        "lazy": [f"def {name}():", f"    return {source}"],
    }[where]  # fmt: skip
