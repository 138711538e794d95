"""Names the call on a line from its source, where the interpreter did not say what was called."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from types import FrameType


def called_in(frame: FrameType, line: int, *, announced: bool) -> str | None:
    """The only call on a line, by its full name; the function itself when the line calls nothing.

    `announced` says that calls are heard of as they happen: then a call on the line is not what did it.
    """
    calls = _calls_on(frame, line)
    if calls is None:
        return None
    if not calls:
        return _own_name(frame)
    return _resolved(calls[0], frame) if len(calls) == 1 and not announced else None


def _own_name(frame: FrameType) -> str | None:
    name = frame.f_code.co_qualname
    module = frame.f_globals.get("__name__")
    return None if name == "<module>" else f"{module}.{name}"


def _calls_on(frame: FrameType, line: int) -> list[str] | None:
    """The dotted texts that a line calls; None where there is no source to read."""
    import ast
    import linecache

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
    import ast

    parts: list[str] = []
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _resolved(text: str, frame: FrameType) -> str | None:
    """`lib.cuInit` as `ctypes` knows it stays as written; `tc.current_device` gets its module's full name."""
    first, _, rest = text.partition(".")
    if not first:
        return None
    owner = frame.f_globals.get(first)
    if rest and isinstance(owner, type(sys)):
        name = object.__getattribute__(owner, "__dict__").get("__name__")
        return f"{name}.{rest}" if isinstance(name, str) else text
    return text
