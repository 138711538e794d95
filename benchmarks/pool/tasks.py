"""The tasks given to the pools. Every worker imports this module, so it holds little."""

import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def nothing(payload: "Any" = None) -> None:
    """Do nothing with what was sent."""


def process(seconds: float = 0.0) -> int:
    """Which process this is, after so long that its siblings have to answer the others."""
    time.sleep(seconds)
    return os.getpid()


def imported(modules: "tuple[str, ...]") -> bool:
    """Import these; whether they are there, which they are."""
    for name in modules:
        __import__(name)
    return all(name in sys.modules for name in modules)


def size(array: "Any") -> int:
    """How much has arrived."""
    return int(array.nbytes)


def same(value: "Any") -> "Any":
    """Give back what was sent."""
    return value


def zeros(count: int) -> bytes:
    """So many bytes that were not sent."""
    return bytes(count)


def raise_error(text: str) -> None:
    """Fail as tasks fail."""
    raise ValueError(text)


def say_and_wait(path: str) -> None:
    """Write down which process this is, and then never end."""
    _note(path, os.getpid())
    while True:
        signal.pause()


def compute_for_ever(path: str) -> None:
    """The same without a system call in which a signal could be heard."""
    _note(path, os.getpid())
    while True:
        pass


def say_and_wait_with_children(path: str) -> None:
    """The same with two children of its own, one of which has left the session, and a grandchild."""
    for leaves in (False, True):
        if os.fork() == 0:
            if leaves:
                os.setsid()
            if os.fork() == 0:
                _note(f"{path}.{os.getpid()}", os.getpid())
            else:
                _note(f"{path}.{os.getpid()}", os.getpid())
            while True:
                signal.pause()
    say_and_wait(path)


def _note(path: str, pid: int) -> None:
    with open(f"{path}.new.{pid}", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(f"{time.monotonic()} {pid}")
    os.rename(f"{path}.new.{pid}", path)  # noqa: PTH104
