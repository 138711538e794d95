"""Ends a hanging command after each of its Python processes has dumped its threads' stacks."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO

from coldfork.launch.outside.kernel import Kernel

ASKED = "Process {}: asked for its stacks, {}"
"""Precedes a process's stacks in the log; `logs/dumps.py` reads the pid from it."""
FAULTHANDLER = "PYTHONFAULTHANDLER"
"""With this variable, Python writes the stacks of all its threads on SIGABRT."""
_PATIENCE = 2.0
"""How many seconds a process has to write its stacks and die from the signal."""


def ended(root: int, log: IO[bytes], catch_up: Callable[[], None], *, spare_root: bool) -> tuple[int, ...]:
    """End a process and its descendants, deepest first, each after a stack dump; return those that were
    asked.

    `catch_up` waits until all that they wrote is in the log: each dump belongs below its process's line.
    This works on Linux; elsewhere the command is merely ended. All processes are stopped before the first is
    ended, so that none replaces a dead one.
    """
    if not sys.platform.startswith("linux"):
        _sent(root, signal.SIGTERM)
        return ()
    tree = tuple(_below(root))
    for pid in (root, *tree):
        _sent(pid, signal.SIGSTOP)
    asked = tuple(reversed(tree)) if spare_root and tree else (*reversed(tree), root)
    for pid in asked:
        catch_up()
        log.flush()
        log.write(f"\n{ASKED.format(pid, _words(pid))}\n".encode())
        log.flush()
        _aborted(pid)
    for pid in (*asked, *_below(root)):
        _sent(pid, signal.SIGKILL)
    _sent(root, signal.SIGCONT)
    return asked


def _below(root: int) -> Iterator[int]:
    """Yield the descendants of a process, parents before their children."""
    kernel = Kernel()
    children: dict[int, list[int]] = {}
    for pid in kernel.pids():
        with suppress(OSError, ValueError):
            children.setdefault(kernel.standing(pid).parent, []).append(pid)
    waiting = children.get(root, [])
    while waiting:
        yield from waiting
        waiting = [child for pid in waiting for child in children.get(pid, [])]


def _words(pid: int) -> str:
    try:
        return " ".join(Kernel().words(pid)) or "which has ended"
    except (OSError, ValueError):
        return "which has ended"


def _aborted(pid: int) -> None:
    """Send SIGABRT, without a core dump, and wait until the process has died."""
    import resource

    with suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    try:
        watched = os.pidfd_open(pid)
    except OSError:
        return
    try:
        _sent(pid, signal.SIGABRT)
        _sent(pid, signal.SIGCONT)
        select.select([watched], [], [], _PATIENCE)
    finally:
        os.close(watched)
    _sent(pid, signal.SIGKILL)


def _sent(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
