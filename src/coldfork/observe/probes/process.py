"""What can be seen of this process from outside its runtimes: read once, at most, in one examination."""

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
    """This process, as its probes see it in one moment; tests give them another."""

    why_no_threads = "the threads of a process cannot be read on this system"
    """What is said where `threads` is None."""

    def __init__(self, reader: ThreadReader | None) -> None:
        self._reader = reader
        self._maps: Maps | None = None
        self._threads: tuple[NativeThread, ...] | None = None

    @property
    def maps(self) -> Maps:
        """Its memory map; one without files where the system shows none."""
        if self._maps is None:
            self._maps = Maps(mapped())
        return self._maps

    def library(self, *prefixes: str) -> str | None:
        """The path of a loaded library whose file name begins with one of these."""
        return self.maps.named(*prefixes)

    @property
    def shows_libraries(self) -> bool:
        """False where the system does not tell which libraries a process has loaded."""
        return bool(self.maps.files)

    @property
    def threads(self) -> tuple[NativeThread, ...] | None:
        """The threads that Python did not start, or None where they cannot be read."""
        if self._threads is None and self._reader is not None:
            try:
                self._threads = self._reader.native(self.maps)
            except OSError:
                self._reader = None
        return self._threads

    @property
    def forked(self) -> bool | None:
        """Whether this process is a fork that has run no program of its own; None where that is not told."""
        return forked_without_exec()

    def module(self, name: str) -> Mapping[str, Any] | None:
        """The names in a module that the program has imported."""
        return namespace(name)

    def setting(self, name: str) -> str | None:
        """A variable of the environment."""
        return os.environ.get(name)

    def holds_open(self, *paths: str) -> str | None:
        """The first of these files that the process has open, or None; `OSError` where that is not told."""
        for descriptor in os.listdir("/proc/self/fd"):
            try:
                path = os.readlink(f"/proc/self/fd/{descriptor}")
            except OSError:
                continue
            if path in paths:
                return path
        return None


def forked_without_exec() -> bool | None:
    """What the kernel notes of a process: forked, and `exec` not called since; None where it does not say."""
    own = standing()
    return None if own is None else own.forked
