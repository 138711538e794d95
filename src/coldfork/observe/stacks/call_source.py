"""Find the name of a call in the source of its line, if the interpreter did not report the call."""

from __future__ import annotations

import ast
import linecache
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


def called_in(frame: FrameType, line: int, *, announced: bool) -> str | None:
    """Return the full name of the only call on a line or, if the line calls nothing, of the frame's function.

    With `announced`, calls are reported as they happen, so a call on the line cannot be the one.
    """
    calls = _calls_on(frame, line)
    if calls is None:
        return None
    if not calls:
        return _own_name(frame)
    return _resolved(calls[0], frame) if len(calls) == 1 and not announced else None


def is_class_body(path: str, name: str, line: int) -> bool:
    """Return True if the innermost scope around a line is the body of a class with this name."""
    try:
        node: ast.AST = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    inside: ast.AST | None = None
    while True:
        inner = _scope_around(node, line)
        if inner is None:
            return isinstance(inside, ast.ClassDef) and inside.name == name
        node = inside = inner


def _scope_around(node: ast.AST, line: int) -> ast.AST | None:
    """Return the next class or function inside a node whose body contains a line."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if child.body[0].lineno <= line <= (child.end_lineno or line):
                return child
        else:
            waiting.extend(ast.iter_child_nodes(child))
    return None


def _own_name(frame: FrameType) -> str | None:
    name = frame.f_code.co_qualname
    module = frame.f_globals.get("__name__")
    return None if name == "<module>" else f"{module}.{name}"


def _calls_on(frame: FrameType, line: int) -> list[str] | None:
    """Return the dotted texts that a line calls; None if the source cannot be read."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if not 0 < line <= len(lines):
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.lineno == line]
    return [_text(node) or "" for node in found]


def _text(call: ast.Call) -> str | None:
    parts: list[str] = []
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _resolved(text: str, frame: FrameType) -> str | None:
    """Resolve a dotted text: `lib.cuInit` of `ctypes` stays as it is; `tc.current_device` gets its
    full name.
    """
    first, _, rest = text.partition(".")
    if not first:
        return None
    owner = frame.f_globals.get(first)
    if rest and isinstance(owner, type(sys)):
        name = object.__getattribute__(owner, "__dict__").get("__name__")
        return f"{name}.{rest}" if isinstance(name, str) else text
    return text
