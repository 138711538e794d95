"""Start a process with the C library's `posix_spawn`.

`subprocess` and `os.posix_spawn` hold the interpreter's lock until the new process has become its program. On
a busy machine that delays other threads noticeably, an event loop above all; this releases the lock.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache

from coldfork.launch.plumbing.streams import lifted

#: More bytes than this structure has in any C library.
_ROOM = 1024
_SET_SIGNAL_MASK = 0x08
_SET_SESSION = 0x80


@contextmanager
def _opaque(library: ctypes.CDLL, name: str) -> Iterator[ctypes.Array[ctypes.c_char]]:
    """Make a structure of the C library with its own functions, and destroy it at the end of the block."""
    held = ctypes.create_string_buffer(_ROOM)
    _checked(getattr(library, f"{name}_init")(held))
    try:
        yield held
    finally:
        getattr(library, f"{name}_destroy")(held)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    descriptors: Mapping[int, int],
    *,
    own_session: bool,
) -> int:
    """Start a command with all signals blocked and these descriptors; return its pid, or raise `OSError`.

    The error carries the program's name if the system refused to start the program.

    `descriptors` maps each number in the new process to one of our descriptors.
    """
    library = _library()
    above = max(descriptors) + 1
    with (
        ExitStack() as opened,
        _opaque(library, "posix_spawn_file_actions") as actions,
        _opaque(library, "posix_spawnattr") as attributes,
    ):
        for theirs, ours in descriptors.items():
            # Copied to a number above all targets, so that assigning one target does not overwrite another's
            # source.
            copy = lifted(ours, above)
            opened.callback(os.close, copy)
            _checked(library.posix_spawn_file_actions_adddup2(actions, copy, theirs))
        mask = ctypes.create_string_buffer(_ROOM)
        library.sigfillset(mask)
        _checked(library.posix_spawnattr_setsigmask(attributes, mask))
        flags = _SET_SIGNAL_MASK | (_SET_SESSION if own_session else 0)
        _checked(library.posix_spawnattr_setflags(attributes, ctypes.c_short(flags)))
        pid = ctypes.c_int()
        code = library.posix_spawn(
            ctypes.byref(pid),
            os.fsencode(command[0]),
            actions,
            attributes,
            _words(map(os.fsencode, command)),
            _words(os.fsencode(f"{name}={value}") for name, value in environment.items()),
        )
        if code:
            raise OSError(code, os.strerror(code), command[0])
        return pid.value


def _words(words: object) -> ctypes.Array[ctypes.c_char_p]:
    listed = [*words, None]  # type: ignore[misc]
    return (ctypes.c_char_p * len(listed))(*listed)


def _checked(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code) if code in errno.errorcode else "posix_spawn")
