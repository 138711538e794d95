"""Plants a failure into one function of coldfork, at one of its calls."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class PlantedError(Exception):
    """The failure that was planted."""


def functions_of(package: str) -> dict[str, types.FunctionType]:
    """Every function and method written in a package, by its full name."""
    root = importlib.import_module(package)
    names = [package, *(found.name for found in pkgutil.walk_packages(root.__path__, f"{package}."))]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    return {
        f"{function.__module__}.{function.__qualname__}": function
        for module in modules
        for held in (module, *_classes(module))
        for function in map(_function, vars(held).values())
        if function is not None and _is_written_in(function, module)
    }


def _classes(module: types.ModuleType) -> list[type]:
    return [
        one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__
    ]


def _function(held: object) -> types.FunctionType | None:
    if isinstance(held, property):
        held = held.fget
    if isinstance(held, (staticmethod, classmethod)):
        held = held.__func__
    held = getattr(held, "__wrapped__", held)
    return held if isinstance(held, types.FunctionType) else None


def _is_written_in(function: types.FunctionType, module: types.ModuleType) -> bool:
    """Whether it is the module's own, and can be given other code: one without variables from outside."""
    written = function.__code__.co_filename == module.__file__
    return written and function.__module__ == module.__name__ and not function.__code__.co_freevars


def calls(work: Callable[[], T]) -> tuple[T, Counter[types.CodeType]]:
    """The result of some work, and how often it calls each function."""
    seen: Counter[types.CodeType] = Counter()

    def note(frame: types.FrameType, event: str, _: object) -> None:
        # A generator is resumed by the same event: it begins where its first instruction is next.
        if event == "call":
            seen[frame.f_code] += 1

    sys.setprofile(note)
    try:
        return work(), seen
    finally:
        sys.setprofile(None)


@contextmanager
def planted(function: types.FunctionType, at: int) -> Iterator[None]:
    """While this lasts, one call of the function fails: the first, or another by its number."""
    code, made = function.__code__, 0
    original = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__

    def call(*positional: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        if made == at:
            raise PlantedError(f"planted in {function.__qualname__}")
        return original(*positional, **named)

    function.__globals__["_planted_call"] = call
    with warnings.catch_warnings():
        # To make a plain function of a generator is deprecated from Python 3.13 on: it is for a moment.
        warnings.simplefilter("ignore", DeprecationWarning)
        function.__code__ = _stand_in.__code__
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            function.__code__ = code
        del function.__globals__["_planted_call"]


def _stand_in(*positional: Any, **named: Any) -> Any:
    return _planted_call(*positional, **named)  # type: ignore[name-defined]  # noqa: F821
