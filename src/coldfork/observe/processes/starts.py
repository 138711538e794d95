"""Wrappers around the functions that start processes, to report which process each call started.

Audit events do not suffice: they come before the start, when the process has no number yet, and
`multiprocessing` raises none at all.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import monotonic

from coldfork.observe.processes.programs import is_own, locked_out, python_of
from coldfork.observe.processes.table import start_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from coldfork.observe.recording.events import Event

    Describe = Callable[[str, Any], Event]

FORK_EXEC = "_posixsubprocess"
"""The module with `fork_exec`, by which `subprocess` and `multiprocessing` start processes."""
_MULTIPROCESSING = "multiprocessing.util"
_FORK_EXEC_FILES = 1
_FORK_EXEC_ENVIRONMENT = 5
_SPAWN_ENVIRONMENT = 2


class Starts:
    """The wrappers, while they are installed. `describe` makes an event from a method and a command."""

    def __init__(
        self, describe: Describe, emit: Callable[[Event], None], guarded: Callable[..., Any], variable: str
    ) -> None:
        self._describe = describe
        self._emit = emit
        self._guarded = guarded
        self._variable = variable
        self._under_way: set[int] = set()
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self.children: dict[int, int | None] = {}
        """The processes started here that were not waited for yet, each with its start time."""
        self.own: set[int] = set()
        """The ones among them that work for coldfork, and are not reported."""

    @property
    def about_to_execute(self) -> bool:
        """Return whether this thread is forking only to execute another program."""
        return get_ident() in self._under_way

    def install(self) -> None:
        """Wrap the functions of modules that are already loaded."""
        for name in ("posix_spawn", "posix_spawnp"):
            if hasattr(os, name):
                self._replace(os, name, self._spawning("posix_spawn", getattr(os, name)))
        if FORK_EXEC in sys.modules:
            self.wrap_fork_exec()

    def wrap_fork_exec(self) -> None:
        """Wrap `fork_exec` in its newly loaded module, and in modules that have imported it."""
        module: Any = sys.modules[FORK_EXEC]
        original = module.fork_exec
        wrapper = self._fork_exec(original)
        self._replace(module, "fork_exec", wrapper)
        subprocess = sys.modules.get("subprocess")
        if getattr(subprocess, "_fork_exec", None) is original:
            self._replace(subprocess, "_fork_exec", wrapper)

    def remove(self) -> None:
        """Restore the original functions, except those that other code has replaced since."""
        for module, name, wrapper, original in self._replaced:
            if getattr(module, name, None) is wrapper:
                setattr(module, name, original)
        self._replaced.clear()

    def forked(self) -> None:
        """In a forked child, forget the parent's children."""
        self._under_way.clear()
        self.children.clear()
        self.own.clear()

    def _replace(self, module: Any, name: str, wrapper: Any) -> None:
        self._replaced.append((module, name, wrapper, getattr(module, name)))
        setattr(module, name, wrapper)

    def _fork_exec(self, original: Any) -> Any:
        def fork_exec(*given: Any) -> Any:
            method = "spawn" if _caller() == _MULTIPROCESSING else "subprocess"
            event = self._guarded(self._begun, method, given[0] if given else ())
            me = get_ident()
            self._under_way.add(me)
            try:
                child = original(*given)
            finally:
                self._under_way.discard(me)
            self._guarded(
                self._started, event, child, given[0], given[_FORK_EXEC_FILES], given[_FORK_EXEC_ENVIRONMENT]
            )
            return child

        return _named(fork_exec, original)

    def _spawning(self, method: str, original: Any) -> Any:
        def posix_spawn(*given: Any, **options: Any) -> Any:
            event = self._guarded(self._begun, method, given[1] if len(given) > 1 else ())
            child = original(*given, **options)
            if len(given) > _SPAWN_ENVIRONMENT:
                self._guarded(self._started, event, child, given[1], (given[0],), given[_SPAWN_ENVIRONMENT])
            return child

        return _named(posix_spawn, original)

    def _begun(self, method: str, command: Any) -> Event:
        began = monotonic()
        event = self._describe(method, command)
        event["t"] = began
        return event

    def _started(
        self, event: Event | None, child: int, command: Any, files: Sequence[Any], environment: Any
    ) -> None:
        if event is None:
            return
        if is_own(_lines(environment)):
            self.own.add(child)
            return
        start = event["start"] = start_of(child)
        event["child"] = child
        self.children[child] = start
        event.update(self.about(python_of(child, files), command, environment))
        self._emit(event)

    def about(self, python: str | None, command: Any, environment: Any) -> Event:
        """Return the entries of an event about a started Python; none for other programs."""
        if python is None:
            return {}
        words = [os.fsdecode(word) for word in command]
        return {"python": python, "hidden": locked_out(words, _lines(environment), self._variable)}


def _caller() -> object:
    """Return the name of the calling module, skipping wrappers of other watches."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame.f_globals.get("__name__")


def _lines(environment: Any) -> list[object] | None:
    """Return an environment as a list of `NAME=value`: `fork_exec` gets it so, but `posix_spawn` does not."""
    if environment is None or environment is os.environ:
        return None
    if hasattr(environment, "keys"):
        return [os.fsencode(name) + b"=" for name in environment]
    return list(environment)


def _named(wrapper: Any, original: Any) -> Any:
    wrapper.__name__ = original.__name__
    wrapper.__qualname__ = original.__name__
    wrapper.__doc__ = original.__doc__
    wrapper.__module__ = original.__module__
    return wrapper
