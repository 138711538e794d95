"""Observe imports: which modules they load, which lines request these, and what each leaves behind."""

from __future__ import annotations

import sys
from _thread import get_ident
from time import process_time

from coldfork.launch.preload.trying.forked_attempt import wait_for_the_end
from coldfork.launch.preload.trying.left_behind import LeftBehind
from coldfork.launch.preload.trying.lines import Starts, site
from coldfork.launch.preload.trying.variables import Variables
from coldfork.observe.attribution import Attribution
from coldfork.observe.imports import Imports
from coldfork.observe.states import Poller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from coldfork.launch.preload.trying.forked_attempt import Tell
    from coldfork.launch.preload.trying.lines import Site
    from coldfork.observe.recording.events import Event
    from coldfork.observe.stacks.frames import Load


def _to_nobody(event: Event) -> None:
    pass


class Observer:
    """The observer of a process and its forks; each fork calls `begin` to start afresh."""

    def __init__(self) -> None:
        self.starts: Starts = Starts()
        self.variables: Variables = Variables(self.module)
        self.left_behind: LeftBehind = LeftBehind(self._here, self.starts)
        self.woken: dict[str, Event] = {}
        """The waker of each accelerator, as far as it is known without a closer look."""
        self._attribution = Attribution(Poller(), self._woke, outside=False)
        self._imports = Imports(self._attribution, None, self._switched, self._ended)
        self._open: list[tuple[Load, float]] = []
        self._tell: Tell = _to_nobody
        self._taboo: Collection[str] = ()
        self._home = get_ident()

    def install(self) -> None:
        """From now on, observe imports, variables and the lines that start something."""
        self._imports.install()
        self.variables.listen()
        self.starts.listen()

    def remove(self) -> None:
        """Stop observing imports."""
        self._imports.remove()

    def begin(self, tell: Tell, taboo: Collection[str] = ()) -> None:
        """Forget earlier observations, as a forked child must.

        The process ends when a module of `taboo` is about to be loaded.
        """
        self._tell, self._taboo = tell, taboo
        self._home = get_ident()
        self._open, self.woken = [], {}
        self._attribution.forked()
        self.variables.forget()
        self.left_behind.begin()

    def module(self) -> str | None:
        """Return the name of the module that is being loaded."""
        return self._open[-1][0].name if self._open else None

    def _here(self) -> tuple[str | None, Site]:
        """Return the module that is being loaded, and the line of it that is running."""
        if not self._open:
            return None, (None, None)
        load = self._open[-1][0]
        path, line = site()
        return load.name, (path, line) if path == load.path else (load.path, None)

    def poll(self) -> None:
        """Check once more for woken devices and new resources."""
        self._attribution.poll()
        self.left_behind.look()

    def _switched(self, load: Load | None) -> None:
        if load is None or get_ident() != self._home or any(load is one for one, _ in self._open):
            return
        self.left_behind.look()
        by, line = site()
        self._tell({"event": "begin", "module": load.name, "path": load.path, "by": by, "line": line})
        if load.name in self._taboo:
            self._tell({"event": "reached", "module": load.name})
            wait_for_the_end()
        self._open.append((load, process_time()))

    def _ended(self, load: Load) -> None:
        if get_ident() != self._home or not any(load is one for one, _ in self._open):
            return
        self.left_behind.look()
        began = 0.0
        while self._open:
            last, began = self._open.pop()
            if last is load:
                break
        self._tell(
            {
                "event": "end",
                "module": load.name,
                "seconds": process_time() - began,
                "loaded": load.name in sys.modules,
            }
        )

    def _woke(self, event: dict[str, Any]) -> None:
        if event["event"] == "wake":
            self.woken.setdefault(event["accelerator"], event["waker"])
