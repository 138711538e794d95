"""Starts workers, in a thread of its own: a server that imports for long keeps no answer waiting."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import ExitStack
from typing import Any

from coldfork.launch.pool.local.channels import Channels
from coldfork.launch.pool.local.outputs import LogFile, OutputPump, OutputStream, to_standard_error
from coldfork.launch.pool.local.worker import LocalWorker
from coldfork.launch.pool.working.main_module import KEYS
from coldfork.launch.pool.working.service import Descriptor, Duty, Initializer, serve
from coldfork.launch.server.zygote.handle import Zygote
from coldfork.launch.server.zygote.processes import Popen, ZygoteProcess
from coldfork.launch.server.zygote.requests import terms as zygote_terms
from coldfork.model.errors import ColdforkError, ZygoteError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from coldfork.launch.pool.terms import PoolTerms
    from coldfork.launch.server.zygote.requests import Started

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Starts:
    """What starts the workers of one pool."""

    def __init__(
        self,
        terms: PoolTerms,
        begun: Callable[[LocalWorker], None],
        unbegun: Callable[[int, str, bool], None],
    ) -> None:
        self._terms = terms
        self._begun = begun
        self._unbegun = unbegun
        self._zygote = Zygote({**zygote_terms(terms.preload, "fail"), "environment": dict(terms.env)})
        # After what may be refused, for it opens files.
        self.outputs = OutputPump()
        self._wanted: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._pause = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker pool starts", daemon=True)

    def open(self) -> None:
        """Have the server begin to import, from the thread that asks, whose end ends it, too."""
        self._zygote.start()
        self.outputs.open()
        self._thread.start()

    def start(self, place: int) -> None:
        """Start a worker for this place, by and by."""
        self._wanted.put(place)

    def again(self) -> None:
        """Take more time before the next attempt."""
        self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, self._pause * 2))

    def close(self) -> None:
        """Start none any more, and end the server."""
        self._ended.set()
        self._wanted.put(None)
        # The thread may be waiting for a server that takes long, which ends now.
        self._zygote.close()
        if self._thread.is_alive():
            self._thread.join()
        self.outputs.end()

    def _run(self) -> None:
        while True:
            place = self._wanted.get()
            if place is None or self._ended.wait(self._pause):
                return
            self._pause = 0.0
            try:
                worker = self._started(place)
            except Exception as error:
                if self._ended.is_set():
                    return
                self._tell(place, error)
            else:
                self._begun(worker)

    def _tell(self, place: int, error: Exception) -> None:
        """Say why a worker was not started, and whether that is so for good."""
        if isinstance(error, ZygoteError):
            for_good = error.module is not None
        else:
            for_good = not isinstance(error, OSError)
        known = isinstance(error, ColdforkError | OSError)
        self._unbegun(place, str(error) if known else f"{type(error).__name__}: {error}", for_good)

    def _started(self, place: int) -> LocalWorker:
        lease = self._terms.lease(place)
        with ExitStack() as opened:
            channels = Channels()
            opened.callback(channels.close)
            with ExitStack() as handed:
                handed.callback(channels.hand_over)
                output = OutputStream(self._sink(place))
                opened.callback(output.close)
                handed.callback(output.hand_over)
                streams = (1, 2) if self._terms.log_dir is not None else (2,)
                duty = Duty(
                    tasks=Descriptor(channels.theirs.fileno()),
                    permits=Descriptor(channels.permits),
                    answers=Descriptor(channels.answering),
                    outputs={number: Descriptor(output.writing) for number in streams},
                    main=dict(self._terms.main),
                    initializer=_initializer(self._terms),
                    caller=os.getpid(),
                )
                process = ZygoteProcess(target=serve, args=(duty,), name=f"coldfork-worker-{place}")
                process.daemon = False
                variables = {} if lease is None else lease.variables
                started = WorkerPopen(process, _Environment(self._zygote, variables))
            opened.pop_all()
        self.outputs.add(output)
        return LocalWorker(place, started, channels, output, lease)

    def _sink(self, place: int) -> Callable[[bytes], None]:
        if self._terms.log_dir is None:
            return to_standard_error
        return LogFile(self._terms.log_dir / f"worker-{place}.log", self._terms.most_logged).take


class WorkerPopen(Popen):
    """A worker's process, which imports the main module only when it is asked for something of it."""

    def _preparation(self, process_obj: Any) -> dict[str, Any]:
        return {name: value for name, value in super()._preparation(process_obj).items() if name not in KEYS}


class _Environment:
    """A zygote that gives its workers these variables beside those of the caller."""

    def __init__(self, zygote: Zygote, variables: Mapping[str, str]) -> None:
        self._zygote = zygote
        self._variables = variables

    @property
    def preload(self) -> tuple[str, ...]:
        return self._zygote.preload

    @property
    def on_error(self) -> str:
        return self._zygote.on_error

    @property
    def closed(self) -> bool:
        return self._zygote.closed

    def start_process(self, contents: Sequence[bytes | memoryview], descriptors: Sequence[int]) -> Started:
        return self._zygote.start_process(contents, descriptors, self._variables)


def _initializer(terms: PoolTerms) -> Initializer | None:
    if terms.initializer is None:
        return None
    return Initializer(terms.initializer, terms.initargs, main_by_value=not terms.main)
