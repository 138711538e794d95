"""The way of doing a job's work that was asked for."""

from __future__ import annotations

import sys

from speech_notes.launch.forked import Forked
from speech_notes.launch.isolated import Isolated
from speech_notes.launch.launcher import Launcher
from speech_notes.launch.pooled import Pooled
from speech_notes.settings import Settings

LAUNCHES = ("pool", "isolated", "fork")


def launcher(settings: Settings) -> Launcher:
    """The launcher that was asked for, ready to work."""
    if settings.launch == "fork":
        return Forked(settings)
    return Isolated(settings) if settings.launch == "isolated" else Pooled(settings)


def explain_missing(settings: Settings) -> str | None:
    """Why jobs could not be run on this machine, if that is known before the first one."""
    if settings.launch != "fork" and not sys.platform.startswith("linux"):
        return "this needs Linux, where what a job leaves behind can be found and ended"
    return None
