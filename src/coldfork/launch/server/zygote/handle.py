"""What a program holds of the server that forks its workers, whichever that is at the time."""

from __future__ import annotations

import os
import pickle
import socket
import threading
import warnings
from contextlib import suppress
from logging import getLogger
from time import monotonic

from coldfork.launch.plumbing.channel import STAINED
from coldfork.launch.server.circumstances import Circumstances
from coldfork.launch.server.zygote.requests import GoneError, ask, terms, why_unfit
from coldfork.launch.server.zygote.running_server import RunningServer
from coldfork.model.errors import ZygoteError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any

    from coldfork.launch.plumbing.channel import Message
    from coldfork.launch.server.zygote.processes import ZygoteContext
    from coldfork.launch.server.zygote.requests import Started

_LOG = getLogger("coldfork")
METHOD = "zygote"
ASKED = ("preload", "on_error", "main", "variables", "seeds")
_PATIENCE = 60.0
_MOST_SERVERS = 3
"""So many servers in a row may end while they are asked for one worker."""


class ZygoteWarning(UserWarning):
    """A module could not be preloaded: the workers import it themselves, and the message says why."""


class Zygote:
    """A server with modules preloaded, and proven clean, that forks workers for this program."""

    def __init__(self, terms: dict[str, Any], asking: socket.socket | None = None) -> None:
        self._terms = terms
        self._server: RunningServer | None = None
        self._home = os.getpid()
        self._left_out: tuple[str, ...] = ()
        """The modules that made a server unfit, with `on_error` other than "fail"."""
        self._asking = asking
        """The way to a server of another process: in its workers, and in children that it forked."""
        self._asking_is = None if asking is None else os.fstat(asking.fileno()).st_ino
        self._closed = False
        self._context: ZygoteContext | None = None
        self._lock = threading.RLock()

    @property
    def preload(self) -> tuple[str, ...]:
        """The modules that were asked for."""
        return tuple(self._terms["preload"])

    @property
    def closed(self) -> bool:
        """Whether it was closed, and starts nothing more."""
        return self._closed

    @property
    def on_error(self) -> str:
        """What becomes of a module that cannot be preloaded."""
        return str(self._terms["on_error"])

    @property
    def pid(self) -> int | None:
        """The server, if one of this process has been started."""
        server = self._server
        return None if server is None or self._home != os.getpid() else server.pid

    @property
    def context(self) -> ZygoteContext:
        """The context of `multiprocessing` whose processes are workers of this server."""
        from coldfork.launch.server.zygote.processes import ZygoteContext

        if self._context is None:
            self._context = ZygoteContext(self, MethodName(self._terms))
        return self._context

    def start(self) -> Zygote:
        """Start the server, unless it runs, and do not wait for it."""
        self._require_open()
        if self._home != os.getpid():
            # A forked child: what its parent has of the server is not for it, nor is a lock held by a thread
            # that it has not.
            self._home, self._server, self._lock = os.getpid(), None, threading.RLock()
        if self._server is None:
            with self._lock:
                # Another thread may have closed it or started the server by now.
                self._require_open()
                if self._server is None:
                    wanted = [name for name in self.preload if name not in self._left_out]
                    self._server = RunningServer(self._terms, wanted)
        return self

    def _require_open(self) -> None:
        if self._closed:
            raise ZygoteError("this zygote was closed")

    def wait(self, timeout: float | None = None) -> Zygote:
        """Wait until the server is ready; `ZygoteError` says why it is not fit to be one."""
        until = None if timeout is None else monotonic() + timeout
        while True:
            server = self.start()._server
            assert server is not None
            try:
                answer = server.wait(until)
            except GoneError:
                self._discard()
                raise ZygoteError(_ended(server)) from None
            if answer["is"] == "ready":
                self._say(answer)
                return self
            self._exclude(server, answer)

    def _say(self, answer: Message) -> None:
        """Warn of the modules that raised, once for each server."""
        faults, answer["faults"] = answer["faults"], []
        for fault in faults:
            self._warn(f"{fault['module']} was not preloaded, because its import raised:\n{fault['text']}")

    def _exclude(self, server: RunningServer, answer: Message) -> None:
        """Make sense of a server that is not fit: raise, or leave out the module that made it so."""
        fault = answer["faults"][-1]
        self._discard()
        if fault["kind"] != STAINED:
            raise ZygoteError(f"importing {fault['module']} raised:\n{fault['text']}", fault["module"])
        text = f"{fault['module']} cannot be preloaded, because a child forked after its import would break:"
        explained = self._explained(server, fault)
        if self.on_error == "fail":
            raise ZygoteError(f"{text}\n{explained}", fault["module"])
        self._left_out = (*self._left_out, fault["module"])
        self._warn(f"{text}\n{explained}")

    def _explained(self, server: RunningServer, fault: dict[str, str]) -> str:
        """The same once more under watch, which names the line; as it was where that finds nothing."""
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
        _LOG.info("%s", text)

    def start_process(
        self,
        contents: Sequence[bytes | memoryview],
        descriptors: Sequence[int],
        variables: Mapping[str, str] | None = None,
    ) -> Started:
        """Have a worker started that runs what is pickled here, with these variables beside the caller's."""
        contents = [pickle.dumps(self._circumstances(variables)), *contents]
        borrowed = self._borrowed()
        if borrowed is not None:
            with suppress(GoneError):
                return ask(borrowed, contents, descriptors, _PATIENCE)
            self._asking = None
        self.start()
        with self._lock:
            for _ in range(_MOST_SERVERS):
                server = self._fit()
                try:
                    return server.start(contents, descriptors, _PATIENCE)
                except GoneError:
                    self._require_open()
                    why = f", because of {server.trouble}" if server.trouble else ""
                    _LOG.warning("the server (pid %d) has ended%s; another one is started", server.pid, why)
                    self._discard()
        raise ZygoteError("the server ended each time that it was asked for a worker")

    def _circumstances(self, variables: Mapping[str, str] | None) -> Circumstances:
        here = Circumstances()
        here.change_environment(self._terms.get("environment") or {})
        here.change_environment(variables or {})
        return here

    def _borrowed(self) -> socket.socket | None:
        """The way to the server of another process, where its workers would be like this one."""
        if self._home != os.getpid() and self._server is not None:
            # In a child that was forked by the caller: the server is not its own.
            self._asking, answer = self._server.asking, self._server.answer
            early, then = self._server.early, self._server.identity
            if answer is None:
                return None
            imported, made = answer.get("imported", ()), answer.get("made")
        elif self._asking is not None and _is_same(self._asking, self._asking_is):
            early, then = self._terms["early"], self._terms["identity"]
            imported, made = self._terms["imported"], self._terms.get("made")
        else:
            return None
        why = why_unfit(early, then, imported, self._terms.get("variables", ()), made)
        if why is None:
            return self._asking
        _LOG.info("another server is started: %s", why)
        return None

    def _fit(self) -> RunningServer:
        """The server, another one if workers of the present one would not be like this process."""
        server = self.wait()._server
        assert server is not None
        why = server.why_unfit
        if why is None:
            return server
        _LOG.info("another server is started: %s", why)
        self._discard()
        server = self.wait()._server
        assert server is not None
        return server

    def _discard(self) -> None:
        server, self._server = self._server, None
        if server is not None and self._home == os.getpid():
            server.end()

    def close(self) -> None:
        """End the server; its workers go on, but not those that they were given by it."""
        self._closed = True
        if self._home == os.getpid():
            server = self._server
            if server is not None:
                # A thread that waits for it holds the lock for as long as it imports.
                server.interrupt()
            with self._lock:
                self._discard()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        # Handed on to a worker, it is the one that the worker has.
        return _registered, ()

    def __repr__(self) -> str:
        return f"<coldfork.zygote(preload={list(self.preload)}) pid {self.pid}>"


class MethodName(str):
    """The name of the start method, which takes the method along to where it is unpickled.

    multiprocessing has each process that it spawns choose the default of its caller by its name.
    """

    __slots__ = ("terms",)
    terms: dict[str, Any]

    def __new__(cls, terms: dict[str, Any]) -> MethodName:
        """`zygote`, for servers that are asked to be so."""
        made = super().__new__(cls, METHOD)
        made.terms = terms
        return made

    def __reduce__(self) -> Any:
        return _known_here, ({name: self.terms[name] for name in ASKED if name in self.terms},)


def _known_here(terms: dict[str, Any]) -> str:
    """The name, in a process that knows the method by now; a server is started when one is needed."""
    from coldfork.launch.server.zygote.processes import register, registered

    known = registered()
    if known is None:
        known = Zygote(terms).context
        register(known)
    return known.get_start_method()


def zygote(preload: Sequence[str] | os.PathLike[str] = (), *, on_error: str = "fail") -> Zygote:
    """Start a server that imports these modules, proves itself clean, and forks workers from then on.

    `preload` is a list of modules, or the path of one that `coldfork preload --output` has written.
    It is started at once and not waited for. `on_error` says what becomes of a module whose import raises, or
    after which a fork would break the child: with `"fail"` the first worker raises `ZygoteError`, with
    `"warn"` and `"ignore"` that module is left to the workers.
    """
    from multiprocessing import process

    from coldfork.launch.server.zygote.processes import register, registered

    if getattr(process.current_process(), "_inheriting", False):
        # A worker imports its caller's main module, at the top of which this stands.
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


def _is_same(held: socket.socket, number: int | None) -> bool:
    """Whether a descriptor is still what it was: a program may close all that it finds and open its own."""
    try:
        return os.fstat(held.fileno()).st_ino == number
    except OSError:
        return False


def _ended(server: RunningServer) -> str:
    where = "" if server.importing is None else f" while it imported {server.importing}"
    if server.trouble is not None:
        return f"the server (pid {server.pid}) ended{where}, because of {server.trouble}"
    return f"the server (pid {server.pid}) ended{where}; what it printed is in this program's error output"
