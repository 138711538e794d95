"""How a process came to be, as the kernel and its command line tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from coldfork.model.running.processes import StartedBy
from coldfork.observe.processes.table import Standing

# What multiprocessing, billiard, multiprocess and loky give to `python -c` or `-m`.
_SPAWNED = re.compile(r"from [\w.]+\.spawn import spawn_main\b|\A[\w.]+\.popen_loky_posix\Z")
_SPAWN_OPTIONS = ("--multiprocessing-fork", "--billiard-fork")
_FORKSERVER = re.compile(r"from [\w.]*forkserver import main\b")
_TRACKER = re.compile(r"from [\w.]*(?:resource_tracker|semaphore_tracker) import main\b")

FORKSERVER = "forkserver"
TRACKER = "resource tracker"


def role(words: Sequence[str]) -> str | None:
    """What a process does for multiprocessing, as the command line says with which it was started."""
    code = _code(words)
    if _FORKSERVER.search(code):
        return FORKSERVER
    return TRACKER if _TRACKER.search(code) else None


def how_started(standing: Standing, words: Sequence[str], parent: Standing | None) -> StartedBy:
    """How a process came to be.

    A fork has its parent's command line. So what a server for forks was started with says of its children
    that they were forked by it.
    """
    # Where the kernel keeps no such note, a copy still has the addresses that an exec would have drawn anew.
    copied = standing.forked or (not standing.is_noted and parent is not None and standing.is_copy_of(parent))
    if copied:
        return StartedBy.FORKSERVER if role(words) == FORKSERVER else StartedBy.FORK
    if not standing.is_noted and (parent is None or not any(standing.layout)):
        return StartedBy.UNKNOWN
    return StartedBy.SPAWN if _is_spawned(words) else StartedBy.EXEC


def _is_spawned(words: Sequence[str]) -> bool:
    if any(option in words for option in _SPAWN_OPTIONS):
        return True
    return any(_SPAWNED.search(word) for word in words[1:])


def _code(words: Sequence[str]) -> str:
    """What stands behind `-c`."""
    return next((behind for word, behind in pairwise(words) if word == "-c"), "")
