"""Explains in words why a file does not parse, and which version of Python could read the file."""

from __future__ import annotations

import ast
import re
import symtable
import sys
import warnings

from coldfork.source.files.reading import CannotRead
from coldfork.source.syntax.newer.parsing import parse_any

TOO_DEEP = "an expression is nested too deeply"
Trouble = tuple[str, int, int]
"""The reason why a file does not parse, with the line and the column."""

# Patterns for single lines, compiled only if there is an error to explain.
_PYTHON_2 = (
    rb"^[ \t]*(?:print[ \t]+[^\s(=]|exec[ \t]+['\"\w]|raise[ \t]+\w+[ \t]*,"
    rb"|except[ \t]+[\w.]+[ \t]*,[ \t]*[a-z_]\w*[ \t]*:)"
)
_NEWER = (
    (
        (3, 14),
        (
            rb"\b[rRfF]?[tT][rR]?['\"]|^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*[\w., \t]+:"
            rb"|^[ \t]*except[ \t]+[\w.]+,"
        ),
    ),
    ((3, 13), rb"^[ \t]*(?:class|def|type)[ \t]+\w+\[[^\]\n]*=[^\]\n]*\]"),
    ((3, 12), rb"^[ \t]*type[ \t]+\w+|^[ \t]*(?:async[ \t]+)?(?:class|def)[ \t]+\w+\[|\bf['\"]"),
)


def parse(source: bytes) -> ast.Module:
    """Return the tree of a file; raise `CannotRead` with the reason, and the Python version that could read
    it.
    """
    try:
        return parse_any(source)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(0, (error.offset or 1) - 1)
        raise CannotRead(_explain(error, source), line, column) from None
    except ValueError as error:
        raise CannotRead(str(error)) from None


def trouble_in(source: bytes) -> Trouble | None:
    """Return the reason why a file does not parse; None if it does.

    This makes Python's symbol table, which takes half as long as a tree. A rejected file is then tried with
    the parser for newer syntax.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(source.decode("utf-8", "replace"), "file", "exec")
        return None
    except (SyntaxError, ValueError):
        pass
    except (RecursionError, MemoryError):
        return None
    try:
        parse(source)
    except CannotRead as problem:
        return problem.reason, problem.line, problem.column
    except (RecursionError, MemoryError):
        pass
    return None


def refuse_python_2(listed: ast.Tuple, target_version: tuple[int, int] | None) -> None:
    """Reject Python 2's `except A, b:`, unless it may be the list of exceptions that Python 3.14 allows."""
    first, *others = listed.elts
    if target_version is None or target_version >= (3, 14) or len(others) != 1:
        return
    (second,) = others
    bare = (first.lineno, first.col_offset) == (listed.lineno, listed.col_offset)
    if bare and isinstance(second, ast.Name) and second.id.islower():
        raise CannotRead(
            "is Python 2 source (multiple exception types must be parenthesized)", first.lineno, 0
        )


def explain_body(source: bytes, start: int, end: int) -> str:
    """Return the reason why a blanked function does not parse."""
    text = source[start:end]
    try:
        parse(b"if 1:\n" + text if text[:1] in (b" ", b"\t") else text)
    except CannotRead as problem:
        return problem.reason
    except (RecursionError, MemoryError):
        return TOO_DEEP
    return "a function could not be read"


def _explain(error: SyntaxError, source: bytes) -> str:
    """Return why a file does not parse, and the Python version that could read it if that is clear."""
    lines = source.splitlines()
    line = lines[(error.lineno or 1) - 1] + b"\n" if 0 < (error.lineno or 1) <= len(lines) else b""
    running = sys.version_info[:2]
    message = (error.msg or "invalid syntax").rstrip(".")
    if re.search(_PYTHON_2, line):
        return f"is Python 2 source ({message})"
    for version, pattern in _NEWER:
        if version > running and re.search(pattern, line):
            return (
                f"uses syntax of Python {version[0]}.{version[1]}, "
                f"which Python {running[0]}.{running[1]} cannot read; "
                f"run coldfork with Python {version[0]}.{version[1]} or newer ({message})"
            )
    return f"does not parse: {message}"
