"""The start method `zygote` of `multiprocessing`: its context, its processes, and how these are started."""

from __future__ import annotations

import io
import os
import socket
from multiprocessing import context as contexts
from multiprocessing import popen_fork, process, reduction, spawn, util
from types import FunctionType

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.loop import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from coldfork.launch.server.zygote.requests import Started

    class Starter(Protocol):
        """The source of a context's workers, such as a `Zygote`."""

        @property
        def preload(self) -> tuple[str, ...]: ...

        @property
        def on_error(self) -> str: ...

        @property
        def closed(self) -> bool: ...

        def start_process(
            self, contents: Sequence[bytes | memoryview], descriptors: Sequence[int]
        ) -> Started: ...


METHOD = "zygote"
ASKED = ("preload", "on_error", "main", "variables", "seeds")
"""The terms of a server that one process passes to another."""
_LOST = 255
"""The exit code, as in multiprocessing, of a process whose real exit code can no longer be reported."""


class Arrived:
    """The descriptors that came with the process that runs here; `current` is set once in each worker."""

    current: Arrived | None = None

    def __init__(self, descriptors: list[int]) -> None:
        self.descriptors = descriptors


class Popen(popen_fork.Popen):
    """The handle of a worker in `multiprocessing.Process`."""

    method = METHOD
    flushes = True
    """Whether the caller's streams are flushed first, as multiprocessing does for every process."""

    class DupFd:
        """A descriptor that travels with a process, known by its position among all that do."""

        def __init__(self, place: int) -> None:
            self.place = place

        def detach(self) -> int:
            """Return the descriptor in the worker."""
            arrived = Arrived.current
            assert arrived is not None
            return arrived.descriptors[self.place]

    def __init__(self, process_obj: Any, zygote: Starter) -> None:
        self._descriptors: list[int] = []
        self._zygote = zygote
        self._statuses: socket.socket | None = None
        self.returncode: int | None = None
        self.finalizer: Any = None
        if self.flushes:
            util._flush_std_streams()  # type: ignore[attr-defined]
        self._launch(process_obj)

    def duplicate_for_child(self, fd: int) -> int:
        """Send a descriptor along with the process; return its position."""
        self._descriptors.append(fd)
        return len(self._descriptors) - 1

    def _launch(self, process_obj: Any) -> None:
        preparation = self._preparation(process_obj)
        for config in (preparation, process_obj._config):
            if "authkey" in config:
                # Celery's processes hold the key in a class of their own, which cannot be pickled.
                config["authkey"] = process.AuthenticationString(config["authkey"])  # type: ignore[attr-defined]
        content = io.BytesIO()
        contexts.set_spawning_popen(self)  # type: ignore[arg-type]
        try:
            reduction.dump(preparation, content)
            reduction.dump(process_obj, content)
        finally:
            contexts.set_spawning_popen(None)
        started: Started = self._zygote.start_process([content.getbuffer()], self._descriptors)
        self.pid: int = started.pid
        self.sentinel: int = started.sentinel
        self._statuses = started.statuses
        if self._statuses is None:
            self.finalizer = util.Finalize(self, util.close_fds, (self.sentinel,))  # type: ignore[attr-defined]
        else:
            self.finalizer = util.Finalize(self, self._statuses.close)

    def _preparation(self, process_obj: Any) -> dict[str, Any]:
        """Return the data for preparing the worker before its process is unpickled, as in multiprocessing."""
        return preparation_data(process_obj._name)

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        """Return the exit code, after waiting for it if `flag` is 0; None while the process runs."""
        if self._statuses is None:
            return super().poll(flag)
        if self.returncode is None:
            if not readable([self.sentinel], 0 if flag == os.WNOHANG else None):
                return None
            received = channel.receive(self._statuses)
            self.returncode = _LOST if received is None else int(received[0]["status"])
        return self.returncode

    def _send_signal(self, sig: int) -> None:
        if self._statuses is None:
            super()._send_signal(sig)  # type: ignore[misc]
        elif self.poll() is None:
            # The server has not reaped this process yet, so its number has not been reused.
            try:
                os.kill(self.pid, sig)
            except ProcessLookupError:
                pass


class MethodName(str):
    """The name of the start method; when unpickled, it registers the method in the receiving process.

    In each process that it spawns, multiprocessing chooses the caller's default start method by its name.
    """

    __slots__ = ("known", "terms")
    known: Callable[[dict[str, Any]], str]
    terms: dict[str, Any]

    def __new__(cls, terms: dict[str, Any], known: Callable[[dict[str, Any]], str]) -> MethodName:
        """Make the name `zygote` for servers on these terms; unpickling the name calls `known`."""
        made = super().__new__(cls, METHOD)
        made.terms, made.known = terms, known
        return made

    def __reduce__(self) -> Any:
        return self.known, ({name: self.terms[name] for name in ASKED if name in self.terms},)


class _Nowhere:
    """A stand-in for the module `os` in a process whose working directory was deleted."""

    path = os.path

    @staticmethod
    def getcwd() -> str:
        """Return a placeholder for the deleted directory."""
        return os.curdir


def preparation_data(name: str) -> dict[str, Any]:
    """Return multiprocessing's data for preparing a process, even if the working directory was deleted."""
    try:
        return spawn.get_preparation_data(name)
    except FileNotFoundError:
        code = spawn.get_preparation_data.__code__
        data: dict[str, Any] = FunctionType(code, {**vars(spawn), "os": _Nowhere})(name)
        # The new process must not change to this folder, which does not exist.
        del data["dir"]
        return data


class ZygoteProcess(process.BaseProcess):
    """A process that a server forks; each context has its own subclass, tied to the context's server."""

    _start_method = METHOD
    _own: type[ZygoteProcess] | None = None
    """The context's class itself; a class derived from it can be found by its own name."""

    @staticmethod
    def _Popen(process_obj: Any) -> Popen:
        registered: Any = contexts._concrete_contexts[METHOD]  # type: ignore[attr-defined]
        return Popen(process_obj, registered.zygote)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A context's class is made at run time, so pickle cannot find it by name.
        if type(self) is self._own:
            return _bare, (), self.__dict__
        return super().__reduce_ex__(protocol)


def _bare() -> ZygoteProcess:
    """Make an empty process, whose state is set afterwards."""
    return ZygoteProcess.__new__(ZygoteProcess)


class ZygoteContext(contexts.BaseContext):
    """The context that `multiprocessing.get_context("zygote")` returns, for the workers of one server."""

    def __init__(self, zygote: Starter, name: str) -> None:
        self.zygote = zygote
        """The server behind it."""
        self.by_value: ZygoteContext | None = None
        """The context for a program whose main module cannot be imported, once it has been requested."""
        self._name = name
        self.Process: type[ZygoteProcess] = _class_of(zygote)

    def __reduce__(self) -> Any:
        return registered, ()


def _class_of(zygote: Starter) -> type[ZygoteProcess]:
    def _Popen(process_obj: Any) -> Popen:
        return Popen(process_obj, zygote)

    names = {"_Popen": staticmethod(_Popen), "__module__": __name__, "__doc__": ZygoteProcess.__doc__}
    made: Any = type("ZygoteProcess", (ZygoteProcess,), names)
    made._own = made
    chosen: type[ZygoteProcess] = made
    return chosen


def register(context: ZygoteContext) -> None:
    """Register the context that multiprocessing returns whenever it is asked for this start method."""
    contexts._concrete_contexts[METHOD] = context  # type: ignore[attr-defined]


def registered() -> ZygoteContext | None:
    """Return the context that was registered last."""
    found = contexts._concrete_contexts.get(METHOD)  # type: ignore[attr-defined]
    return found if isinstance(found, ZygoteContext) else None
