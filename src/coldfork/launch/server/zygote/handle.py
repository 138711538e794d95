"""A program's handle on its server, which forks workers and may be replaced over time."""

from __future__ import annotations

import os
import pickle
import socket
import threading
import warnings
from contextlib import suppress
from multiprocessing import resource_tracker
from time import monotonic

from coldfork.launch.plumbing.channel import STAINED
from coldfork.launch.server.circumstances import Circumstances
from coldfork.launch.server.zygote.requests import GoneError, ask, is_same, terms, why_unfit
from coldfork.launch.server.zygote.running_server import RunningServer
from coldfork.launch.server.zygote.sharing import servers
from coldfork.model.errors import ZygoteError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any

    from coldfork.launch.plumbing.channel import Message
    from coldfork.launch.server.zygote.processes import ZygoteContext
    from coldfork.launch.server.zygote.requests import Started

_PATIENCE = 60.0
_MOST_SERVERS = 3
"""The number of servers in a row that may end while they are asked for one worker."""


class ZygoteWarning(UserWarning):
    """A module could not be preloaded, for the reason in the message. The workers import it themselves."""


class Zygote:
    """A server that has preloaded modules, is proven clean, and forks workers for this program."""

    def __init__(self, terms: dict[str, Any], asking: socket.socket | None = None) -> None:
        self._terms = terms
        self._server: RunningServer | None = None
        self._is_proven = True
        """Whether the server's imports would have the same results now."""
        self._told: str | None = None
        """The mark of the server whose warnings have been given."""
        self._home = os.getpid()
        self._left_out: tuple[str, ...] = ()
        """The modules that made a server unfit, if `on_error` is not "fail"."""
        self._asking = asking
        """The connection to another process's server, used in that server's workers and their forks."""
        self._asking_is = None if asking is None else os.fstat(asking.fileno()).st_ino
        self._closed = False
        self._context: ZygoteContext | None = None
        self._lock = threading.RLock()

    @property
    def preload(self) -> tuple[str, ...]:
        """Return the modules that were requested for preloading."""
        return tuple(self._terms["preload"])

    @property
    def closed(self) -> bool:
        """Return whether the handle is closed, so that it starts no more workers."""
        return self._closed

    @property
    def on_error(self) -> str:
        """Return the policy for a module that cannot be preloaded: `fail`, `warn` or `ignore`."""
        return str(self._terms["on_error"])

    @property
    def pid(self) -> int | None:
        """Return the server's pid; None if this process has not started one."""
        server = self._server
        return None if server is None or self._home != os.getpid() else server.pid

    @property
    def context(self) -> ZygoteContext:
        """Return the `multiprocessing` context whose processes are workers of this server."""
        from coldfork.launch.server.zygote.processes import MethodName, ZygoteContext

        if self._context is None:
            self._context = ZygoteContext(self, MethodName(self._terms, _known_here))
        return self._context

    def start(self) -> Zygote:
        """Start the server if it is not running, without waiting for it."""
        self._require_open()
        if self._home != os.getpid():
            # A forked child cannot use its parent's server, nor a lock that a thread of the parent may hold.
            self._home, self._server, self._lock = os.getpid(), None, threading.RLock()
        if self._server is None:
            with self._lock:
                # Another thread may have closed the handle or started the server meanwhile.
                self._require_open()
                if self._server is None:
                    wanted = [name for name in self.preload if name not in self._left_out]
                    taken, was_there = servers(self._home).take(self, self._terms, wanted)
                    self._server, self._is_proven = taken, not was_there
        return self

    def _require_open(self) -> None:
        if self._closed:
            raise ZygoteError("this zygote was closed")

    def wait(self, timeout: float | None = None) -> Zygote:
        """Wait until the server is ready; raise `ZygoteError` if it is not fit."""
        until = None if timeout is None else monotonic() + timeout
        while True:
            server = self.start()._server
            assert server is not None
            try:
                answer = server.wait(until)
            except GoneError:
                self._discard()
                raise ZygoteError(server.ended) from None
            if answer["is"] == "ready":
                self._say(server, answer)
                return self
            self._exclude(server, answer)

    def _say(self, server: RunningServer, answer: Message) -> None:
        """Warn about modules whose import raised an error, once for each server."""
        faults = () if self._told == server.mark else answer["faults"]
        self._told = server.mark
        for fault in faults:
            self._warn(f"{fault['module']} was not preloaded, because its import raised:\n{fault['text']}")

    def _exclude(self, server: RunningServer, answer: Message) -> None:
        """Handle an unfit server: raise an error, or exclude the module at fault from the next server."""
        fault = answer["faults"][-1]
        self._discard()
        if fault["kind"] != STAINED:
            raise ZygoteError(f"importing {fault['module']} raised:\n{fault['text']}", fault["module"])
        text = f"cannot preload {fault['module']}: a child forked after its import would break:"
        explained = self._explained(server, fault)
        if self.on_error == "fail":
            raise ZygoteError(f"{text}\n{explained}", fault["module"])
        self._left_out = (*self._left_out, fault["module"])
        self._warn(f"{text}\n{explained}")

    def _explained(self, server: RunningServer, fault: dict[str, str]) -> str:
        """Repeat the import under watch to name the line at fault; if that fails, return the old text."""
        if " is awake" not in fault["text"]:
            return fault["text"]
        again = RunningServer(self._terms, server.modules, suspect=fault["module"])
        try:
            faults = again.wait().get("faults") or [fault]
        except GoneError:
            faults = [fault]
        finally:
            again.end()
        return str(faults[-1]["text"]) if faults[-1]["kind"] == STAINED else fault["text"]

    def _warn(self, text: str) -> None:
        if self.on_error == "warn":
            warnings.warn(text, ZygoteWarning, stacklevel=4)
        _log("info", "%s", text)

    def start_process(
        self,
        contents: Sequence[bytes | memoryview],
        descriptors: Sequence[int],
        variables: Mapping[str, str] | None = None,
    ) -> Started:
        """Start a worker for a pickled process, with these variables in addition to the caller's own."""
        contents = [pickle.dumps(self._circumstances(variables)), *contents]
        borrowed = self._borrowed()
        if borrowed is not None:
            with suppress(GoneError):
                return ask(borrowed, contents, descriptors, _PATIENCE)
            self._asking = None
        self.start()
        # Each request includes the tracker, which can start while the server is still importing.
        resource_tracker.ensure_running()
        with self._lock:
            try:
                return self._started(contents, descriptors)
            finally:
                if self._closed:
                    self._discard(is_fit=True)

    def _started(self, contents: Sequence[bytes | memoryview], descriptors: Sequence[int]) -> Started:
        for _ in range(_MOST_SERVERS):
            server = self._fit()
            try:
                return server.start(contents, descriptors, _PATIENCE)
            except GoneError:
                self._require_open()
                why = f", because of {server.trouble}" if server.trouble else ""
                said = "the server (pid %d) has ended%s; starting another one"
                _log("warning", said, server.pid, why)
                self._discard()
        raise ZygoteError("the server ended each time it was asked for a worker")

    def _circumstances(self, variables: Mapping[str, str] | None) -> Circumstances:
        here = Circumstances()
        here.change_environment(self._terms.get("environment") or {})
        here.change_environment(variables or {})
        return here

    def _borrowed(self) -> socket.socket | None:
        """Return the connection to another process's server, if its workers would be like this process."""
        if self._home != os.getpid() and self._server is not None:
            # This process was forked by a process that owns a server, so the server belongs to its parent.
            self._asking, answer = self._server.asking, self._server.answer
            early, then = self._server.early, self._server.identity
            if answer is None:
                return None
            imported, made = answer.get("imported", ()), answer.get("made")
        elif self._asking is not None and is_same(self._asking, self._asking_is):
            early, then = self._terms["early"], self._terms["identity"]
            imported, made = self._terms["imported"], self._terms.get("made")
        else:
            return None
        why = why_unfit(early, then, imported, self._terms.get("variables", ()), made)
        if why is None:
            return self._asking
        _log("info", "starting another server: %s", why)
        return None

    def _fit(self) -> RunningServer:
        """Return a server whose workers would be like this process; start a new one if necessary."""
        why = self._why_unfit(self.wait()._server)
        if why is not None:
            _log("info", "starting another server: %s", why)
            self._discard()
            self.wait()
        server = self._server
        # Another thread may have closed the handle without waiting for the server.
        self._require_open()
        assert server is not None
        return server

    def _why_unfit(self, server: RunningServer | None) -> str | None:
        assert server is not None
        why = server.why_unfit
        if why is not None or self._is_proven:
            return why
        try:
            path = server.changed_file(_PATIENCE)
        except GoneError:
            return "the previous one has ended"
        self._is_proven = path is None
        return None if path is None else f"{path} has changed since it was imported"

    def _discard(self, *, is_fit: bool = False, keep: bool = False) -> None:
        server, self._server = self._server, None
        if server is not None and self._home == os.getpid():
            servers(self._home).let_go(self, server, is_fit=is_fit, keep=keep)

    def close(self) -> None:
        """End the server unless others share it. Its workers keep running, but not its own children."""
        self.leave(keep=False)

    def leave(self, *, keep: bool = True) -> None:
        """Release the server for good; if nobody else uses it, keep it for a moment or end it now."""
        self._closed = True
        server = self._server
        if self._home != os.getpid():
            return
        if server is not None and self.is_waiting_with_others:
            # The server's other users still need it; the waiting thread gives it up for this user when it is
            # ready.
            server.users.discard(self)
            return
        if server is not None and server.answer is None and len(server.users) <= 1:
            # A thread that waits for the server holds the lock until the imports end, so interrupt them.
            server.interrupt()
        with self._lock:
            self._discard(is_fit=True, keep=keep)

    @property
    def is_waiting_with_others(self) -> bool:
        """Return whether a thread is waiting here for a server that has other users as well."""
        server = self._server
        if server is None or server.answer is not None or not set(server.users) - {self}:
            return False
        if not self._lock.acquire(blocking=False):
            return True
        self._lock.release()
        return False

    def __enter__(self) -> Zygote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        # A handle sent to a worker stands for the worker's own zygote.
        return _registered, ()

    def __repr__(self) -> str:
        return f"<coldfork.zygote(preload={list(self.preload)}) pid {self.pid}>"


def _known_here(terms: dict[str, Any]) -> str:
    """Return the start method's name; register the method first if this process does not know it yet."""
    from coldfork.launch.server.zygote.processes import register, registered

    known = registered()
    if known is None:
        known = Zygote(terms).context
        register(known)
    return known.get_start_method()


def zygote(preload: Sequence[str] | os.PathLike[str] = (), *, on_error: str = "fail") -> Zygote:
    """Start a server that imports these modules, checks that it is clean, and forks workers on request.

    `preload` is a list of modules, or the path of a list that `coldfork preload --output` has written. The
    server is started at once, without waiting for it. `on_error` decides about a module whose import raises
    an error, or would make forked children break: with `"fail"` the start of the first worker raises
    `ZygoteError`; with `"warn"` or `"ignore"` the workers import that module themselves.
    """
    from multiprocessing import process

    from coldfork.launch.server.zygote.processes import register, registered

    if getattr(process.current_process(), "_inheriting", False):
        # A worker is importing its caller's main module, whose top level calls this function.
        known = registered()
        return _registered() if known is not None else Zygote(terms(preload, on_error))
    made = Zygote(terms(preload, on_error))
    made.start()
    register(made.context)
    return made


def _registered() -> Zygote:
    from coldfork.launch.server.zygote.processes import registered

    context = registered()
    if context is None or not isinstance(context.zygote, Zygote):
        raise ZygoteError("this process was not forked by a zygote, and has none of its own")
    return context.zygote


def _log(level: str, text: str, *values: object) -> None:
    """Log a message; `logging` is imported here, because servers and workers may not need it."""
    from logging import getLogger

    getattr(getLogger("coldfork"), level)(text, *values)
