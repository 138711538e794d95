"""A device that watched programs wake: a flag in a real module, and the sensor that tells it.

What wakes it is a Python function, a method written in C, a foreign function called through ctypes, or an
assignment that goes through C: the ways in which real devices are woken.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LIST: list[int] = []
BYTE = ctypes.c_char(b"\0")
FIELD = ctypes.c_int(0)


def wake() -> None:
    """Wake it from a Python function."""
    LIST.append(1)


def foreign() -> Any:
    """The function of a C library that wakes it."""
    function = ctypes.CDLL(None).memset
    function.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
    return function


PLACE = ctypes.addressof(BYTE)
foreign_wake = foreign()


class Sensor:
    """Tells what is awake, as cheaply as the real one."""

    WOKEN_BY = ""
    """A module written in C that wakes it when it is loaded."""

    def awake(self) -> tuple[tuple[str, str | None], ...]:
        """The accelerators awake in this process."""
        if self.WOKEN_BY in sys.modules:
            return (("cuda", "driver"),)
        if LIST or FIELD.value or BYTE.value != b"\0":
            return (("cuda", "driver"),)
        return ()

    def examine(self) -> tuple[dict[str, Any], ...]:
        """Its state, as a recording holds it."""
        status = "awake" if self.awake() else "cold"
        return ({"accelerator": "cuda", "status": status, "level": None, "reason": None, "library": None},)


def in_thread(work: Callable[[], object], name: str, *, wait: bool) -> threading.Thread:
    """Do some work on a thread of its own."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    if wait:
        thread.join()
    return thread


def compute(seconds: float) -> None:
    """Be busy for some time."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
