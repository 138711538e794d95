"""Learn from CUDA itself, on any thread, which stack called `cuInit`; until that call, this costs nothing.

The process that starts the watched one builds the library, and the watched one arms it. CUDA loads it because
of the variable CUDA_INJECTION64_PATH; if that named another tool's library, this is called as well.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from _signal import (
    SIG_DFL,
    SIGRTMAX,
    SIGRTMIN,
    getsignal,
)
from _thread import get_ident, get_native_id

from coldfork.observe.stacks.witness import Witness, witnesses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VARIABLE = "CUDA_INJECTION64_PATH"
SONAME = "libcoldfork_injection.so"
_FIRST_SIGNAL = 5
"""The first real-time signals belong to the C library, and debuggers use the next few."""


def build(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of the library, after compiling it if necessary; None if it cannot be compiled.

    This is for the process that starts others, because it runs the C compiler.
    """
    from pathlib import Path

    from coldfork.virtual.compiling import CannotCompileError, library

    try:
        return str(library(Path(__file__).with_name("injection.c"), SONAME, environment))
    except CannotCompileError:
        return None


class Injection:
    """The injection library in this process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._next = os.environ.get(VARIABLE) or ""
        self._library: Any = None
        self._signal: int | None = None
        self._file = -1
        self._read = 0

    def arm(self) -> bool:
        """Prepare the library for CUDA to load; if that is impossible, change nothing and return False."""
        self._signal = _free_signal()
        if self._signal is None or not hasattr(os, "memfd_create"):
            return False
        import ctypes

        self._library = ctypes.CDLL(self._path)
        self._open()
        if not self._library.coldfork_arm(self._signal, self._file, os.fsencode(self._next)):
            self.disarm()
            return False
        # `putenv` sets the variable for C code such as CUDA, and leaves the program's `os.environ` as it is.
        os.putenv(VARIABLE, self._path)
        return True

    def forked(self) -> None:
        """In a forked child, open another file for the library to write to."""
        if self._signal is None:
            return
        os.close(self._file)
        self._open()
        self._library.coldfork_arm(self._signal, self._file, os.fsencode(self._next))

    def disarm(self) -> None:
        """Undo `arm`."""
        if self._signal is None:
            return
        self._library.coldfork_disarm()
        faulthandler.unregister(self._signal)
        self._signal = None
        if self._next:
            os.putenv(VARIABLE, self._next)
        else:
            os.unsetenv(VARIABLE)
        os.close(self._file)

    def seen(self, accelerator: str) -> Witness | None:
        """Return the first caller of `cuInit` since this was last called; None if there was none, or for an
        accelerator other than CUDA.
        """
        if accelerator != "cuda" or self._signal is None:
            return None
        size = os.fstat(self._file).st_size
        text = os.pread(self._file, size - self._read, self._read).decode("ascii", "replace")
        self._read = size
        return next(iter(witnesses(text, _native_threads())), None)

    def _open(self) -> None:
        self._read = 0
        low = os.memfd_create("coldfork", os.MFD_CLOEXEC)
        self._file = _high(low)
        assert self._signal is not None
        faulthandler.register(self._signal, file=self._file, all_threads=False, chain=False)


def _free_signal() -> int | None:
    signals = range(SIGRTMIN + _FIRST_SIGNAL, SIGRTMAX)
    return next((number for number in signals if getsignal(number) == SIG_DFL), None)


def _native_threads() -> dict[int, int]:
    """Return Python's identifier of each thread by the kernel's number."""
    active = getattr(sys.modules.get("threading"), "_active", {})
    known = {thread.native_id: ident for ident, thread in list(active.items())}
    known[get_native_id()] = get_ident()
    return known


def _high(low: int) -> int:
    import fcntl

    high: int = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 200)
    os.close(low)
    return high
