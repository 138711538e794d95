"""glibc's count of the libraries that were ever loaded, read where it stands.

`dl_iterate_phdr` tells the count, and calling it costs some ten times what reading it does. It is kept in the
loader's one structure of globals, whose size the loader's own symbol table tells and whose layout differs
between versions. So every word of it that equals the count is watched: the right one is among them, and one
that only looked like it costs a look in vain when it changes.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GLOBALS = "_rtld_global"
_WITH_SYMBOL = 1
_SIZE_IN_SYMBOL = 16
_ADDS_IN_INFO = 32
_LARGEST = 1 << 16
_MOST_WORDS = 8
_TASKS = "/proc/self/task"


def count_words(ctypes: Any, program: Any) -> tuple[Any, ...]:
    """The words that change when a library is loaded; empty where they cannot be told.

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
    """The size of the object at an address, as its library's symbol table says."""
    information = (ctypes.c_void_p * 4)()
    symbol = ctypes.c_void_p()
    reference = ctypes.byref
    if not program.dladdr1(ctypes.c_void_p(address), reference(information), reference(symbol), _WITH_SYMBOL):
        return 0
    if not symbol.value or information[3] != address:
        return 0
    return int(ctypes.c_uint64.from_address(symbol.value + _SIZE_IN_SYMBOL).value)


def _count(ctypes: Any, program: Any) -> int:
    """What `dl_iterate_phdr` tells of it; 0 where it does not."""
    counts = []

    def note(information: int, size: int, data: object) -> int:
        if size >= _ADDS_IN_INFO + 8:
            counts.append(int(ctypes.c_uint64.from_address(information + _ADDS_IN_INFO).value))
        return 1

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    program.dl_iterate_phdr(kind(note), None)
    return counts[0] if counts else 0
