"""Threads that a captured region starts: what they do would not be in the graph."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from types import TracebackType
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


class ThreadStarts:
    """Watches the threads and the thread pools that the capturing thread gives work to."""

    def __init__(self, recorder: Recorder, operators: Operators) -> None:
        self._recorder = recorder
        self._operators = operators

    def __enter__(self) -> None:
        recorder, operators = self._recorder, self._operators
        self._start, self._submit = (
            threading.Thread.start,
            concurrent.futures.ThreadPoolExecutor.submit,
        )
        start, submit = self._start, self._submit

        def started(thread: Any) -> None:
            if threading.get_ident() == recorder.thread:
                thread.run = _watched(thread.run, recorder, operators)
            start(thread)

        def submitted(executor: Any, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == recorder.thread:
                work = _watched(work, recorder, operators)
            return submit(executor, work, *args, **kwargs)

        threading.Thread.start = started  # type: ignore[assignment,method-assign]
        concurrent.futures.ThreadPoolExecutor.submit = submitted  # type: ignore[method-assign]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        threading.Thread.start = self._start  # type: ignore[method-assign]
        concurrent.futures.ThreadPoolExecutor.submit = self._submit  # type: ignore[method-assign]


def _watched(work: Callable[..., Any], recorder: Recorder, operators: Operators) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        if not recorder.capturing:
            return work(*args, **kwargs)
        with Elsewhere(recorder, operators):
            return work(*args, **kwargs)

    return run
