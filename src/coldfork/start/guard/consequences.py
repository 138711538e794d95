"""What follows when something speaks against a fork: an error in its place, a warning, or a line in a log."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

from coldfork.model.errors import UnsafeForkError, UnsafeForkWarning
from coldfork.start.guard import messages
from coldfork.start.guard.callers import users_frame

if TYPE_CHECKING:
    from types import FrameType

    from coldfork.model.decisions import Reason

LOG = logging.getLogger("coldfork")


def speak(mode: str, call: str, reasons: tuple[Reason, ...], frame: FrameType | None) -> None:
    """Raise, warn or log, as the mode asks."""
    if mode == "raise":
        raise UnsafeForkError(messages.refusal(call, reasons), reasons, call)
    line = messages.line(call, reasons)
    if mode == "log":
        LOG.warning("%s", line)
    else:
        _warn(line, users_frame(frame))


def let_through(call: str, reasons: tuple[Reason, ...], reason: str) -> None:
    """Log a fork that was allowed although something speaks against it."""
    LOG.info("%s let through: %s. Against it: %s", call, reason, messages.clauses(reasons))


def _warn(line: str, frame: FrameType | None) -> None:
    """Warn in the line that wanted a process, wherever the fork itself stands."""
    if frame is None:
        warnings.warn(line, UnsafeForkWarning, stacklevel=2)
        return
    names = frame.f_globals
    warnings.warn_explicit(
        line,
        UnsafeForkWarning,
        frame.f_code.co_filename,
        frame.f_lineno or 0,
        module=str(names.get("__name__", "<unknown>")),
        registry=names.setdefault("__warningregistry__", {}),
    )
