"""Checks folders in a thread, one at a time, always with the latest state of the buffers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from coldfork.checking.inspection import Inspection
from coldfork.checking.request import CheckRequest, configured
from coldfork.checking.session import CheckSession
from coldfork.lsp.answer import Answer
from coldfork.lsp.apart import Apart
from coldfork.lsp.buffers import Buffer
from coldfork.model.errors import CheckCancelledError, ColdforkError

T = TypeVar("T")
_SETTLED = 0.08
"""The seconds from the last keystroke until a check begins; a fast typist's keystrokes are closer
together.
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A folder to be checked, with the buffers that are open in it."""

    folder: Path
    paths: tuple[Path, ...]
    buffers: Mapping[str, Buffer]
    """The open buffers, by absolute path."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The editor's settings, which override the folder's configuration."""


class Checker:
    """Runs checks in a session; `answered`, `failed` and `progressed` are called in its thread.

    If possible, the first check of a folder is made in a separate process, from the files on disk.
    """

    def __init__(
        self,
        apart: Apart,
        answered: Callable[[Answer], object],
        failed: Callable[[Wanted, str], object],
        progressed: Callable[[Path, str, int, int], object],
    ) -> None:
        self._apart = apart
        self._answered = answered
        self._failed = failed
        self._progressed = progressed
        self._session = CheckSession()
        self._changed = threading.Condition()
        self._waiting: dict[Path, Wanted] = {}
        self._since: dict[Path, float] = {}
        self._errands: list[Callable[[], None]] = []
        self._known: set[Path] = set()
        """The folders that have an answer; only their checks are cancelled by edits."""
        self._running: Path | None = None
        self._outdated = False
        self._given_up = False
        self._closed = False
        # A daemon thread, so that a running check does not delay the exit.
        self._thread = threading.Thread(target=self._run, name="checks", daemon=True)
        self._thread.start()

    def ask(self, wanted: Wanted) -> None:
        """Request a check of a folder, in place of earlier requests for the same folder."""
        with self._changed:
            self._waiting[wanted.folder] = wanted
            self._since[wanted.folder] = monotonic()
            if wanted.folder == self._running:
                self._outdated = True
            self._changed.notify()

    def do(self, errand: Callable[[CheckSession], T]) -> Future[T]:
        """Have the thread call a function with the session when no check is running; return the call's
        future.
        """
        done: Future[T] = Future()

        def run() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(errand(self._session))
                except BaseException as error:
                    done.set_exception(error)

        with self._changed:
            self._errands.append(run)
            self._changed.notify()
        return done

    def give_up(self, folder: Path) -> None:
        """Cancel the first check of a folder; the next edit starts it again."""
        with self._changed:
            if folder == self._running:
                self._given_up = True
                self._apart.give_up()
            self._waiting.pop(folder, None)

    def close(self) -> None:
        """Cancel the current check, and end the thread."""
        with self._changed:
            self._closed = self._outdated = self._given_up = True
            self._apart.give_up()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                wanted, errand = self._next()
            if errand is not None:
                errand()
            elif wanted is not None:
                self._check(wanted)
            else:
                self._session.close()
                self._apart.end()
                return

    def _next(self) -> tuple[Wanted | None, Callable[[], None] | None]:
        """Wait for the next folder or function, and return it; return neither after `close`."""
        while not self._closed:
            if self._errands:
                return None, self._errands.pop(0)
            left = None
            for folder, wanted in self._waiting.items():
                rest = self._since[folder] + _SETTLED - monotonic()
                if rest <= 0:
                    del self._waiting[folder]
                    self._running, self._outdated, self._given_up = folder, False, False
                    return wanted, None
                left = rest if left is None else min(left, rest)
            self._changed.wait(left)
        return None, None

    def _check(self, wanted: Wanted) -> None:
        try:
            inspection = self._inspect(request_of(wanted), wanted)
            self._known.add(wanted.folder)
            if not self._closed:
                self._answered(Answer(wanted.folder, wanted.buffers, inspection))
        except CheckCancelledError:
            return
        except ColdforkError as error:
            self._failed(wanted, str(error))
        except Exception as error:
            # Keep the server running: the next edit may avoid the failure.
            self._failed(wanted, f"coldfork itself failed: {type(error).__name__}: {error}")
        finally:
            self._running = None
            if not self._waiting:
                self._apart.end()

    def _inspect(self, request: CheckRequest, wanted: Wanted) -> Inspection:
        if wanted.folder in self._known:
            return self._session.inspect(replace(request, cancelled=lambda: self._outdated))

        def progress(stage: str, done: int, total: int, name: str) -> None:
            self._progressed(wanted.folder, stage, done, total)

        if request.cache:
            self._apart.check(wanted.paths, wanted.settings, progress)
        return self._session.inspect(replace(request, cancelled=lambda: self._given_up), progress)


def request_of(wanted: Wanted) -> CheckRequest:
    """Return the request to check a folder, with its buffers and its configuration."""
    overlays = {file: one.text.encode("utf-8", "surrogatepass") for file, one in wanted.buffers.items()}
    return configured(wanted.paths, {}, overlays, wanted.settings)
