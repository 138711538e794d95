"""Whether another thread can have acted is asked of the kernel, wherever Python's own count comes late."""

from __future__ import annotations

import sys

import pytest

from tests.observe.probing import ask

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="macOS counts for processes only")


def test_a_thread_that_python_has_not_counted_yet_is_not_overlooked() -> None:
    told = ask("""
        import _thread, time
        from coldfork.observe.stacks.windows import Windows

        def work():
            gate.acquire()
            sum(range(200_000))
            ended.release()

        windows = Windows()
        windows.keep(windows.now())
        gate, ended = _thread.allocate_lock(), _thread.allocate_lock()
        gate.acquire()
        ended.acquire()
        sys.setswitchinterval(1_000)  # the thread is counted when it first has the interpreter
        windows.starts += 1
        _thread.start_new_thread(work, ())
        counted = _thread._count()
        windows.keep(windows.now())
        gate.release()
        ended.acquire()
        while _thread._count():
            time.sleep(0.001)
        tell(counted=counted, alone=windows.alone())
    """)
    assert told == {"counted": 0, "alone": False}


def test_who_has_never_started_a_thread_is_alone() -> None:
    told = ask("""
        from coldfork.observe.stacks.windows import Windows

        windows = Windows()
        windows.keep(windows.now())
        tell(alone=windows.alone())
    """)
    assert told == {"alone": True}


def test_a_probe_looks_once_more_when_the_last_thread_has_ended() -> None:
    told = ask("""
        from coldfork.observe.probing import Probe

        class Looks:
            times = 0

            def poll(self):
                self.times += 1

        looks = Looks()
        Probe._settle(None, looks)
        tell(threads=len(sys._current_frames()), looked=looks.times)
    """)
    assert told == {"threads": 1, "looked": 1}


def test_a_thread_that_nobody_saw_running_costs_no_certainty_once_the_kernel_has_ended_it() -> None:
    told = ask("""
        import _thread, os, time
        from coldfork.observe.stacks.windows import Windows

        windows = Windows()
        windows.keep(windows.now())
        ended = _thread.allocate_lock()
        ended.acquire()
        windows.starts += 1
        _thread.start_new_thread(ended.release, ())
        ended.acquire()
        while len(os.listdir("/proc/self/task")) > 1:
            time.sleep(0.001)
        windows.keep(windows.now())
        mark = windows.now()
        tell(alone=windows.alone(), certain=isinstance(mark, int))
    """)
    assert told == {"alone": True, "certain": True}
