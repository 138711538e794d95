"""Contexts of `multiprocessing` for programs whose main module cannot be imported, such as a notebook.

A new process cannot find functions that were defined in a cell, so a `multiprocessing` pool starts one worker
after another, and each fails. These contexts pass objects to processes and queues by value, as a `WorkerPool`
does.
"""

from __future__ import annotations

import pickle
from multiprocessing import context as contexts
from multiprocessing import pool, process, queues
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from coldfork.launch.pool.wire import by_value
from coldfork.launch.server.zygote.processes import ZygoteContext, ZygoteProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    _Base = contexts.BaseContext
    _Process = process.BaseProcess

    class _AnyQueue:
        def put(self, *what: Any, **how: Any) -> None: ...

else:
    _Base = _Process = _AnyQueue = object


class _Parcel:
    """A value that is pickled by value; unpickling yields the value itself."""

    def __init__(self, content: object) -> None:
        self._content = content

    def __reduce__(self) -> Any:
        return pickle.loads, (by_value(self._content),)


# --- processes ----------------------------------------------------------------------------------------------


class _ProcessByValue(_Process):
    _known: Mapping[type, type] = MappingProxyType({})
    """Maps a class on this side to the class that replaces it on the other side."""

    def __reduce_ex__(self, protocol: object) -> Any:
        kind = type(self)
        return _arrived, (_Parcel((self._known.get(kind, kind), self.__dict__)),)


def _arrived(content: tuple[type, dict[str, Any]]) -> object:
    kind, state = content
    made: Any = object.__new__(kind)
    made.__dict__.update(state)
    return made


class SpawnProcess(_ProcessByValue, contexts.SpawnProcess):
    """A spawned process that receives its objects by value."""


class ForkServerProcess(_ProcessByValue, contexts.ForkServerProcess):
    """A process of a fork server that receives its objects by value."""


SpawnProcess._known = {SpawnProcess: contexts.SpawnProcess}
ForkServerProcess._known = {ForkServerProcess: contexts.ForkServerProcess}


# --- queues and pools ---------------------------------------------------------------------------------------


class _QueueByValue(_AnyQueue):
    def put(self, obj: object, *how: Any, **terms: Any) -> None:
        super().put(_Parcel(obj), *how, **terms)


class Queue(_QueueByValue, queues.Queue):  # type: ignore[type-arg]
    """A queue whose objects travel by value."""


class JoinableQueue(_QueueByValue, queues.JoinableQueue):  # type: ignore[type-arg]
    """A `Queue` with `task_done` and `join`, whose objects travel by value."""


class SimpleQueue(_QueueByValue, queues.SimpleQueue):  # type: ignore[type-arg]
    """A queue without a thread, whose objects travel by value."""


class Pool(pool.Pool):
    """A pool whose functions and results travel by value."""

    def _setup_queues(self) -> None:
        super()._setup_queues()  # type: ignore[misc]
        inner: Any = self
        inner._quick_put = inner._inqueue.put


class _ContextByValue(_Base):
    def Pool(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
    ) -> Any:
        return Pool(processes, initializer, initargs, maxtasksperchild, context=self)

    def Queue(self, maxsize: int = 0) -> Any:
        return Queue(maxsize, ctx=self)

    def JoinableQueue(self, maxsize: int = 0) -> Any:
        return JoinableQueue(maxsize, ctx=self)

    def SimpleQueue(self) -> Any:
        return SimpleQueue(ctx=self)


class SpawnContext(_ContextByValue, contexts.SpawnContext):
    """`spawn`, with objects passed by value."""

    Process = SpawnProcess


class ForkServerContext(_ContextByValue, contexts.ForkServerContext):
    """`forkserver`, with objects passed by value."""

    Process = ForkServerProcess


class ZygoteContextByValue(_ContextByValue, ZygoteContext):
    """A zygote context, with objects passed by value."""

    def __init__(self, context: ZygoteContext) -> None:
        super().__init__(context.zygote, context.get_start_method())
        made: Any = type("ZygoteProcess", (_ProcessByValue, self.Process), {"__module__": __name__})
        made._known = {made: ZygoteProcess}
        self.Process = made


_BY_VALUE: Mapping[type, Any] = MappingProxyType(
    {contexts.SpawnContext: SpawnContext(), contexts.ForkServerContext: ForkServerContext()}
)
"""One of each kind that multiprocessing has."""


def taking_by_value(context: Any) -> Any:
    """Return the version of this context whose processes and queues pass objects by value."""
    if type(context) is ZygoteContext:
        if context.by_value is None:
            context.by_value = ZygoteContextByValue(context)
        return context.by_value
    # A fork context stays as it is: a forked child already has all objects.
    return _BY_VALUE.get(type(context), context)
