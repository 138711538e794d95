"""Ask the dynamic loader which libraries are loaded, without loading any or raising an audit event."""

from __future__ import annotations

import os
import sys

from coldfork.observe.late_imports import LATE
from coldfork.observe.probes.maps import executable_files, mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCRUBBED_BYTES = 32
"""How many bytes of `dl_phdr_info` are overwritten: all its padding, but not the whole structure."""
_MOST_FINGERPRINTS = 4096
_GLOBALS = "_rtld_global"
_WITH_SYMBOL = 1
_SIZE_IN_SYMBOL = 16
_ADDS_IN_INFO = 32
_LARGEST = 1 << 16
_MOST_WORDS = 8
_TASKS = "/proc/self/task"


class Loader:
    """A few functions of the C library, which are called with the interpreter's lock released.

    They may wait for a lock that a thread inside `dlopen` holds, and that thread may need the interpreter's
    lock.
    """

    def __init__(self) -> None:
        LATE.load("ctypes")
        import ctypes

        self._only_loaded = os.RTLD_LAZY | os.RTLD_NOLOAD
        program = ctypes.CDLL(None)
        self.ctypes: Any = ctypes
        self.program: Any = program
        self._open: Any = program.dlopen
        self._open.restype, self._open.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
        self._symbol: Any = program.dlsym
        self._symbol.restype, self._symbol.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
        self._digest: Any = None
        self.counts: tuple[Any, ...] = ()
        """Words in memory that change when a library is loaded, if they are known; reading them is cheaper
        than `fingerprint`.
        """
        if sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8:
            self._prepare_fingerprint(program)
            self.counts = _count_words(ctypes, program)

    def _prepare_fingerprint(self, program: Any) -> None:
        digest = getattr(program, "Py_HashBuffer", None) or getattr(program, "_Py_HashBytes", None)
        if digest is not None and hasattr(program, "dl_iterate_phdr"):
            self._iterate: Any = program.dl_iterate_phdr
            self._scrub = self.ctypes.cast(program.memset, self.ctypes.c_void_p)
            self._digest = self.ctypes.cast(digest, self.ctypes.c_void_p)

    def fingerprint(self) -> int | None:
        """Return a number that changes with every load or unload, in half a microsecond; None if unavailable.

        `dl_iterate_phdr` passes its callback a structure with the loader's two counters, of what was ever
        loaded and unloaded. A callback in Python would wait for the interpreter's lock while it holds the
        loader's, and an import in another thread does the opposite, so that both would wait for ever. So the
        callback is an existing C function, Python's hash of a piece of memory. The structure is on the stack,
        and its padding contains whatever was there before; so in a first round the callback is `memset`. It
        also contains an address that differs between threads, so the number may differ, too.
        """
        if self._digest is None:
            return None
        self._iterate(self._scrub, _SCRUBBED_BYTES)
        return self._iterate(self._digest, None)  # type: ignore[no-any-return]

    def handle(self, *names: bytes) -> int | None:
        """Return the handle of the first of these libraries that is loaded, and keep that one loaded.

        The reference is kept on purpose, because the library must not be unloaded while its functions are
        called.
        """
        for name in names:
            found = self._open(name, self._only_loaded)
            if found:
                return int(found)
        return None

    def function(self, handle: int, name: bytes, *arguments: Any) -> Any:
        """Return a library's function of this name, which returns an int; None if there is none."""
        address = self._symbol(handle, name)
        return self.ctypes.CFUNCTYPE(self.ctypes.c_int, *arguments)(address) if address else None


class Gate:
    """A cheap test of whether a library may have been loaded since the last look."""

    def __init__(self, loader: Loader, *, forked: bool = False) -> None:
        self._fingerprint = loader.fingerprint
        self._words = loader.counts
        self._counted = [(word, word.value if forked else -1) for word in self._words]
        self._counting: list[int] = []
        self._seen: set[int | None] = set()
        self._latest: int | None = None
        self._files = executable_files(mapped()) if forked and not self._words else None
        """The files that were mapped when this process was forked, as long as its loader must not be asked.

        At the fork another thread may have been inside the loader. glibc does not release its locks in the
        child, so a question could wait for ever, even in a program that never asks. If a library has been
        loaded here, the locks are free; until then the loader's count or the memory map is used.
        """

    def changed(self) -> bool:
        """Return whether a library may have been loaded or unloaded since the last call of `settled`."""
        if self._files is not None:
            if executable_files(mapped()) == self._files:
                return False
            self._files = None
        if self._counted:
            for word, counted in self._counted:
                if word.value != counted:
                    break
            else:
                return False
            # Read before the look, so that a library loaded during the look leads to another look.
            self._counting = [word.value for word in self._words]
            return True
        latest = self._latest = self._fingerprint()
        return latest is None or latest not in self._seen

    def settled(self) -> None:
        """Record that all libraries loaded so far have been examined."""
        if self._words:
            self._counted = list(zip(self._words, self._counting, strict=True))
            return
        if len(self._seen) >= _MOST_FINGERPRINTS:
            self._seen.clear()
        self._seen.add(self._latest)


def _count_words(ctypes: Any, program: Any) -> tuple[Any, ...]:
    """Return the words in memory that change when a library is loaded; empty if they cannot be found.

    `dl_iterate_phdr` returns the loader's count of loads, but calling it costs some ten times as much as
    reading the count. The count is in the loader's only structure of globals. The loader's own symbol table
    gives the structure's size, but its layout differs between versions. So every word of it that equals the
    count is watched: the right one is among them, and a wrong one merely costs a needless look when it
    changes.

    This is done only while there is one thread, because Python code runs while the loader's lock is held.
    """
    try:
        if os.stat(_TASKS).st_nlink != 3:
            return ()
        start = ctypes.addressof(ctypes.c_char.in_dll(program, _GLOBALS))
        size = _size(ctypes, program, start)
        count = _count(ctypes, program)
    except (OSError, ValueError, AttributeError):
        return ()
    if not count or not 0 < size <= _LARGEST:
        return ()
    word = ctypes.c_uint64
    values = (word * (size // 8)).from_address(start)
    found = [word.from_address(start + at * 8) for at, value in enumerate(values) if value == count]
    return tuple(found) if len(found) <= _MOST_WORDS else ()


def _size(ctypes: Any, program: Any, address: int) -> int:
    """Return the size of the object at an address, from its library's symbol table."""
    information = (ctypes.c_void_p * 4)()
    symbol = ctypes.c_void_p()
    reference = ctypes.byref
    if not program.dladdr1(ctypes.c_void_p(address), reference(information), reference(symbol), _WITH_SYMBOL):
        return 0
    if not symbol.value or information[3] != address:
        return 0
    return int(ctypes.c_uint64.from_address(symbol.value + _SIZE_IN_SYMBOL).value)


def _count(ctypes: Any, program: Any) -> int:
    """Return the number of loads according to `dl_iterate_phdr`; 0 if it reports none."""
    counts = []

    def note(information: int, size: int, data: object) -> int:
        if size >= _ADDS_IN_INFO + 8:
            counts.append(int(ctypes.c_uint64.from_address(information + _ADDS_IN_INFO).value))
        return 1

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    program.dl_iterate_phdr(kind(note), None)
    return counts[0] if counts else 0
