"""The changes that are tried: each is one small edit of a file's text, found in its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}
_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
#: Names whose values say something to tools and nothing to the program.
_NOT_FOR_RUNNING = frozenset({"__all__", "__slots__", "TYPE_CHECKING"})


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One edit: the bytes from `start` to `end` of a file become others."""

    path: str
    """Below the repository's root, with slashes."""
    line: int
    start: int
    end: int
    operator: str
    before: str
    after: str
    owner: str
    """The function or class around it; empty at module level."""
    statement: int
    """The line where its statement begins: what a recorder of lines sees."""
    loaded: bool
    """Whether the line runs when its module is imported."""

    @property
    def key(self) -> str:
        """Return a key that stays the same when other parts of the file change."""
        return f"{self.path}:{self.owner}:{self.operator}:{self.before}:{self.after}"

    def applied(self, source: bytes) -> bytes:
        """The file's text with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def candidates(path: str, source: bytes) -> list[Mutant]:
    """Every change of a file; a few leave no program, or the same one: `is_valid` says which."""
    return sorted(set(_Finder(path, source).found()))


def is_valid(mutant: Mutant, source: bytes) -> bool:
    """True when a change leaves a program that compiles, and is another one."""
    try:
        changed = ast.parse(mutant.applied(source))
        compile(changed, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return ast.dump(changed) != ast.dump(ast.parse(source))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the tree a node stands."""

    owner: str = ""
    statement: int = 0
    loaded: bool = True


class _Finder:
    """Walks one file."""

    def __init__(self, path: str, source: bytes) -> None:
        self._path = path
        self._source = source
        self._tree = ast.parse(source)
        lines = source.splitlines(keepends=True)
        self._offsets = [0]
        for line in lines:
            self._offsets.append(self._offsets[-1] + len(line))

    def found(self) -> Iterator[Mutant]:
        yield from self._block(self._tree.body, _Place())

    # -- the walk -------------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], place: _Place) -> Iterator[Mutant]:
        for node in body:
            if not _is_docstring(node) and not isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
                yield from self._statement(node, _Place(place.owner, node.lineno, place.loaded))

    def _statement(self, node: ast.stmt, place: _Place) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{place.owner}.{node.name}".lstrip(".")
            loaded = place.loaded and isinstance(node, ast.ClassDef)
            yield from self._block(node.body, _Place(name, node.lineno, loaded))
            return
        if isinstance(node, ast.Assign | ast.AnnAssign) and _names(node) & _NOT_FOR_RUNNING:
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        yield from self._of_statement(node, place)
        for name, value in ast.iter_fields(node):
            if name == "annotation":
                continue
            for part in value if isinstance(value, list) else [value]:
                yield from self._part(part, place)

    def _part(self, part: object, place: _Place) -> Iterator[Mutant]:
        if isinstance(part, ast.stmt):
            yield from self._block([part], place)
        elif isinstance(part, ast.expr):
            yield from self._expression(part, place)
        elif isinstance(part, ast.AST):  # a handler, a case, a `with` item
            for child in ast.iter_child_nodes(part):
                yield from self._part(child, place)

    def _expression(self, node: ast.expr, place: _Place) -> Iterator[Mutant]:
        place = _Place(place.owner, place.statement, place.loaded and not isinstance(node, ast.Lambda))
        yield from self._of_expression(node, place)
        if isinstance(node, ast.JoinedStr):
            return
        for child in ast.iter_child_nodes(node):
            yield from self._part(child, place)

    # -- the changes ----------------------------------------------------------------------------------

    def _of_statement(self, node: ast.stmt, place: _Place) -> Iterator[Mutant]:
        if isinstance(node, ast.If):
            yield from self._test(node.test, place)
        elif isinstance(node, ast.While):
            yield self._replaced("condition", node.test, "False", place)
        elif isinstance(node, ast.Return):
            if node.value is not None and not _is_none(node.value):
                yield self._replaced("return", node.value, "None", place)
        elif isinstance(node, ast.Break | ast.Continue):
            other = "continue" if isinstance(node, ast.Break) else "break"
            yield self._replaced("loop", node, other, place)
            yield self._replaced("loop", node, "pass", place)
        elif _can_be_dropped(node):
            yield self._replaced("statement", node, "pass", place)

    def _of_expression(self, node: ast.expr, place: _Place) -> Iterator[Mutant]:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
                yield from self._between(
                    "comparison", left, right, f" {_COMPARISONS[type(operator)]} ", place
                )
        elif isinstance(node, ast.BoolOp):
            was, becomes = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from self._word(was, becomes, left, right, place)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield self._replaced("not", node, f"({ast.unparse(node.operand)})", place)
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            yield from self._between(
                "arithmetic", node.left, node.right, f" {_ARITHMETIC[type(node.op)]} ", place
            )
        elif isinstance(node, ast.IfExp):
            yield from self._test(node.test, place)
        elif isinstance(node, ast.Constant):
            yield from self._constant(node, place)
        elif isinstance(node, ast.Name) and node.id in _CALLS:
            yield self._replaced("call", node, _CALLS[node.id], place)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for generator in node.generators:
                for test in generator.ifs:
                    yield from self._test(test, place)
        elif isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict):
            yield from self._members(node, place)

    def _test(self, node: ast.expr, place: _Place) -> Iterator[Mutant]:
        yield self._replaced("condition", node, "True", place)
        yield self._replaced("condition", node, "False", place)

    def _constant(self, node: ast.Constant, place: _Place) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            yield self._replaced("constant", node, str(not value), place)
        elif isinstance(value, int | float):
            yield self._replaced("number", node, repr(value + 1), place)
            yield self._replaced("number", node, f"({value - 1!r})", place)
        elif isinstance(value, str | bytes):
            other = f"{value}_" if isinstance(value, str) else value + b"_"
            yield self._replaced("string", node, f" {other!r} ", place)

    def _members(self, node: ast.Set | ast.List | ast.Tuple | ast.Dict, place: _Place) -> Iterator[Mutant]:
        """Take one member out; only displays of constants, where the others go on without it."""
        keys = node.keys if isinstance(node, ast.Dict) else node.elts
        if len(keys) < 2 or not all(isinstance(key, ast.Constant) for key in keys):
            return
        if isinstance(node, ast.Tuple | ast.List) and not isinstance(node.ctx, ast.Load):
            return
        for index, key in enumerate(keys):
            last = node.values[index] if isinstance(node, ast.Dict) else key
            start, end = self._start(key), self._end(last)  # type: ignore[arg-type]
            comma = re.compile(rb"[ \t]*,[ \t]*").match(self._source, end)
            if comma is not None and (index + 1 < len(keys) or len(keys) > 2):
                yield self._edit("member", start, comma.end(), "", place)

    # -- edits ----------------------------------------------------------------------------------------

    def _replaced(self, operator: str, node: ast.expr | ast.stmt, after: str, place: _Place) -> Mutant:
        return self._edit(operator, self._start(node), self._end(node), after, place)

    def _between(
        self, operator: str, left: ast.expr, right: ast.expr, after: str, place: _Place
    ) -> Iterator[Mutant]:
        """Replace what stands between two operands, if that is nothing but their operator."""
        start, end = self._end(left), self._start(right)
        if re.fullmatch(rb"\s*[^\s()#\\\n]+(?:[ ]\w+)?\s*", self._source[start:end]):
            yield self._edit(operator, start, end, after, place)

    def _word(
        self, was: str, becomes: str, left: ast.expr, right: ast.expr, place: _Place
    ) -> Iterator[Mutant]:
        start, end = self._end(left), self._start(right)
        between = list(re.finditer(rb"\b%b\b" % was.encode(), self._source[start:end]))
        if len(between) == 1:
            at = between[0]
            yield self._edit("and, or", start + at.start(), start + at.end(), becomes, place)

    def _edit(self, operator: str, start: int, end: int, after: str, place: _Place) -> Mutant:
        before = self._source[start:end].decode()
        line = self._source.count(b"\n", 0, start) + 1
        return Mutant(
            path=self._path,
            line=line,
            start=start,
            end=end,
            operator=operator,
            before=before,
            after=after,
            owner=place.owner,
            statement=place.statement,
            loaded=place.loaded,
        )

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._offsets[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offsets[node.end_lineno - 1] + node.end_col_offset


def _is_docstring(node: ast.stmt) -> bool:
    """Docstrings, those of attributes too, and the dots of a protocol."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {one.id for one in targets if isinstance(one, ast.Name)}


def _can_be_dropped(node: ast.stmt) -> bool:
    """Statements without which the rest still has all its names."""
    if isinstance(node, ast.Expr | ast.Raise | ast.AugAssign | ast.Delete):
        return True
    return isinstance(node, ast.Assign) and not any(
        isinstance(one, ast.Name) for target in node.targets for one in ast.walk(target) if _binds(one)
    )


def _binds(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
