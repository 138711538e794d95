"""Refuses what torch's compiler does while a capture runs: to compile, and to run what nobody can see."""

from __future__ import annotations

import sys
from typing import Any

import torch

from coldfork.virtual.capturing.compiled.compiling import (
    COMPILES,
    LIBRARIES,
    LIBRARY,
    STEPS,
    what_is_compiled,
)
from coldfork.virtual.capturing.operators.compiler import hide_from_compiler
from coldfork.virtual.capturing.recording.refusals import not_simulated
from coldfork.virtual.capturing.recording.replacements import Replacements


class CompilerAccess(Replacements):
    """Refuses to compile, on the thread that captures."""

    def __enter__(self) -> CompilerAccess:
        self._close_loaded()
        self._replace(torch, "compile", self._compile)
        return self

    def _compile(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        # What it makes is compiled when it is called; but this may have imported the compiler.
        made = original(*args, **kwargs)
        hide_from_compiler(type(self._recorder))
        self._close_loaded()
        return made

    def _close_loaded(self) -> None:
        for room, name in STEPS:
            self._replace(sys.modules.get(room), name, self._refuse)
        for room, kind, names in LIBRARIES:
            for name in names:
                owner = getattr(sys.modules.get(room), kind, None)
                self._close(owner, name, LIBRARY, not_simulated, f"{kind}.{name}()")

    def _refuse(self, original: Any, compiled: Any, *args: Any, **kwargs: Any) -> Any:
        raise self._recorder.refuse(what_is_compiled(compiled), COMPILES)
