"""The fork guard: examine this process before each fork, and report or refuse forks that break the child.

In an environment with `coldfork guard install`, every interpreter imports this module at its start. So it
imports only modules that such an interpreter loads anyway; the rest is imported when it is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType

    from coldfork.start.guard.process import ProcessGuard
    from coldfork.start.guard.protocols import ModeRequest, Permission

VARIABLE = "COLDFORK_GUARD"
OFF = "off"
MODES = ("strict", "raise", "warn", "log", OFF)
DEFAULT = "warn"


def guard(mode: str | None = None) -> Guarding:
    """Examine this process before each fork from now on, and report forks that would break the child.

    `"warn"` and `"log"` let the fork happen and report it; `"raise"` raises `UnsafeForkError` in place of a
    fork whose child is known to break; `"strict"` does so even if the child would break only by touching what
    it inherits; `"off"` turns the guard off. Without a mode, the variable COLDFORK_GUARD sets it, by default
    to `"warn"`. The call takes effect at once and for the whole process. As `with guard(...):` it ends with
    the block.
    """
    chosen = checked(mode) if mode is not None else from_environment() or DEFAULT
    return Guarding(chosen)


def allow_fork(reason: str) -> Allowing:
    """Let the forks of this block happen despite all reasons against them; `reason` is logged.

    This applies to the calling thread or task in this process, and not to its children.
    """
    if not str(reason or "").strip():
        from coldfork.model.errors import UsageError

        raise UsageError('allow_fork() needs a reason: allow_fork("the child runs exec at once")')
    return Allowing(reason.strip())


class Guarding:
    """The result of `guard`, which has set the mode; used in a `with` statement, it restores the earlier
    mode.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.is_block: bool = False
        self.replaces: ModeRequest | None = None
        """The preceding plain call, until it is certain that this is a block."""
        _process_guard(mode).push(self)

    def __enter__(self) -> Guarding:
        self.is_block = True
        _process_guard(self.mode).enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _process_guard(self.mode).remove(self)

    def __repr__(self) -> str:
        return f"<coldfork.guard({self.mode!r})>"


class Allowing:
    """The result of `allow_fork`, for use in a `with` statement."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.pid: int = 0
        self._tokens: list[Token[Permission | None]] = []

    def __enter__(self) -> Allowing:
        from coldfork.start.guard.process import ALLOWED

        self.pid = os.getpid()
        self._tokens.append(ALLOWED.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from coldfork.start.guard.process import ALLOWED

        ALLOWED.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"<coldfork.allow_fork({self.reason!r})>"


def checked(mode: str) -> str:
    """Return the mode if it is valid; else raise an error."""
    if mode not in MODES:
        from coldfork.model.errors import UsageError

        names = ", ".join(f'"{known}"' for known in MODES)
        raise UsageError(f"there is no guard mode {mode!r}; the modes are {names}")
    return mode


def from_environment() -> str | None:
    """Return the mode that COLDFORK_GUARD sets; None if the variable is unset or empty."""
    asked = os.environ.get(VARIABLE, "").strip().lower()
    if not asked:
        return None
    if asked not in MODES:
        from coldfork.model.errors import UsageError

        raise UsageError(f"{VARIABLE}={asked} is not a mode; choose {', '.join(MODES)}")
    return asked


def _process_guard(mode: str) -> ProcessGuard:
    if sys.platform != "linux" and mode != OFF:
        from coldfork.model.errors import UsageError

        raise UsageError(f"the fork guard needs Linux, but this is {sys.platform}")
    from coldfork.start.guard.process import HERE

    return HERE
