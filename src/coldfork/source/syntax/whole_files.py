"""Whether all of a file parses, the bodies of functions too that nothing has called."""

from __future__ import annotations

import symtable
import warnings

from coldfork.source.files.reading import CannotRead
from coldfork.source.syntax.syntax_errors import parse

Trouble = tuple[str, int, int]
"""What is wrong, with the line and the column."""


def trouble_in(source: bytes) -> Trouble | None:
    """Why a file does not parse; None where it does.

    Python is asked for its table of symbols, which takes half the time of a tree. What it refuses may be
    syntax of a newer Python, which the other reading knows.
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
