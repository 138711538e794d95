"""What is wrong with a file that does not parse, in words, and which Python would read it."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from coldfork.source.files.reading import CannotRead

_PYTHON_2 = re.compile(
    rb"^[ \t]*(?:print[ \t]+[^\s(=]|exec[ \t]+['\"\w]|raise[ \t]+\w+[ \t]*,"
    rb"|except[ \t]+[\w.]+[ \t]*,[ \t]*[a-z_]\w*[ \t]*:)",
    re.MULTILINE,
)
_NEWER = (
    (
        (3, 14),
        re.compile(
            rb"\b[rRfF]?[tT][rR]?['\"]|^[ \t]*except[ \t]+[\w.]+[ \t]*,[ \t]*[\w., \t]+:"
            rb"|^[ \t]*except[ \t]+[\w.]+,",
            re.MULTILINE,
        ),
    ),
    ((3, 13), re.compile(rb"^[ \t]*(?:class|def|type)[ \t]+\w+\[[^\]\n]*=[^\]\n]*\]", re.MULTILINE)),
    (
        (3, 12),
        re.compile(
            rb"^[ \t]*type[ \t]+\w+|^[ \t]*(?:async[ \t]+)?(?:class|def)[ \t]+\w+\[|\bf['\"]", re.MULTILINE
        ),
    ),
)


def parse(source: bytes) -> ast.Module:
    """Parse a whole file; `CannotRead` says in words what is wrong and which Python would read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        raise CannotRead(
            _explain(error, source), error.lineno or 1, max(0, (error.offset or 1) - 1)
        ) from None
    except ValueError as error:
        raise CannotRead(str(error)) from None


def explain_body(source: bytes, start: int, end: int) -> str:
    """Why a function that was blanked does not parse."""
    text = source[start:end]
    try:
        parse(b"if 1:\n" + text if text[:1] in (b" ", b"\t") else text)
    except CannotRead as problem:
        return problem.reason
    except (RecursionError, MemoryError):
        return "an expression is nested too deeply"
    return "a function could not be read"


def _explain(error: SyntaxError, source: bytes) -> str:
    """Why the file does not parse, with the Python that would read it where the construct gives it away."""
    lines = source.splitlines()
    line = lines[(error.lineno or 1) - 1] + b"\n" if 0 < (error.lineno or 1) <= len(lines) else b""
    running = sys.version_info[:2]
    message = (error.msg or "invalid syntax").rstrip(".")
    if _PYTHON_2.search(line):
        return f"is Python 2 source ({message})"
    for version, pattern in _NEWER:
        if version > running and pattern.search(line):
            return (
                f"uses syntax of Python {version[0]}.{version[1]}, "
                f"which Python {running[0]}.{running[1]} cannot read; "
                f"run coldfork with Python {version[0]}.{version[1]} or newer ({message})"
            )
    return f"does not parse: {message}"
