"""Watch the loading of modules: poll before and after each, and keep track of each thread's imports.

Every import passes through `importlib._bootstrap._load_unlocked`. Every Python module that is loaded by hand,
late or again passes through `exec_module` of importlib's own loaders. Both are replaced by wrappers that call
the original. A wake that is seen just before a module is loaded is due to the module that requests it, which
is on top of the stack.

A wrapper has importlib's own file name and variables. By the file name, CPython removes importlib's frames
from tracebacks and `warnings` skips them; by the module's name, debuggers skip them. So everything looks as
it does without the watch. Code that the wrappers call is hidden from this thread's tracers.
"""

from __future__ import annotations

# `importlib._bootstrap` under the name by which it exists before `importlib` does.
import _frozen_importlib
import _frozen_importlib_external
from _thread import get_ident
from sys import gettrace, settrace
from time import monotonic

from coldfork.observe.stacks.frames import Load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coldfork.observe.attribution import Attribution


#: Typed as `Any`, because typeshed does not know all of their functions, which are replaced by name.
bootstrap: Any = _frozen_importlib
external: Any = _frozen_importlib_external


class Imports:
    """The wrappers around functions of importlib.

    `tell` is called for each load that has ended, with the time. `switch` is called whenever a thread begins
    to run another module; `traces` says that `switch` may then trace the thread.
    """

    def __init__(
        self,
        attribution: Attribution,
        tell: Callable[[Load, float], None] | None,
        switch: Callable[[Load | None], None] | None = None,
        loaded: Callable[[Load], None] | None = None,
        trouble: Callable[[str, BaseException], None] | None = None,
        *,
        traces: bool = False,
    ) -> None:
        self._attribution = attribution
        self._tell = tell
        self._switch = switch
        self._loaded = loaded
        self._trouble = trouble
        # If exact calls are wanted, the tracer is coldfork's own, and must not be taken for another one.
        self.traced: Callable[[], object] = _by_nobody_else if traces else gettrace
        self._load_unlocked = bootstrap._load_unlocked
        self._exec_module = external._LoaderBasics.exec_module
        self._load_wrapper = _load_wrapper(self, self._load_unlocked)
        self._exec_wrapper = _exec_wrapper(self, self._exec_module)

    def install(self) -> None:
        """Put the wrappers in place of importlib's functions."""
        self._attribution.wrappers.update((self._load_wrapper.__code__, self._exec_wrapper.__code__))
        bootstrap._load_unlocked = self._load_wrapper
        external._LoaderBasics.exec_module = self._exec_wrapper

    def remove(self) -> None:
        """Restore importlib's functions, unless another wrapper has been put around ours meanwhile."""
        if bootstrap._load_unlocked is self._load_wrapper:
            bootstrap._load_unlocked = self._load_unlocked
        if external._LoaderBasics.exec_module is self._exec_wrapper:
            external._LoaderBasics.exec_module = self._exec_module

    def enter(self, spec: Any) -> Load | None:
        """Record that a module is about to be loaded."""
        try:
            # Repeats `_begin` inline, because calls are slow here: their code is no longer in the CPU's
            # cache.
            self._attribution.poll()
            me = get_ident()
            stacks = self._attribution.stacks
            loads = stacks.get(me)
            if loads is None:
                loads = stacks[me] = []
            path = getattr(spec, "origin", None)
            parent = loads[-1] if loads else None
            load = Load(spec.name, path if type(path) is str else None, spec, monotonic(), parent)
            loads.append(load)
            if self._switch is not None:
                self._switch(load)
            return load
        except Exception as error:
            self._failed("import-begin", error)
            return None

    def enter_body(self, module: Any) -> Load | None:
        """Record that a module's body is about to run, unless its load has just been recorded."""
        try:
            names = object.__getattribute__(module, "__dict__")
            spec = names.get("__spec__")
            loads = self._attribution.stacks.get(get_ident())
            if loads and spec is not None and loads[-1].spec is spec:
                return None
            name = getattr(spec, "name", None) or names.get("__name__")
            path = getattr(spec, "origin", None) or names.get("__file__")
            return self._begin(str(name), path, spec)
        except Exception as error:
            self._failed("body-begin", error)
            return None

    def leave(self, load: Load) -> None:
        """Record that a load has ended, with or without an error."""
        try:
            self._attribution.poll()
            me = get_ident()
            stacks = self._attribution.stacks
            loads = stacks.get(me)
            if loads is not None:
                while loads and loads.pop() is not load:
                    pass
                if not loads:
                    del stacks[me]
            if self._switch is not None:
                self._switch(load.parent)
            if self._loaded is not None:
                self._loaded(load)
            if self._tell is not None:
                self._tell(load, monotonic())
        except Exception as error:
            self._failed("import-end", error)

    def _begin(self, name: str, path: Any, spec: Any) -> Load:
        attribution = self._attribution
        attribution.poll()
        me = get_ident()
        loads = attribution.stacks.get(me)
        if loads is None:
            loads = attribution.stacks[me] = []
        load = Load(
            name, path if type(path) is str else None, spec, monotonic(), loads[-1] if loads else None
        )
        loads.append(load)
        if self._switch is not None:
            self._switch(load)
        return load

    def _failed(self, what: str, error: BaseException) -> None:
        if self._trouble is not None:
            self._trouble(what, error)


def _load_wrapper(imports: Imports, original: Any) -> Any:
    enter, leave, traced = imports.enter, imports.leave, imports.traced
    enter_unseen, leave_unseen = _unseen(enter, original), _unseen(leave, original)

    def _load_unlocked(spec: Any) -> Any:
        load = None
        try:
            load = enter(spec) if traced() is None else enter_unseen(spec)
            return original(spec)
        finally:
            if load is not None:
                if traced() is None:
                    leave(load)
                else:
                    leave_unseen(load)

    return _disguised_as(original, _load_unlocked, bootstrap)


def _exec_wrapper(imports: Imports, original: Any) -> Any:
    enter, leave, traced = imports.enter_body, imports.leave, imports.traced
    enter_unseen, leave_unseen = _unseen(enter, original), _unseen(leave, original)

    def exec_module(self: Any, module: Any) -> Any:
        load = None
        try:
            load = enter(module) if traced() is None else enter_unseen(module)
            return original(self, module)
        finally:
            if load is not None:
                if traced() is None:
                    leave(load)
                else:
                    leave_unseen(load)

    return _disguised_as(original, exec_module, external)


def _by_nobody_else() -> None:
    """Take the place of `sys.gettrace`, and report that there is no tracer."""


def _unseen(function: Callable[[Any], Any], original: Any) -> Any:
    """Return a wrapper that hides a function's run from this thread's tracers, such as a debugger."""
    trace_of_now, trace_with = gettrace, settrace

    def unseen(argument: Any) -> Any:
        trace = trace_of_now()
        trace_with(None)
        try:
            return function(argument)
        finally:
            trace_with(trace)

    return _disguised_as(original, unseen, bootstrap)


def _disguised_as(original: Any, function: Any, home: Any) -> Any:
    """Return a wrapper that looks like the original: its globals, file, line, names and docstring."""
    # The wrapper can have importlib's globals, because everything that it needs is in its closure.
    wrapper: Any = type(function)(
        function.__code__, vars(home), function.__name__, None, function.__closure__
    )
    code = getattr(original, "__code__", None)
    if code is not None:
        wrapper.__code__ = wrapper.__code__.replace(
            co_filename=code.co_filename, co_firstlineno=code.co_firstlineno, co_qualname=code.co_qualname
        )
    wrapper.__doc__ = original.__doc__
    wrapper.__module__ = original.__module__
    wrapper.__qualname__ = original.__qualname__
    return wrapper
