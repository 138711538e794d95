"""Learn how children ended, from the calls by which this process waits for them.

There is no other way: the kernel forgets the status of a process at the first wait.
"""

from __future__ import annotations

import os

from coldfork.observe.processes.programs import is_python
from coldfork.observe.processes.table import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coldfork.observe.recording.events import Event

_BY_NUMBER = ("waitpid", "wait4")
_BY_STATUS = ("wait", "wait3", *_BY_NUMBER)


class Waits:
    """The wrappers, while they are installed. `children` are the processes started here, each with its start
    time.
    """

    def __init__(
        self,
        emit: Callable[[Event], None],
        children: Callable[[], dict[int, int | None]],
        guarded: Callable[..., Any],
    ) -> None:
        self._emit = emit
        self._children = children
        self._guarded = guarded
        self._originals: dict[str, tuple[Any, Any]] = {}

    def install(self) -> None:
        """Install the wrappers."""
        for name in (*_BY_STATUS, "waitid"):
            original = getattr(os, name, None)
            if original is not None:
                wrapper = self._waiting(name, original)
                wrapper.__name__ = wrapper.__qualname__ = name
                wrapper.__doc__ = original.__doc__
                wrapper.__module__ = original.__module__
                self._originals[name] = wrapper, original
                setattr(os, name, wrapper)

    def remove(self) -> None:
        """Restore the original functions, except those that other code has replaced since."""
        for name, (wrapper, original) in self._originals.items():
            if getattr(os, name) is wrapper:
                setattr(os, name, original)
        self._originals.clear()

    def _waiting(self, name: str, original: Any) -> Any:
        look = getattr(os, "waitid", None)
        tell = self._told if name in _BY_STATUS else self._told_by_waitid

        def wait(*given: Any, **options: Any) -> Any:
            last = None
            if name in _BY_NUMBER and len(given) == 2 and given[0] in self._children() and look is not None:
                last = self._last_look(look, *given)
            result = original(*given, **options)
            self._guarded(tell, result, last)
            return result

        return wait

    def _last_look(self, look: Any, child: int, options: int) -> str | None:
        """Return the Python that a child executes at its end, which it may have become after its start."""
        try:
            if (
                options not in (0, os.WNOHANG)
                or look(os.P_PID, child, os.WEXITED | os.WNOWAIT | options) is None
            ):
                return None
        except OSError:
            return None
        found = standing(child)
        return None if found is None else found.name

    def _told(self, result: Any, last: str | None) -> None:
        child, status = result[0], result[1]
        if child > 0 and not os.WIFSTOPPED(status) and not os.WIFCONTINUED(status):
            code = os.waitstatus_to_exitcode(status)
            self._end(child, code if code >= 0 else None, None if code >= 0 else -code, last)

    def _told_by_waitid(self, result: Any, last: str | None) -> None:
        if result is None:
            return
        if result.si_code == os.CLD_EXITED:
            self._end(result.si_pid, result.si_status, None, last)
        elif result.si_code in (os.CLD_KILLED, os.CLD_DUMPED):
            self._end(result.si_pid, None, result.si_status, last)

    def _end(self, child: int, status: int | None, signal: int | None, last: str | None) -> None:
        event: Event = {"event": "exit", "status": status, "signal": signal, "states": []}
        start = self._children().pop(child, None)
        event.update({"pid": child, "start": start, "python": last if last and is_python(last) else None})
        self._emit(event)
