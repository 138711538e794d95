"""Check the arguments of a pool and of its tasks when they are passed.

This happens before a pool's server is started, so this module imports next to nothing.
"""

from __future__ import annotations

import math
import os
import sys

from coldfork.launch.server.zygote.requests import terms
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_SERVICE = "coldfork.launch.pool.local.service"
"""The module that every worker runs; the server imports it once for all of them."""


def counted(name: str, value: object, least: int = 1) -> int | None:
    """Check a count and return it; None if it was omitted."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} has to be a whole number, {least} or more, not {value!r}")
    return value


def seconds(name: str, value: object) -> float | None:
    """Check a duration, and return it; None means without limit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise UsageError(f"{name} has to be a number of seconds above 0, not {value!r}")
    return None if value == math.inf else value


def refuse_two_timeouts(function: Callable[..., object]) -> None:
    """Refuse a timeout that could be meant either for the task or for a parameter of its function."""
    code = getattr(function, "__code__", None)
    if code is not None and "timeout" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        name = getattr(function, "__qualname__", repr(function))
        raise UsageError(
            f"timeout limits the task, and {name} also has a parameter of that name: submit "
            f"functools.partial({name}, timeout=...) to set the function's own"
        )


def require_callable(initializer: object) -> None:
    """Refuse an initializer that cannot be called."""
    if initializer is not None and not callable(initializer):
        raise UsageError("initializer has to be callable")


def workers_wanted(workers: object, max_workers: object, mp_context: object) -> int | None:
    """Return the number of workers requested by the pool's own parameter or by that of standard executors."""
    if mp_context is not None:
        raise UsageError(
            "leave out mp_context: this pool forks its workers from a clean server, with any start method"
        )
    if max_workers is None:
        return counted("workers", workers)
    if workers is not None:
        raise UsageError("give workers or max_workers, not both: they are the same")
    if isinstance(max_workers, int) and max_workers <= 0:
        # The same error as in the standard library's executors.
        raise ValueError("max_workers must be greater than 0")
    return counted("max_workers", max_workers)


def environment(env: Mapping[str, str | None] | None) -> Mapping[str, str | None]:
    """Check the variables for workers: each value is a string, or None to remove the variable."""
    given: Mapping[Any, Any] = env or {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str | None):
            raise UsageError(f"env takes texts, or None to unset a variable, not {name!r}: {value!r}")
        if not name or "=" in name or "\0" in name or "\0" in (value or ""):
            raise UsageError(f"env: {name!r}: {value!r} cannot be in an environment")
    return env or {}


def require_found(preload: Sequence[str] | os.PathLike[str], env: Mapping[str, str | None]) -> None:
    """Refuse missing modules now, before a server spends time on starting."""
    if isinstance(preload, os.PathLike) or any(name.startswith("PYTHON") for name in env):
        # A file lists the modules, or another import path applies: leave the check to the server.
        return
    from importlib.util import find_spec

    for name in [preload] if isinstance(preload, str) else preload:
        top = name.partition(".")[0]
        try:
            is_there = top in sys.modules or find_spec(top) is not None
        except (ImportError, ValueError):
            is_there = False
        if not is_there:
            raise UsageError(f"preload: there is no module {top!r} here")


def server_terms(preload: Sequence[str] | os.PathLike[str], env: Mapping[str, str | None]) -> dict[str, Any]:
    """Check the options for the server that forks a pool's workers, and return them."""
    return {**terms(preload, "fail"), "environment": dict(env), "ready": [_SERVICE]}
