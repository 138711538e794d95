"""The arguments of a pool and of its tasks, each checked where it comes in.

They are checked before a pool's server is started, and so this loads next to nothing.
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
"""The module that every worker runs, which its server has imported for all of them."""


def counted(name: str, value: object, least: int = 1) -> int | None:
    """A number of something, where one is given."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} has to be a whole number from {least} on, and not {value!r}")
    return value


def seconds(name: str, value: object) -> float | None:
    """How long something may take, where that is given; for ever, as None says it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise UsageError(f"{name} is in seconds and more than 0, and not {value!r}")
    return None if value == math.inf else value


def refuse_two_timeouts(function: Callable[..., object]) -> None:
    """Refuse to guess whose timeout is meant, where the function of a task has one of its own."""
    code = getattr(function, "__code__", None)
    if code is not None and "timeout" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        name = getattr(function, "__qualname__", repr(function))
        raise UsageError(
            f"timeout limits the task, and {name} has a parameter of that name: hand it its own as "
            f"functools.partial({name}, timeout=...), and submit that"
        )


def require_callable(initializer: object) -> None:
    """Refuse an initializer that is none."""
    if initializer is not None and not callable(initializer):
        raise UsageError("initializer has to be something that can be called")


def workers_wanted(workers: object, max_workers: object, mp_context: object) -> int | None:
    """How many workers are asked for, by the name that a pool has for it or the one that executors have."""
    if mp_context is not None:
        raise UsageError(
            "mp_context says how other executors start their processes, and those of this pool come from a "
            "clean server whatever it says: leave it out"
        )
    if max_workers is None:
        return counted("workers", workers)
    if workers is not None:
        raise UsageError("workers and max_workers are the same; give one of them")
    if isinstance(max_workers, int) and max_workers <= 0:
        # As every executor says it.
        raise ValueError("max_workers must be greater than 0")
    return counted("max_workers", max_workers)


def environment(env: Mapping[str, str | None] | None) -> Mapping[str, str | None]:
    """The variables that workers are given, each a text, or None where they are not to have it."""
    given: Mapping[Any, Any] = env or {}
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str | None):
            raise UsageError(f"env holds texts, or None for what is unset, and not {name!r}: {value!r}")
        if not name or "=" in name or "\0" in name or "\0" in (value or ""):
            raise UsageError(f"env: no environment can hold {name!r}: {value!r}")
    return env or {}


def require_found(preload: Sequence[str] | os.PathLike[str], env: Mapping[str, str | None]) -> None:
    """Refuse modules that are not there, before a server takes its time to find that out."""
    if isinstance(preload, os.PathLike) or any(name.startswith("PYTHON") for name in env):
        # They are named in a file, or looked for elsewhere.
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
    """The terms for the server of a pool's workers, checked."""
    return {**terms(preload, "fail"), "environment": dict(env), "ready": [_SERVICE]}
