"""The consequences of reasons against a fork: an error in its place, a warning, or a log line."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

from coldfork.model.decisions import fork_judgement
from coldfork.model.errors import UnsafeForkError, UnsafeForkWarning
from coldfork.model.forking.judgement import Judgement
from coldfork.start.guard import messages
from coldfork.start.guard.callers import users_frame

if TYPE_CHECKING:
    from types import FrameType

    from coldfork.model.decisions import Reason

LOG = logging.getLogger("coldfork")


REFUSED = {"raise": Judgement.BREAKS, "strict": Judgement.BREAKS_IF}
"""The mildest judgement that each mode refuses; modes that are not listed refuse nothing."""


def speak(mode: str, call: str, reasons: tuple[Reason, ...], frame: FrameType | None) -> None:
    """Refuse the fork, warn, or log, depending on the mode."""
    least = REFUSED.get(mode)
    if least is not None and fork_judgement(reasons).rank >= least.rank:
        raise UnsafeForkError(messages.refusal(call, reasons), reasons, call)
    line = messages.line(call.partition(" ")[0], reasons)
    if mode == "log":
        LOG.warning("%s", line)
    elif mode == "warn":
        _warn(line, users_frame(frame))
    else:
        _only_warn(line, users_frame(frame))


def let_through(call: str, reasons: tuple[Reason, ...], reason: str) -> None:
    """Log a fork that was allowed despite reasons against it."""
    LOG.info("%s was allowed: %s. Reasons against it: %s", call, reason, messages.clauses(reasons))


def _only_warn(line: str, frame: FrameType | None) -> None:
    """Warn without refusing the fork; if warnings are errors, log it instead."""
    try:
        _warn(line, frame)
    except UnsafeForkWarning:
        LOG.warning("%s", line)


def _warn(line: str, frame: FrameType | None) -> None:
    """Warn at the program's line that requested a process, even if a library does the fork."""
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
