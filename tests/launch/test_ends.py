"""How processes ended, told from outside: by the kernel, and by one that is not at hand."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from coldfork.launch.watch import ends
from coldfork.launch.watch.ends import Ended, KernelQueue, PidDescriptors

linux = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
LONG = 60.0


def child(code: int | None, number: int = 0) -> int:
    """A process that waits for a byte before it ends."""
    pid = os.fork()
    if pid:
        return pid
    if code is None:
        os.kill(os.getpid(), number)
    os._exit(code or 0)


@linux
@pytest.mark.parametrize(
    ("code", "number", "ended"),
    [(0, 0, (0, None)), (3, 0, (3, None)), (None, signal.SIGKILL, (None, 9))],
)
def test_an_end_is_told_before_anybody_waits(
    code: int | None, number: int, ended: tuple[int | None, int | None]
) -> None:
    pid = child(code, number)
    hearing = PidDescriptors()
    assert hearing.attend(pid)
    (found,) = hearing.wait(LONG)
    os.waitpid(pid, 0)
    assert found == Ended(pid, *ended)
    assert hearing.wait(0) == []
    hearing.close()


@linux
def test_an_end_is_told_after_somebody_waited_where_the_kernel_keeps_it() -> None:
    hearing = PidDescriptors()
    pid = child(3)
    assert hearing.attend(pid)
    os.waitpid(pid, 0)
    (found,) = hearing.wait(LONG)
    release = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2]))
    assert found == (Ended(pid, 3) if release >= (6, 15) else Ended(pid))


@linux
def test_a_process_that_is_gone_is_not_attended() -> None:
    pid = child(0)
    os.waitpid(pid, 0)
    assert not PidDescriptors().attend(pid)


@dataclass(frozen=True)
class Event:
    """The structure that `kqueue` takes and gives."""

    ident: int
    filter: int
    flags: int
    fflags: int
    data: int = 0


class Queue:
    """A kernel queue that remembers what it was asked, and answers as macOS does."""

    def __init__(self, answers: list[Event]) -> None:
        self.asked: list[Event] = []
        self._answers = answers

    def control(self, changes: list[Event] | None, most: int, seconds: float) -> list[Event]:
        if changes:
            if changes[0].ident == 404:
                raise ProcessLookupError
            self.asked += changes
        return self._answers[:most]

    def close(self) -> None:
        self._answers = []


class System:
    """The part of the module `select` that macOS has and Linux has not."""

    KQ_EV_ADD, KQ_EV_ONESHOT, KQ_NOTE_EXIT, KQ_FILTER_PROC = 1, 16, 0x80000000, -5
    kevent = Event

    def __init__(self, answers: list[Event]) -> None:
        self.queue = Queue(answers)

    def kqueue(self) -> Queue:
        return self.queue


def test_the_queue_of_macos_tells_the_status_with_the_end() -> None:
    told = 0x80000000 | 0x04000000
    system: Any = System(
        [Event(7, -5, 1, told, 3 << 8), Event(8, -5, 1, told, 9), Event(9, -5, 1, 1 << 31, 0)]
    )
    hearing = KernelQueue(system)
    assert hearing.attend(7)
    assert not hearing.attend(404)
    (asked,) = system.queue.asked
    assert (asked.ident, asked.filter, asked.flags, asked.fflags) == (7, -5, 17, told)
    assert hearing.wait(LONG) == [Ended(7, 3), Ended(8, None, 9), Ended(9)]
    hearing.close()


def test_a_system_with_neither_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    if sys.platform != "darwin":
        assert ends.chosen() is None
