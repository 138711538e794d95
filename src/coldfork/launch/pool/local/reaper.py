"""The reaper: the parent of each worker, which kills what the worker leaves, and everything if the caller
dies.

A task may fork children that outlive it in sessions of their own. Only an ancestor that adopts orphans can
find these children once the worker is dead. The pool's process cannot be that ancestor, because it is the
user's program, which should not adopt orphans.
"""

from __future__ import annotations

import gc
import os
import select
import signal
from contextlib import suppress
from time import monotonic, sleep

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import writable
from coldfork.launch.pool import wire
from coldfork.observe.processes.endings import end_as

_PATIENCE = 5.0
"""How long killed processes may take to end."""


def stay_above(caller: int, answers: int, permits: int) -> None:
    """Fork the worker, and return in it; this process stays its parent as its reaper.

    The reaper reports through the pipe `answers` how the worker has ended, because the caller may not be able
    to wait for the worker. The writing end of `permits` is open in the caller alone, even after an exec.
    """
    control = kernel.process_control()
    # In a group of its own, the reaper survives Ctrl-C at a terminal and tasks that signal their own group.
    os.setpgid(0, 0)
    if not kernel.adopt_orphans(control):
        return
    reaper = os.getpid()
    worker = os.fork()
    if worker == 0:
        kernel.die_with_parent(control)
        if os.getppid() != reaper:
            os._exit(1)
        os.setpgid(0, 0)
        return
    try:
        # SIGCONT wakes even a stopped reaper, which then notices that the caller is gone.
        kernel.hear_of_parent(control, signal.SIGCONT)
        status = _watched(worker, caller, answers, permits)
        _tell(answers, status)
    except BaseException:
        _end_all()
        os._exit(1)
    end_as(status)


def _watched(worker: int, caller: int, answers: int, permits: int) -> int:
    """Wait for the end of the worker or the caller, kill all that remains, and return the worker's status."""
    # The collection of an object could otherwise close a descriptor whose number has been reused.
    gc.disable()
    _close_all_but({answers, permits})
    waking = _woken_by_children()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    hearing = select.poll()
    hearing.register(waking, select.POLLIN)
    # Only the worker reads permits; the reaper waits for their other end to be closed.
    hearing.register(permits, 0)
    try:
        hearing.register(os.pidfd_open(caller), select.POLLIN)
    except ProcessLookupError:
        os.kill(worker, signal.SIGKILL)
    except OSError:
        # Without pidfds, the permits pipe shows the caller's end, because it is closed then.
        pass
    status = None
    while status is None:
        for heard, _ in hearing.poll():
            if heard != waking:
                os.kill(worker, signal.SIGKILL)
                hearing.unregister(heard)
        with suppress(BlockingIOError):
            os.read(waking, 4096)
        status = _reaped(worker)
    _end_all()
    return status


def _close_all_but(kept: set[int]) -> None:
    last = 2
    for number in (*sorted(kept), 1 << 20):
        os.closerange(last + 1, number)
        last = number


def _tell(answers: int, status: int) -> None:
    """Report how the worker has ended, if the pipe has room: the reaper never waits for a reader."""
    with suppress(OSError):
        if writable(answers, 0):
            os.write(answers, wire.end_of_worker(status))


def _woken_by_children() -> int:
    """Return a descriptor that becomes readable when a child ends."""
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # The reaper inherits the signal mask of the pool's process, which may block SIGCHLD.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    # A child may have ended before the handler was set.
    os.write(writing, b"\0")
    return reading


def _reaped(worker: int) -> int | None:
    """Wait for children that have ended; return the worker's status if it is among them."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == worker:
            status = ended


def _end_all() -> None:
    """Kill every descendant, and wait for them to end."""
    until = monotonic() + _PATIENCE
    while monotonic() < until:
        kernel.signal_all(kernel.descendants(os.getpid()), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        sleep(0.001)
