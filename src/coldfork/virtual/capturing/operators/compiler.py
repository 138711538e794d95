"""Keeping torch's compiler out: its import takes seconds, and it would compile modes as well."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_MARK = "__dynamo_disable"
"""Where torch keeps the version of a function that its compiler does not look into."""

_HIDDEN = "_hidden_from_compiler"

_WRAPPERS = ("_compile.py", "wrappers.py", "decompositions.py")
"""Where the layers around a reference implementation are written."""

_ROOMS = ("torch._refs", "torch._decomp", "torch._prims")


class UncompiledMode(TorchDispatchMode):  # type: ignore[misc]
    """A dispatch mode for which torch's compiler is not imported, and which sees what was compiled run."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import its compiler here, only to tell it not to look."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Torch would otherwise not run what it has compiled, but the functions that it was compiled from."""
        return True

    def __enter__(self) -> Any:
        """Begin; where the compiler is there, it is told not to look."""
        hide_from_compiler(type(self))
        return super().__enter__()


def hide_from_compiler(kind: type[UncompiledMode]) -> None:
    """Have a mode's own function run as it is, where torch's compiler has been imported by now."""
    if "torch._dynamo" in sys.modules and not hasattr(kind.__torch_dispatch__, _HIDDEN):
        hidden = torch._disable_dynamo(kind.__torch_dispatch__, recursive=True)
        setattr(hidden, _HIDDEN, True)
        kind.__torch_dispatch__ = hidden


class KeptOut:
    """Lets torch's reference implementations run without importing torch._dynamo.

    Each of them would import it on its first use, only to tell it not to look inside. Whoever imports the
    compiler later finds everything as it was.
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
    """What torch would hide from its compiler, found behind its reference implementations."""
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
