"""Imports what a server is to have ready, and says of each module whether it may stay."""

from __future__ import annotations

import os
import sys

from coldfork.launch.plumbing.channel import RAISED, STAINED
from coldfork.launch.server.zygote.serving.cleanliness import stains

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Any

    Fault = dict[str, str]

MAIN = "__main__"


class Preload:
    """The modules of one server; iterating over `load` imports them."""

    def __init__(self, modules: Sequence[str], main: str | None, suspect: str | None = None) -> None:
        self._modules = modules
        self._main = main
        """The file of the caller's program, for the module `__main__`."""
        self._suspect = suspect
        """A module that is known to wake something: it is imported under watch, to learn which line does."""
        self._home = os.getpid()
        self.faults: list[Fault] = []
        """The modules that raised, and last one that made this process unfit to fork."""

    def load(self) -> Iterator[str]:
        """Import one module after the other, and hand out the name of each before it is imported."""
        waker_of = None
        for name in self._modules:
            yield name
            if name == self._suspect:
                waker_of = _watched()
            try:
                self._import(name)
            except BaseException as error:
                self._leave_if_forked()
                self.faults.append({"module": name, "kind": RAISED, "text": _said(error)})
            self._leave_if_forked()
            found = stains(waker_of)
            if found:
                self.faults.append({"module": name, "kind": STAINED, "text": "\n".join(found)})
                return

    @property
    def stained(self) -> bool:
        """Whether this process must not fork any more."""
        return any(fault["kind"] == STAINED for fault in self.faults)

    def _import(self, name: str) -> None:
        if name != MAIN:
            __import__(name)
        elif self._main is not None:
            from multiprocessing import process, spawn

            current: Any = process.current_process()
            current._inheriting = True
            try:
                spawn.import_main_path(self._main)
            finally:
                del current._inheriting

    def _leave_if_forked(self) -> None:
        """End a child that the import forked and that came back here: it is no server."""
        if os.getpid() != self._home:
            os._exit(0)


def _watched() -> Callable[[str], object]:
    """Watch this process from here on, each call; returns what says who woke an accelerator."""
    from coldfork.observe.watch import watch
    from coldfork.start.process.wakers import WAKERS

    watching = watch(WAKERS.heard, stage2=("*",), imports=False)

    def waker_of(accelerator: str) -> object:
        watching.poll()
        return WAKERS.of(accelerator)

    return waker_of


def _said(error: BaseException) -> str:
    """An exception with its traceback, without our own frames."""
    import traceback

    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()


def imported(names: frozenset[str]) -> list[str]:
    """Which of these modules are imported."""
    return sorted(name for name in names if name in sys.modules)
