"""The nodes that newer Pythons add to their trees, for those that lack them."""

from __future__ import annotations

import ast
from typing import NamedTuple


class TypeParameter(NamedTuple):
    """A type parameter, reduced to its name."""

    name: str


class TypeAlias(ast.stmt):
    """`type name[parameters] = value`, like the class of the same name from Python 3.12 on."""

    _fields = ("name", "value")

    def __init__(self, name: ast.Name, value: ast.expr) -> None:
        super().__init__()
        self.name = name
        self.value = value


class TemplateStr(ast.expr):
    """A t-string, like the class of the same name from Python 3.14 on."""

    _fields = ("values",)

    def __init__(self, values: list[ast.expr]) -> None:
        super().__init__()
        self.values = values
