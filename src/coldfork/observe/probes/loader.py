"""The dynamic loader, asked what it has loaded: nothing is loaded for it, and no audit event is raised."""

from __future__ import annotations

import os
import sys

from coldfork.observe.probes.counter import count_words
from coldfork.observe.probes.maps import executable_files, mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCRUBBED_BYTES = 32
"""How much of `dl_phdr_info` is overwritten: its padding included, and less than the whole of it."""
_MOST_FINGERPRINTS = 4096


class Loader:
    """A few functions of the C library, called with the interpreter's lock released.

    They may wait for a lock that a thread inside `dlopen` holds, and that thread may need the interpreter's.
    """

    def __init__(self) -> None:
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
            self.counts = count_words(ctypes, program)

    def _prepare_fingerprint(self, program: Any) -> None:
        digest = getattr(program, "Py_HashBuffer", None) or getattr(program, "_Py_HashBytes", None)
        if digest is not None and hasattr(program, "dl_iterate_phdr"):
            self._iterate: Any = program.dl_iterate_phdr
            self._scrub = self.ctypes.cast(program.memset, self.ctypes.c_void_p)
            self._digest = self.ctypes.cast(digest, self.ctypes.c_void_p)

    def fingerprint(self) -> int | None:
        """A number that changes when anything is loaded or unloaded; half a microsecond. None if it has none.

        `dl_iterate_phdr` hands its callback a structure that holds the loader's two counters, of what was
        ever loaded and unloaded. A callback in Python would wait for the interpreter's lock while it holds
        the loader's, and an import in another thread does the opposite: both would wait for ever. So the
        callback is C that is there already, Python's hash of a piece of memory. The structure lies on the
        stack and its padding is whatever lay there before, hence `memset` as the callback of a first round.
        It also holds an address that differs between threads, and so may the number.
        """
        if self._digest is None:
            return None
        self._iterate(self._scrub, _SCRUBBED_BYTES)
        return self._iterate(self._digest, None)  # type: ignore[no-any-return]

    def handle(self, *names: bytes) -> int | None:
        """The handle of the first of these libraries that is loaded; it stays loaded from now on.

        The reference is kept on purpose: what is called through it must not be unloaded meanwhile.
        """
        for name in names:
            found = self._open(name, self._only_loaded)
            if found:
                return int(found)
        return None

    def function(self, handle: int, name: bytes, *arguments: Any) -> Any:
        """A function of a loaded library that returns an int, or None if it has none of that name."""
        address = self._symbol(handle, name)
        return self.ctypes.CFUNCTYPE(self.ctypes.c_int, *arguments)(address) if address else None


class Gate:
    """Tells at little cost whether a library may have been loaded since somebody last looked."""

    def __init__(self, loader: Loader, *, forked: bool = False) -> None:
        self._fingerprint = loader.fingerprint
        self._words = loader.counts
        self._counted = [(word, word.value if forked else -1) for word in self._words]
        self._counting: list[int] = []
        self._seen: set[int | None] = set()
        self._latest: int | None = None
        self._files = executable_files(mapped()) if forked and not self._words else None
        """What was mapped when this process was forked, while its loader is not to be asked.

        At the fork another thread may have been inside the loader. glibc does not free its locks in the
        child, and whoever asks waits for ever, who without us may never have asked. A library that was
        loaded here proves them free, and until then the loader's count or the memory map tells.
        """

    def changed(self) -> bool:
        """Whether anything may have been loaded or unloaded since `settled` was called last."""
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
            # Noted before anybody looks: what is loaded meanwhile makes the next look worth while.
            self._counting = [word.value for word in self._words]
            return True
        latest = self._latest = self._fingerprint()
        return latest is None or latest not in self._seen

    def settled(self) -> None:
        """Somebody has looked at what is loaded now."""
        if self._words:
            self._counted = list(zip(self._words, self._counting, strict=True))
            return
        if len(self._seen) >= _MOST_FINGERPRINTS:
            self._seen.clear()
        self._seen.add(self._latest)
