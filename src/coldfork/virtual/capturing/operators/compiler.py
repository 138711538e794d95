"""Keep torch's compiler from compiling modes, and from being imported slowly."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_MARK = "__dynamo_disable"
"""The attribute by which torch marks the version of a function that its compiler does not inspect."""

_HIDDEN = "_hidden_from_compiler"

_WRAPPERS = ("_compile.py", "wrappers.py", "decompositions.py")
"""The files that wrap reference implementations."""

_ROOMS = ("torch._refs", "torch._decomp", "torch._prims")


class UncompiledMode(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode that does not cause the import of torch's compiler, and that sees compiled code run."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False, so that torch does not import its compiler merely to exempt this mode."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Return True, so that torch runs the compiled code and not the original functions."""
        return True

    def __enter__(self) -> Any:
        """Enter the mode, and exempt it from the compiler if that has been imported."""
        hide_from_compiler(type(self))
        return super().__enter__()


def hide_from_compiler(kind: type[UncompiledMode]) -> None:
    """Let a mode's own functions run uncompiled, if torch's compiler has already been imported."""
    if "torch._dynamo" in sys.modules and not hasattr(kind.__torch_dispatch__, _HIDDEN):
        hidden = torch._disable_dynamo(kind.__torch_dispatch__, recursive=True)
        setattr(hidden, _HIDDEN, True)
        kind.__torch_dispatch__ = hidden


class KeptOut:
    """A context in which torch's reference implementations run without importing torch._dynamo.

    On its first use, each implementation would import the compiler merely to be exempted from compilation. If
    the compiler is imported later, it finds everything as usual.
    """

    def __init__(self) -> None:
        self._functions: list[FunctionType] | None = None
        self._marked: list[FunctionType] = []

    def __enter__(self) -> None:
        if "torch._dynamo" in sys.modules:
            return
        if self._functions is None:
            self._functions = list(_hidden())
        for function in self._functions:
            if not hasattr(function, _MARK):
                setattr(function, _MARK, function)
                self._marked.append(function)

    def __exit__(self, *_: object) -> None:
        while self._marked:
            delattr(self._marked.pop(), _MARK)


def _hidden() -> Iterator[FunctionType]:
    """Yield the functions behind reference implementations that torch would hide from its compiler."""
    seen = set[int]()
    waiting: list[Any] = []
    for room, module in list(sys.modules.items()):
        if room.startswith(_ROOMS):
            waiting.extend(vars(module).values())
    while waiting:
        value = waiting.pop()
        if not isinstance(value, FunctionType) or id(value) in seen:
            continue
        seen.add(id(value))
        code = value.__code__
        if not code.co_filename.endswith(_WRAPPERS):
            continue
        held = {
            name: cell.cell_contents
            for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True)
        }
        waiting.extend(held.values())
        hidden = held.get("fn")
        if code.co_name == "inner" and isinstance(hidden, FunctionType):
            yield hidden
