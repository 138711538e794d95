"""Whether a module comes out the same where a variable is another: what it has to keep, as one digest.

What a module's body only uses on its way does not count, unless a function or another module asks for it.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from types import CodeType, FunctionType, ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEEPEST = 3


def imprint(module: str | None) -> str:
    """A digest of the plain values that a module keeps."""
    held = vars(sys.modules[module]) if module in sys.modules else {}
    plain = {
        name: value
        for name, value in list(held.items())
        if not name.startswith("__") and _is_plain(value, _DEEPEST)
    }
    for name in _on_its_way(held.get("__file__")) & plain.keys():
        if not _is_asked_for(name, str(module)):
            del plain[name]
    text = repr(sorted(plain.items()))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _is_plain(value: Any, depth: int) -> bool:
    if value is None or type(value) in (bool, int, float, str, bytes):
        return True
    # Not their subclasses, which may do anything when they are asked.
    if depth and type(value) in (tuple, list):
        return all(_is_plain(one, depth - 1) for one in value)
    if depth and type(value) is dict:
        return all(_is_plain(key, 0) and _is_plain(one, depth - 1) for key, one in list(value.items()))
    return False


def _on_its_way(path: object) -> set[str]:
    """The names that a module's body reads again, and none of its functions."""
    if not isinstance(path, str) or not path.endswith(".py"):
        return set()
    try:
        with open(path, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return set()
    in_functions: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            in_functions |= _read(ast.walk(node))
    return _read(_body(tree)) - in_functions


def _body(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a module and in none of its functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _body(child)


def _read(nodes: Iterator[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _is_asked_for(name: str, module: str) -> bool:
    """Whether another module that is loaded has it, or code that asks somebody for it."""
    for other, loaded in list(sys.modules.items()):
        held = vars(loaded) if issubclass(type(loaded), ModuleType) else None
        if other == module or not isinstance(held, dict):
            continue
        if name in held or any(name in code.co_names for code in _codes(held)):
            return True
    return False


def _codes(held: dict[str, Any]) -> Iterator[CodeType]:
    """The code of the functions and methods that stand in a module."""
    for value in list(held.values()):
        members = list(vars(value).values()) if issubclass(type(value), type) else [value]
        for member in members:
            # Nothing is asked of other things: they may answer in ways of their own.
            if type(member) in (staticmethod, classmethod):
                member = member.__func__
            if type(member) is FunctionType:
                yield from _with_inner(member.__code__)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
