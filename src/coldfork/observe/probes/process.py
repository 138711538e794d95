"""This process as its probes see it; each fact is read at most once in an examination."""

from __future__ import annotations

import os

from coldfork.observe.probes.maps import Maps, mapped
from coldfork.observe.probes.modules import namespace
from coldfork.observe.processes.table import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldfork.observe.probes.threads import NativeThread, ThreadReader


class ProbedProcess:
    """The view of this process that probes get at one moment; tests replace it."""

    why_no_threads = "the threads of a process cannot be read on this system"
    """The reason that is given if `threads` is None."""

    def __init__(self, reader: ThreadReader | None) -> None:
        self._reader = reader
        self._maps: Maps | None = None
        self._threads: tuple[NativeThread, ...] | None = None

    @property
    def maps(self) -> Maps:
        """Return the process's memory map; it has no files if the system does not show them."""
        if self._maps is None:
            self._maps = Maps(mapped())
        return self._maps

    def library(self, *prefixes: str) -> str | None:
        """Return the path of a loaded library whose file name begins with one of these prefixes."""
        return self.maps.named(*prefixes)

    @property
    def shows_libraries(self) -> bool:
        """Return False if the system does not show which libraries a process has loaded."""
        return bool(self.maps.files)

    @property
    def threads(self) -> tuple[NativeThread, ...] | None:
        """Return the threads that Python did not start, or None if they cannot be read."""
        if self._threads is None and self._reader is not None:
            try:
                self._threads = self._reader.native(self.maps)
            except OSError:
                self._reader = None
        return self._threads

    @property
    def forked(self) -> bool | None:
        """Return whether this process was forked and has not called exec since; None if unknown."""
        return forked_without_exec()

    def module(self, name: str) -> Mapping[str, Any] | None:
        """Return the names in a module that the program has imported."""
        return namespace(name)

    def setting(self, name: str) -> str | None:
        """Return the value of an environment variable."""
        return os.environ.get(name)

    def holds_open(self, *paths: str) -> str | None:
        """Return the first of these files that the process has open, or None; raise `OSError` if unknown."""
        for descriptor in os.listdir("/proc/self/fd"):
            try:
                path = os.readlink(f"/proc/self/fd/{descriptor}")
            except OSError:
                continue
            if path in paths:
                return path
        return None


def forked_without_exec() -> bool | None:
    """Return whether the kernel records that this process was forked without a later exec; None if
    unknown.
    """
    own = standing()
    return None if own is None else own.forked
