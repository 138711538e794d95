"""For older versions of Python, the classes of nodes that newer versions have in `ast`."""

from __future__ import annotations

import ast
from typing import NamedTuple


class TypeParameter(NamedTuple):
    """A type parameter, of which only the name is kept."""

    name: str


class TypeAlias(ast.stmt):
    """The statement `type name[parameters] = value`, like `ast.TypeAlias` from Python 3.12 on."""

    _fields = ("name", "value")

    def __init__(self, name: ast.Name, value: ast.expr) -> None:
        super().__init__()
        self.name = name
        self.value = value


class TemplateStr(ast.expr):
    """A t-string, like `ast.TemplateStr` from Python 3.14 on."""

    _fields = ("values",)

    def __init__(self, values: list[ast.expr]) -> None:
        super().__init__()
        self.values = values
