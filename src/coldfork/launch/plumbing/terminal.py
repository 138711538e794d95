"""Start a program and wait for it unnoticed: signals, Ctrl-C and Ctrl-Z work as if it ran alone.

The program is a child in the same process group, so that the terminal's own signals reach it directly. A
signal that is sent to this process alone is passed on. When the program stops, this process stops, so that a
shell sees the job stopped; when the program has died from a signal, this process dies from the same one.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from coldfork.launch.plumbing import last_will, spawn
from coldfork.launch.plumbing.group_witness import GroupWitness
from coldfork.launch.plumbing.last_will import LastWill
from coldfork.launch.plumbing.linux import kernel
from coldfork.model.errors import UsageError
from coldfork.observe.processes.endings import die_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    class Attended(Protocol):
        """A program that is waited for, whether a child or not. SIGCHLD announces news of it."""

        @property
        def apart(self) -> bool:
            """Return whether the program has its own session, where signals of our terminal do not
            reach it.
            """

        def news(self) -> Iterator[Stopped | Continued | Ending]:
            """Yield what has happened to the program since the last call, without waiting."""

        def left(self) -> float | None:
            """Return the seconds until the program must be checked even without news; None for never."""

        def look(self) -> None:
            """Check the program, after `left` seconds."""

        def hand_on(self, number: int) -> None:
            """Send the program a signal."""


#: A process gets these signals for its own faults, so they are not passed on.
_FAULTS = {
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGSEGV,
    signal.SIGSYS,
}
_OF_TERMINALS = {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH, signal.SIGHUP}
#: The code by which Linux marks a signal that the kernel itself sent, such as a terminal's to its whole
#: group.
_SI_KERNEL = 0x80
#: macOS does not report the sender of a signal.
_CAN_TELL = hasattr(signal, "sigwaitinfo")


class Ending:
    """The end of a program: with a status, or by a signal."""

    def __init__(self, status: int | None, signal: int | None) -> None:
        self.status = status
        self.signal = signal


class Stopped:
    """The news that a program was stopped by this signal."""

    def __init__(self, signal: int) -> None:
        self.signal = signal


class Continued:
    """The news that a stopped program continues."""


def run(
    command: Sequence[str], variables: Mapping[str, str], started: Callable[[int], None] = lambda child: None
) -> tuple[int, Ending]:
    """Run a program until it ends; return its pid and how it ended. `started` gets the pid at once."""
    die_with_us = _death_signal()
    child = 0
    will: LastWill | None = None

    def start(signals: Signals) -> Attended:
        nonlocal child, will
        will = LastWill(kernel.process_control()) if last_will.supported() else None

        def prepare() -> None:
            signals.put_back()
            if will is not None:
                will.take_over()

        try:
            child = _start(command, variables, prepare, die_with_us)
        finally:
            if will is not None:
                will.begun()
        started(child)
        return _Child(child)

    try:
        ending = attend(start, die_with_us)
        return child, ending
    finally:
        if will is not None:
            will.dismiss()


def attend(
    start: Callable[[Signals], Attended],
    die_with_us: Callable[[], None] | None = None,
    received: Callable[[int], object] = lambda number: None,
) -> Ending:
    """Start a program and wait for its end; `received` is called for every signal that arrives meanwhile."""
    signals = Signals(received)
    with signals:
        witness = GroupWitness(signals.taken, die_with_us or _death_signal()) if _CAN_TELL else None
        try:
            return _Attendance(start(signals), signals, witness).until_its_end()
        finally:
            if witness is not None:
                witness.dismiss()


def end_like(ending: Ending) -> int:
    """End this process in the same way as the program: return its exit status, or die from its signal."""
    if ending.signal is None:
        return ending.status or 0
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    return die_of(ending.signal)


class Signals:
    """Blocks every signal, so that signals are handled one by one, and none before the program exists."""

    def __init__(self, received: Callable[[int], object]) -> None:
        self.received = received
        valid: Iterable[int] = signal.valid_signals()
        self.taken: frozenset[int] = frozenset(set(valid) - _FAULTS - {signal.SIGKILL, signal.SIGSTOP})
        self.mask: Iterable[int] = ()
        """The signals that were blocked before."""
        self._former: dict[int, object] = {}

    def __enter__(self) -> None:
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.taken)
        for number in (signal.SIGCHLD, signal.SIGCONT):
            # Without a handler, some systems drop a blocked signal that is ignored by default.
            self._former[number] = signal.signal(number, lambda number, frame: None)

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "sigtimedwait"):
            # These signals were meant for the program, but came too late; they must not hit us once signals
            # are unblocked.
            while late := signal.sigtimedwait(self.taken - {signal.SIGTERM, signal.SIGHUP}, 0):
                self.received(late.si_signo)
        self.put_back()

    def put_back(self) -> None:
        """Restore the earlier handling of signals."""
        for number, former in self._former.items():
            signal.signal(number, former)  # type: ignore[arg-type]
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)


class _Attendance:
    """The wait for one program."""

    def __init__(self, child: Attended, signals: Signals, witness: GroupWitness | None) -> None:
        self._child = child
        self._taken = signals.taken
        self._received = signals.received
        self._witness = witness
        self._stopped = False

    def until_its_end(self) -> Ending:
        """Wait for the program's end, and pass on the signals that are sent to us meanwhile."""
        while True:
            number, by_terminal = _next_signal(self._taken, self._child.left())
            if number is not None:
                self._received(number)
            if number is None:
                self._child.look()
            elif number == signal.SIGCHLD:
                ending = self._look()
                if ending is not None:
                    return ending
            elif number == signal.SIGCONT:
                self._go_on()
            elif self._child.apart or not (self._reached_it(number) or by_terminal):
                self._child.hand_on(number)

    def _reached_it(self, number: int) -> bool:
        return self._witness is not None and self._witness.heard(number)

    def _look(self) -> Ending | None:
        for news in self._child.news():
            if isinstance(news, Ending):
                return news
            self._stopped = isinstance(news, Stopped)
            if isinstance(news, Stopped):
                self._stop_too(news.signal)
        return None

    def _stop_too(self, number: int) -> None:
        if number == signal.SIGSTOP:
            # If no shell manages the terminal, the process that later continues the program may not know that
            # we stopped.
            if _in_foreground():
                os.kill(os.getpid(), number)
            return
        if signal.SIGCONT in signal.sigpending():
            # SIGCONT has already arrived: the program runs again, and we need not stop.
            return
        # Sent while it is blocked, so that it merges with the same signal if that is pending: we stop only
        # once.
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.pthread_sigmask(signal.SIG_BLOCK, {number} & self._taken)
        if self._witness is not None:
            self._witness.forget(number)

    def _go_on(self) -> None:
        """Continue the program, unless SIGCONT has reached it directly, as it does if a shell sent it."""
        if self._stopped and (self._child.apart or not self._reached_it(signal.SIGCONT)):
            self._child.hand_on(signal.SIGCONT)


class _Child:
    """A program that is our own child."""

    apart = False

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def news(self) -> Iterator[Stopped | Continued | Ending]:
        """Yield what the system reports about the child."""
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if pid == 0:
                return
            if os.WIFEXITED(status):
                yield Ending(os.WEXITSTATUS(status), None)
                return
            if os.WIFSIGNALED(status):
                yield Ending(None, os.WTERMSIG(status))
                return
            yield Stopped(os.WSTOPSIG(status)) if os.WIFSTOPPED(status) else Continued()

    def left(self) -> None:
        """Return None: a child needs no checks."""

    def look(self) -> None:
        """Do nothing: a child needs no checks."""

    def hand_on(self, number: int) -> None:
        """Send the child a signal."""
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self._pid, number)


def _next_signal(taken: frozenset[int], seconds: float | None) -> tuple[int | None, bool]:
    """Wait for a signal; return it, and whether a terminal sent it to the program too; None on timeout."""
    if _CAN_TELL:
        received = signal.sigwaitinfo(taken) if seconds is None else signal.sigtimedwait(taken, seconds)
        if received is None:
            return None, False
        return received.si_signo, received.si_code == _SI_KERNEL
    number = signal.sigwait(taken)
    return number, number in _OF_TERMINALS and _in_foreground()


def _in_foreground() -> bool:
    """Return whether this process is in the foreground process group of its terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _start(
    command: Sequence[str],
    variables: Mapping[str, str],
    put_back: Callable[[], None],
    die_with_us: Callable[[], None],
) -> int:
    """Start the program as a child; raise `UsageError` if it cannot be started."""
    try:
        return spawn.start(command[0], list(command), variables, put_back, die_with_us)
    except spawn.Refused as refused:
        raise UsageError(f"cannot start {command[0]}: {os.strerror(refused.errno)}") from None


def _death_signal() -> Callable[[], None]:
    """Return a function that makes the program die with us; it would otherwise run on unattended."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    control = kernel.process_control()
    return lambda: kernel.die_with_parent(control)
