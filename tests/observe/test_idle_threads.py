"""Which threads only wait, on real threads in all the ways in which they do."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from coldfork.observe.forking.idle_threads import PythonThread, other_threads

LOCK = threading.Lock()
LINES: queue.Queue[object] = queue.Queue()
ITEMS: queue.SimpleQueue[object] = queue.SimpleQueue()
EVENT = threading.Event()


def waits_on_a_queue() -> None:
    while LINES.get() is None:
        pass


def waits_on_a_simple_queue() -> None:
    ITEMS.get()


def waits_with_a_lock() -> None:
    with LOCK:
        LINES.get()


def waits_with_a_lock_taken_by_hand() -> None:
    LOCK.acquire()
    LINES.get()
    LOCK.release()


def waits_for_an_event() -> None:
    EVENT.wait()


def calculates() -> None:
    while not EVENT.is_set():
        sum(range(1000))


IDLE: dict[str, tuple[Callable[[], None], Callable[[], object]]] = {
    "queue": (waits_on_a_queue, lambda: LINES.put(1)),
    "simple queue": (waits_on_a_simple_queue, lambda: ITEMS.put(1)),
    "event": (waits_for_an_event, EVENT.set),
}
BUSY: dict[str, tuple[Callable[[], None], Callable[[], object]]] = {
    "with a lock": (waits_with_a_lock, lambda: LINES.put(1)),
    "with a lock taken by hand": (waits_with_a_lock_taken_by_hand, lambda: LINES.put(1)),
    "calculating": (calculates, EVENT.set),
}


def seen(name: str, settled: Callable[[PythonThread], bool]) -> PythonThread:
    """The thread of that name, when it has come to where it stays; in any case after a long while."""
    deadline = time.monotonic() + 60
    while True:
        (found,) = [one for one in other_threads(threading._active) if one.name == name]  # type: ignore[attr-defined]
        if settled(found) or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


@pytest.mark.parametrize("way", [*IDLE, *BUSY])
def test_a_thread_that_waits_with_nothing_locked_is_idle(way: str) -> None:
    EVENT.clear()
    work, end = (IDLE | BUSY)[way]
    begun = threading.Event()

    def run() -> None:
        begun.set()
        work()

    thread = threading.Thread(target=run, name="looked at")
    thread.start()
    begun.wait()
    try:
        found = seen("looked at", lambda one: one.idle or way in BUSY)
        assert found.idle == (way in IDLE), found.place
        if way in BUSY:
            assert found.place is not None
    finally:
        end()
        thread.join()


def test_the_threads_of_the_standard_library_that_wait_for_work_are_idle() -> None:
    executor = ThreadPoolExecutor(1, thread_name_prefix="pool")
    listener = logging.handlers.QueueListener(queue.Queue())
    listener.start()
    loop = asyncio.new_event_loop()
    running = threading.Thread(target=loop.run_forever, name="loop")
    running.start()
    executor.submit(int).result()
    monitor = listener._thread
    assert monitor is not None
    try:
        for name in ("pool_0", monitor.name, "loop"):
            assert seen(name, lambda one: one.idle).idle, name
    finally:
        loop.call_soon_threadsafe(loop.stop)
        running.join()
        loop.close()
        listener.stop()
        executor.shutdown()


def test_a_thread_that_imports_has_the_lock_of_that_module(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "slow_to_import.py").write_text(
        "import test_idle_threads_gate as gate\ngate.begun.set()\ngate.over.wait()\n"
    )
    (tmp_path / "test_idle_threads_gate.py").write_text(
        "import threading\nbegun, over = threading.Event(), threading.Event()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import test_idle_threads_gate as gate  # type: ignore[import-not-found]

    thread = threading.Thread(target=lambda: __import__("slow_to_import"), name="importer")
    thread.start()
    gate.begun.wait()
    try:
        found = seen("importer", lambda one: one.importing is not None)
        assert (found.importing, found.idle) == ("slow_to_import", False)
    finally:
        gate.over.set()
        thread.join()
