"""A device that watched programs wake: a flag in a real module, and the sensor that tells it.

What wakes it is a Python function of any kind, a method written in C, a foreign function called through
ctypes, or a statement that goes through C without a call: the ways in which real devices are woken.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

LIST: list[int] = []
BYTE = ctypes.c_char(b"\0")
FIELD = ctypes.c_int(0)
SLOTS = (ctypes.c_int * 1)(0)


def wake() -> None:
    """Wake it from a Python function."""
    LIST.append(1)


def wake_badly() -> None:
    """Wake it and fail then, as a driver does that finds no memory."""
    LIST.append(1)
    raise ValueError("woken, and failed")


def waking_generator() -> Iterator[int]:
    """Wake it when the first item is asked for."""
    LIST.append(1)
    yield 1


async def coroutine() -> None:
    """Wake it when it is awaited."""
    LIST.append(1)


def drive() -> None:
    """Run a coroutine to its end."""
    try:
        coroutine().send(None)
    except StopIteration:
        pass


def callback() -> None:
    """A function that C code calls back."""
    LIST.append(1)


_FROM_C = ctypes.CFUNCTYPE(None)(callback)


def through_c() -> None:
    """Wake it in a function that C code calls."""
    _FROM_C()


partial_wake = functools.partial(wake)


class Thing:
    """An object whose use wakes it."""

    def __add__(self, other: object) -> int:
        LIST.append(1)
        return 1

    def __enter__(self) -> Thing:
        LIST.append(1)
        return self

    def __exit__(self, *anything: object) -> None:
        return None

    @property
    def value(self) -> int:
        """Wakes it when it is read."""
        LIST.append(1)
        return 1


THING = Thing()


class Dying:
    """An object whose end wakes it."""

    def __del__(self, woken: list[int] = LIST) -> None:
        # By argument: when the interpreter ends, the module's names are gone before this is called.
        woken.append(1)


HOLDER = {"dying": Dying()}


def __getattr__(name: str) -> int:
    if name != "by_attribute":
        raise AttributeError(name)
    LIST.append(1)
    return 1


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
        if LIST or FIELD.value or SLOTS[0] or BYTE.value != b"\0":
            return (("cuda", "driver"),)
        return ()

    def examine(self) -> tuple[dict[str, Any], ...]:
        """Its state, as a recording holds it."""
        status = "awake" if self.awake() else "cold"
        return ({"accelerator": "cuda", "status": status, "level": None, "reason": None, "library": None},)


CONFESSED: list[list[Any]] = []


def confess() -> None:
    """Stands where the waking call would: writes down what CPython itself says of where that is."""
    frame: FrameType | None = None if CONFESSED else sys._getframe(1)
    while frame is not None:
        CONFESSED.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname])
        frame = frame.f_back


def in_thread(work: Callable[[], object], name: str, *, wait: bool) -> threading.Thread:
    """Do some work on a thread of its own."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    if wait:
        thread.join()
    return thread


def until_others_rest(limit: float = 60) -> None:
    """Wait until the kernel has no other thread of this process on a processor, nor waiting for one.

    A thread that Python has ended may still be ending there, on a busy machine for many milliseconds.
    """
    until = time.monotonic() + limit
    while _somebody_runs():
        assert time.monotonic() < until, "another thread goes on and on"
        time.sleep(0.001)


def _somebody_runs() -> bool:
    for task in Path("/proc/self/task").glob("*"):  # on macOS there is none
        try:
            status = (task / "stat").read_text(encoding="utf-8").rpartition(") ")[2][:1]
        except OSError:
            continue  # it has just ended
        if int(task.name) != threading.get_native_id() and status not in "STt":
            return True
    return False


def compute(seconds: float) -> None:
    """Be busy for some time."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
