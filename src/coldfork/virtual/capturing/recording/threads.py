"""Threads that a captured region starts: what they do would not be in the graph."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from coldfork.virtual.capturing.operators.compiler import UncompiledMode
from coldfork.virtual.capturing.operators.schemas import Operators, Way
from coldfork.virtual.capturing.recording.recorder import Recorder

_HARMLESS = frozenset((Way.VIEW, Way.PASS))


class Elsewhere(UncompiledMode):
    """Refuses work for the device on a thread that does not capture, while another one does."""

    def __init__(self, recorder: Recorder, operators: Operators) -> None:
        super().__init__()
        self._recorder = recorder
        self._operators = operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = self._operators.of(func)
        if self._recorder.capturing and operator.way not in _HARMLESS:
            raise self._recorder.refuse(
                f"{operator.name} on the thread {threading.current_thread().name}",
                "is work of another thread than the one that captures",
            )
        return func(*args, **kwargs or {})


@contextmanager
def watched_threads(recorder: Recorder, operators: Operators) -> Iterator[None]:
    """Watch the threads and the thread pools that the capturing thread gives work to."""
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def started(thread: Any) -> None:
        if threading.get_ident() == recorder.thread:
            thread.run = _watched(thread.run, recorder, operators)
        start(thread)

    def submitted(executor: Any, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == recorder.thread:
            work = _watched(work, recorder, operators)
        return submit(executor, work, *args, **kwargs)

    threading.Thread.start = started  # type: ignore[assignment,method-assign]
    ThreadPoolExecutor.submit = submitted  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]


def _watched(work: Callable[..., Any], recorder: Recorder, operators: Operators) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if not recorder.capturing:
            return work(*args, **kwargs)
        with Elsewhere(recorder, operators):
            return work(*args, **kwargs)

    return run
