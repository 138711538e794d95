"""Watch for wakes, so that a refusal can name the waking line; each import costs microseconds more.

No device can wake before native code is loaded. Until then no state is read, and the code that reads states
is not imported.
"""

from __future__ import annotations

import sys
from os import getpid

from coldfork.observe.attribution import Attribution
from coldfork.observe.forks import guard_threads
from coldfork.observe.imports import Imports
from coldfork.observe.late_imports import LATE
from coldfork.observe.waking_calls import WakingCalls
from coldfork.start.wakers import WAKERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from coldfork.observe.stacks.frames import Load
    from coldfork.observe.states import Poller

    Actions = dict[str, Callable[[tuple[Any, ...]], None]]

_MAIN = "__main__"
_SUFFIXES = (".so", ".pyd")
_TELLS_THREADS: bool = sys.version_info >= (3, 12)
_STARTS = ("_thread.start_new_thread", "_thread.start_joinable_thread")
"""The audit events of a new thread, from Python 3.12 on."""


class Sensor:
    """Reads which accelerators are awake, but does nothing until native code has been loaded."""

    def __init__(self) -> None:
        self.poller: Poller | None = None
        self.begun: Callable[[], None] = lambda: None
        """Called when there are states to read from now on."""
        self.forked: Callable[[], None] = lambda: None
        """Called when states are first read in a forked child."""
        self._pid = getpid()
        self._modules = sys.modules
        self._begins = False

    def awake(self) -> tuple[tuple[str, str | None], ...]:
        """Return the accelerators that are awake, each with its level."""
        if self._pid != getpid():
            self._pid = getpid()
            self.forked()
        if self.poller is None and "_ctypes" in self._modules and self._ctypes_is_whole():
            self.begin()
        return () if self.poller is None else self.poller.awake()

    def _ctypes_is_whole(self) -> bool:
        """Return False while `ctypes` is being imported, because the sensor could not use it yet."""
        spec = getattr(self._modules.get("ctypes"), "__spec__", None)
        return not getattr(spec, "_initializing", False)

    def begin(self) -> None:
        """Begin to read states, after importing the modules for that, which coldfork's wrappers ignore."""
        if self._begins:
            return
        self._begins = True
        LATE.load("coldfork.observe.states")
        from coldfork.observe.states import Poller

        self.poller = Poller()
        self.begun()


class WakeObservation:
    """The wrappers in importlib and the listener for new threads; `poll` checks at once."""

    def __init__(
        self, actions: Actions, loaded: Callable[[str], None], trouble: Callable[[str, BaseException], None]
    ) -> None:
        self._actions = actions
        self._trouble = trouble
        self._watches = False
        self._hear_no_more: Callable[[], None] = lambda: None
        self._sensor = Sensor()
        self._attribution = Attribution(self._sensor, WAKERS.heard, _MAIN)
        self._sensor.begun = self._hear_threads
        self._sensor.forked = self._attribution.forked
        self._imports = Imports(
            self._attribution, None, self._switch, lambda load: self._loaded(load.name, loaded), trouble
        )
        self._waking = WakingCalls(self._attribution, trouble)

    @property
    def poller(self) -> Poller | None:
        """Return the poller; None until native code has been loaded."""
        return self._sensor.poller

    def begin(self) -> None:
        """Install the wrappers, unless they are installed."""
        if self._watches:
            return
        self._watches = True
        if self._sensor.poller is not None:
            self._hear_threads()
        elif any(map(_is_foreign, _files())):
            self._sensor.begin()
        # Devices that are already awake were woken before the watch began.
        self._attribution.start()
        self._imports.install()
        self._waking.install()

    def end(self) -> None:
        """Remove the wrappers."""
        if not self._watches:
            return
        self._watches = False
        self._imports.remove()
        self._waking.remove()
        self._hear_no_more()
        self._hear_no_more = lambda: None

    def poll(self) -> None:
        """Check now whether a device woke since the last check."""
        if self._watches:
            self._attribution.poll()

    def _loaded(self, name: str, also: Callable[[str], None]) -> None:
        self._waking.loaded(name)
        also(name)

    def _switch(self, load: Load | None) -> None:
        """Handle a module that is about to be loaded; begin to read states at the first native one."""
        if self._sensor.poller is None and load is not None and _is_foreign(load.path):
            self._sensor.begin()

    def _hear_threads(self) -> None:
        if not _TELLS_THREADS:
            self._hear_no_more = guard_threads(lambda action, work: action(work), self._thread_starts)
            return
        for event in _STARTS:
            self._actions[event] = self._thread_event
        self._hear_no_more = self._forget_threads

    def _forget_threads(self) -> None:
        for event in _STARTS:
            self._actions.pop(event, None)

    def _thread_event(self, arguments: tuple[Any, ...]) -> None:
        self._thread_starts(arguments[0])

    def _thread_starts(self, work: object) -> None:
        # Poll first, so that the new thread is not suspected of what this thread did before.
        try:
            self._attribution.poll()
            self._attribution.thread_starts(work)
        except Exception as error:
            self._trouble("thread", error)


def _files() -> Iterator[object]:
    """Yield the files of the loaded modules, without reading attributes, which might load a lazy module."""
    for module in tuple(sys.modules.values()):
        try:
            yield object.__getattribute__(module, "__dict__").get("__file__")
        except AttributeError:
            continue


def _is_foreign(path: object) -> bool:
    """Return whether a module is native code outside the standard library."""
    return type(path) is str and path.endswith(_SUFFIXES) and "lib-dynload" not in path
