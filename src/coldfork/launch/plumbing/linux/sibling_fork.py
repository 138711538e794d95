"""Fork a process as a sibling: its parent is the parent of the process that forks.

The server asks the kernel for children of its own parent, so that a caller can wait for its workers, and the
workers see the caller as their parent, as if it had forked them itself. The C library's `fork` has no such
option, but the system call `clone` has. It leaves two thread records of the C library outdated, which are
corrected here: the thread's number, and the list of locks that the kernel is to release for it. Handlers that
libraries registered with `pthread_atfork` do not run. They exist to hold locks across the fork and to restart
threads, which a server with one thread does not need.
"""

from __future__ import annotations

import ctypes
import os
import sys
from signal import SIGCHLD

_CLONE_PARENT = 0x0000_8000
_CLONE_CHILD_CLEARTID = 0x0020_0000
_CLONE_CHILD_SETTID = 0x0100_0000
_GET_TID_ADDRESS = 40


class _Calls:
    """The system call numbers of one processor type, and the position of the thread number among `clone`'s
    arguments.
    """

    def __init__(self, clone: int, set_robust_list: int, get_robust_list: int, tid_argument: int) -> None:
        self.clone = clone
        self.set_robust_list = set_robust_list
        self.get_robust_list = get_robust_list
        self.tid_argument = tid_argument


_CALLS = {"x86_64": _Calls(56, 273, 274, 3), "aarch64": _Calls(220, 99, 100, 4)}


class SiblingFork:
    """A way to fork siblings; made in the thread that will fork, which must be the only one."""

    def __init__(self) -> None:
        known = _CALLS.get(os.uname().machine)
        if known is None:
            raise OSError(f"not known for {os.uname().machine}")
        self._calls = known
        # PyDLL keeps the interpreter's lock, so that no other code runs between the fork handlers and the
        # fork.
        self._library = ctypes.PyDLL(None, use_errno=True)
        self._library.syscall.restype = ctypes.c_long
        self._tid = ctypes.c_ulong()
        if self._library.prctl(_GET_TID_ADDRESS, ctypes.byref(self._tid), 0, 0, 0):
            raise OSError(ctypes.get_errno(), "the kernel does not tell where a thread's number is kept")
        if ctypes.c_int.from_address(self._tid.value).value != os.getpid():
            raise OSError("the C library keeps a thread's number elsewhere")
        self._locks, self._length = ctypes.c_void_p(), ctypes.c_size_t()
        self._checked(
            self._library.syscall(
                known.get_robust_list, 0, ctypes.byref(self._locks), ctypes.byref(self._length)
            )
        )

    def fork(self) -> int:
        """Fork like `os.fork`, but as a child of this process's parent."""
        api, call = ctypes.pythonapi, self._library.syscall
        flags = _CLONE_PARENT | _CLONE_CHILD_SETTID | _CLONE_CHILD_CLEARTID | int(SIGCHLD)
        words = [ctypes.c_ulong(flags), *(ctypes.c_ulong(0) for _ in range(4))]
        words[self._calls.tid_argument] = self._tid
        sys.audit("os.fork")
        api.PyOS_BeforeFork()
        pid = int(call(self._calls.clone, *words))
        if pid == 0:
            call(self._calls.set_robust_list, self._locks, self._length)
            api.PyOS_AfterFork_Child()
            return 0
        number = ctypes.get_errno()
        api.PyOS_AfterFork_Parent()
        if pid < 0:
            raise OSError(number, os.strerror(number))
        return pid

    @staticmethod
    def _checked(code: int) -> None:
        if code:
            raise OSError(ctypes.get_errno(), "the kernel does not tell which locks a thread holds")
