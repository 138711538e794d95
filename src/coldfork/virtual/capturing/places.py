"""Which line of the program an operator comes from: the innermost one that is neither torch's nor ours."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

import torch

import coldfork
from coldfork.model.states import Frame

Place = tuple[CodeType, int]
"""A line as cheaply as it can be kept: the code object and the number."""

GENERATED = "<torch.compile>"
"""The file that the code of compiled graphs is said to come from."""


class Places:
    """Finds the program's own line in a stack, and remembers which code is the program's."""

    def __init__(self) -> None:
        # All of coldfork: its graph manager stands between a program's line and the operator.
        generated = ("<frozen ", "<eval_with_key>", GENERATED)
        self._torch = (_folder(coldfork.__file__), _folder(torch.__file__), *generated)
        self._library = _folder(os.__file__)
        self._known: dict[CodeType, bool] = {}

    def here(self, depth: int = 1) -> Place | None:
        """The line that is running now."""
        frame: FrameType | None = sys._getframe(depth)
        known = self._known
        while frame is not None:
            code = frame.f_code
            theirs = known.get(code)
            if theirs is None:
                theirs = known[code] = self.is_programs(code)
            if theirs:
                return code, frame.f_lineno
            frame = frame.f_back
        return None

    def is_programs(self, code: CodeType) -> bool:
        """True for what is neither torch's nor Python's own, nor ours."""
        path = code.co_filename
        if path.startswith(self._torch):
            return False
        # Packages that are installed lie in the folder of the standard library, and are the program's.
        return not path.startswith(self._library) or "site-packages" in path or "dist-packages" in path


def _folder(file: str) -> str:
    return os.path.dirname(file) + os.sep  # noqa: PTH120 - compared with what code objects hold


def as_frame(place: Place | None) -> Frame | None:
    """A place in the words the rest of coldfork uses."""
    if place is None:
        return None
    code, line = place
    return Frame(code.co_filename, line, code.co_qualname)


def written(where: Frame | None) -> str:
    """A line as messages write it."""
    return f"{where.path}:{where.line}" if where is not None else "an unknown line"
