"""Ask the dynamic loader for its loaded libraries, without loading one or raising an audit event."""

from __future__ import annotations

import os
import sys

from coldfork.observe.late_imports import LATE
from coldfork.observe.probes.maps import executable_files, mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCRUBBED_BYTES = 32
"""How much of `dl_phdr_info` is overwritten: its padding included, and less than the whole of it."""
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

    They may wait for a lock that a thread inside `dlopen` holds, and that thread may need the interpreter's.
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
        """Words in memory that change when a library is loaded: cheaper than `fingerprint`, where known."""
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
        loader's, and an import in another thread does the opposite: both would wait for ever. So the callback
        is an existing C function, Python's hash of a piece of memory. The structure is on the stack and its
        padding is whatever was there before, hence `memset` as the callback of a first round. It also holds
        an address that differs between threads, and so may the number.
        """
        if self._digest is None:
            return None
        self._iterate(self._scrub, _SCRUBBED_BYTES)
        return self._iterate(self._digest, None)  # type: ignore[no-any-return]

    def handle(self, *names: bytes) -> int | None:
        """Return the handle of the first of these libraries that is loaded, and keep that one loaded.

        The reference is kept on purpose: the library must not be unloaded while its functions are called.
        """
        for name in names:
            found = self._open(name, self._only_loaded)
            if found:
                return int(found)
        return None

    def function(self, handle: int, name: bytes, *arguments: Any) -> Any:
        """Return a library's function of this name, with an int as its result; None if there is none."""
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
        """The files mapped when this process was forked, as long as its loader must not be asked.

        At the fork another thread may have been inside the loader. glibc does not release its locks in the
        child, so a question would wait for ever, and the program might never have asked. A library that was
        loaded here proves the locks free; until then the loader's count or the memory map tells.
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
            # Noted before the look, so that a library loaded during the look leads to another look.
            self._counting = [word.value for word in self._words]
            return True
        latest = self._latest = self._fingerprint()
        return latest is None or latest not in self._seen

    def settled(self) -> None:
        """Note that all libraries loaded so far have been looked at."""
        if self._words:
            self._counted = list(zip(self._words, self._counting, strict=True))
            return
        if len(self._seen) >= _MOST_FINGERPRINTS:
            self._seen.clear()
        self._seen.add(self._latest)


def _count_words(ctypes: Any, program: Any) -> tuple[Any, ...]:
    """Return the words in memory that change when a library is loaded; empty if they cannot be found.

    `dl_iterate_phdr` tells the count, and calling it costs some ten times as much as reading it. It is kept
    in the loader's one structure of globals, whose size the loader's own symbol table tells and whose layout
    differs between versions. So every word of it that equals the count is watched: the right one is among
    them, and a false one costs only a needless look when it changes.

    Only while there is one thread: the loader's lock is held while Python code answers it.
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
