"""Restores newer syntax in the tree of a source that was rewritten for the running Python's parser."""

from __future__ import annotations

import ast
from collections.abc import Callable

from coldfork.source.syntax.newer.rewriting import Hole, Rewritten, rewrite
from coldfork.source.syntax.newer.tokens import Field, Literal, Part, Token, Unscannable
from coldfork.source.syntax.newer.trees import TemplateStr, TypeAlias, TypeParameter

#: Parses a source that may contain newer syntax.
Parse = Callable[[bytes], ast.Module]


def restore(tree: ast.Module, source: bytes, rewritten: Rewritten, parse: Parse) -> None:
    """Change the tree of the rewritten text into that of the original source."""
    _Restorer(source, rewritten, parse).visit(tree)


class _Restorer(ast.NodeTransformer):
    def __init__(self, source: bytes, rewritten: Rewritten, parse: Parse) -> None:
        self._source = source
        self._rewritten = rewritten
        self._parse = parse

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        hole = self._rewritten.holes.get((node.lineno, node.col_offset))
        return node if hole is None else self._content(hole, node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt:
        begins = self._rewritten.lazy.get((node.lineno, node.col_offset))
        if begins is not None:
            node.lineno, node.col_offset = begins
            node.is_lazy = 1  # type: ignore[union-attr]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        return self.visit_Import(node)

    def visit_ClassDef(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        names = self._rewritten.type_parameters.get((node.lineno, node.name))
        if names is not None:
            node.type_params = [TypeParameter(name) for name in names]  # type: ignore[union-attr]
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return self.visit_ClassDef(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return self.visit_ClassDef(node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if (target.lineno, target.col_offset) not in self._rewritten.aliases:
            return node
        name = target.value if isinstance(target, ast.Subscript) else target
        assert isinstance(name, ast.Name)
        return ast.copy_location(TypeAlias(ast.Name(name.id, ast.Store()), node.value), node)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        if (node.lineno, node.col_offset) not in self._rewritten.unpacked:
            return node
        if isinstance(node, ast.SetComp) and self._doubly_starred(node):
            pairs = ast.DictComp(node.elt, node.elt, node.generators)
            pairs.value = None  # type: ignore[assignment]
            return ast.copy_location(pairs, node)
        node.elt = ast.copy_location(ast.Starred(node.elt, ast.Load()), node.elt)
        return node

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self.visit_ListComp(node)

    def _doubly_starred(self, node: ast.SetComp) -> bool:
        lines = self._source.split(b"\n", node.elt.lineno)
        before = b"\n".join(
            [*lines[node.lineno - 1 : node.elt.lineno - 1], lines[node.elt.lineno - 1][: node.elt.col_offset]]
        )
        return b"**" in before[node.col_offset :]

    # -- the contents of replaced parts ---------------------------------------------------------------

    def _content(self, hole: Hole, node: ast.Constant) -> ast.expr:
        made = self._joined(hole) if hole.strings else self._expression(hole.start, hole.end)
        made.lineno, made.col_offset = self._place(hole.start)
        made.end_lineno, made.end_col_offset = self._place(hole.end)
        return ast.fix_missing_locations(made)

    def _joined(self, hole: Hole) -> ast.expr:
        values: list[ast.expr] = []
        template = False
        for string in hole.strings:
            template = template or b"t" in string.prefix
            if string.formatted is None:
                values.append(ast.Constant(ast.literal_eval(string.text.decode())))
            else:
                values += self._parts(string, string.formatted.parts, template)
        values = _merged(values)
        return TemplateStr(values) if template else ast.JoinedStr(values)

    def _parts(self, string: Token, parts: tuple[Part, ...], template: bool) -> list[ast.expr]:
        values: list[ast.expr] = []
        for part in parts:
            if isinstance(part, Literal):
                values.append(ast.Constant(self._text(string, part)))
            else:
                values += [ast.Constant(part.shown)] if part.shown else []
                values.append(self._field(string, part, template))
        return _merged(values)

    def _field(self, string: Token, field: Field, template: bool) -> ast.expr:
        value = self._expression(field.start, field.end)
        specification = None
        if field.specification is not None:
            specification = ast.JoinedStr(self._parts(string, field.specification, False))
        if not template:
            return ast.FormattedValue(value, field.conversion, specification)
        # A t-string does not format its values, only those inside a format specification.
        return TemplateStr([value, *([specification] if specification is not None else [])])

    def _text(self, string: Token, literal: Literal) -> str:
        text = self._source[literal.start : literal.end].replace(b"{{", b"{").replace(b"}}", b"}")
        if b"\\" not in text or b"r" in string.prefix:
            return text.decode()
        quotes = string.text[len(string.prefix) :]
        quotes = quotes[:3] if quotes[:3] in (b'"""', b"'''") else quotes[:1]
        if (len(text) - len(text.rstrip(b"\\"))) % 2:
            text += b"\\"  # before a brace, a backslash is literal
        return str(ast.literal_eval((quotes + text + quotes).decode()))

    def _expression(self, start: int, end: int) -> ast.expr:
        """Return the tree of a part of the source, with the original lines and columns."""
        (statement,) = self._parse(b"(" + self._source[start:end] + b"\n)").body
        assert isinstance(statement, ast.Expr)
        line, column = self._place(start)
        for node in ast.walk(statement.value):
            if isinstance(node, (ast.expr, ast.keyword, ast.arg)):
                if node.lineno == 1:
                    node.col_offset += column - 1
                if node.end_lineno == 1 and node.end_col_offset is not None:
                    node.end_col_offset += column - 1
                node.lineno += line - 1
                node.end_lineno = (node.end_lineno or 1) + line - 1
        return statement.value

    def _place(self, position: int) -> tuple[int, int]:
        before = self._source.rfind(b"\n", 0, position) + 1
        return self._source.count(b"\n", 0, position) + 1, position - before


def _merged(values: list[ast.expr]) -> list[ast.expr]:
    """Return the parts of a string, joining adjacent texts."""
    merged: list[ast.expr] = []
    for value in values:
        last = merged[-1] if merged else None
        if isinstance(value, ast.Constant) and isinstance(last, ast.Constant):
            merged[-1] = ast.Constant(str(last.value) + str(value.value))
        else:
            merged.append(value)
    return merged


def parse_rewritten(source: bytes, parse: Parse, parse_parts: Parse) -> ast.Module | None:
    """Return the tree of a source after rewriting it for this Python; None if it is not valid in any
    Python.
    """
    # Newer syntax in an f-string is not always recognised, so the second attempt takes all f-strings apart.
    for every_string in (False, True):
        tree = _parse_rewritten(source, parse, parse_parts, every_string)
        if tree is not None:
            return tree
    return None


def _parse_rewritten(
    source: bytes, parse: Parse, parse_parts: Parse, every_string: bool
) -> ast.Module | None:
    try:
        rewritten = rewrite(source, every_string=every_string)
        if rewritten.text == source:
            return None
        tree = parse(rewritten.text)
        restore(tree, source, rewritten, parse_parts)
    except (Unscannable, SyntaxError, ValueError):
        return None
    return tree
