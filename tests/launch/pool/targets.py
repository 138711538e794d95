"""The tasks of the tests' workers, which import this module: it imports little itself."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn


def square(number: int) -> int:
    return number * number


def add(one: int, other: int = 0) -> int:
    return one + other


def tell(value: Any) -> Any:
    return value


def mirror(buffer: Any) -> Any:
    return pickle.PickleBuffer(buffer)


def fill(content: bytearray) -> bytes:
    """Change what it was given, and say how it began."""
    was = bytes(content[:4])
    content[:4] = b"\1\1\1\1"
    return was


def fail(text: str) -> NoReturn:
    raise ValueError(text)


class Peculiar(Exception):
    """Cannot be unpickled: that would call it with one argument."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(one)


def fail_peculiarly() -> NoReturn:
    raise Peculiar(1, 2)


def give_a_lock() -> Any:
    return threading.Lock()


def leave(status: int) -> NoReturn:
    sys.stderr.write("about to leave\n")
    sys.stderr.flush()
    os._exit(status)


def die_of(number: int) -> None:
    os.kill(os.getpid(), number)
    signal.pause()


def crash() -> None:
    ctypes.string_at(0)


def begin_and_hang(path: str) -> None:
    """Say that it has begun, and hear nothing any more."""
    write(path, str(os.getpid()))
    signal.pause()


def begin_and_await(began: str, go: str) -> int:
    """Say that it has begun, and end when told to: both are named pipes."""
    write(began, str(os.getpid()))
    Path(go).read_text("utf-8")
    return os.getpid()


def begin_family_and_hang(path: str) -> None:
    """Start a program and fork a child, say who they are, and hang."""
    program = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    child = os.fork()
    if child == 0:
        signal.pause()
    write(path, f"{os.getpid()} {program.pid} {child}")
    signal.pause()


def write(path: str, text: str) -> None:
    Path(path).write_text(text, "utf-8")


def initialise(name: str, value: str) -> None:
    os.environ[name] = value


def getenv(name: str) -> str | None:
    return os.environ.get(name)


def shout(text: str) -> None:
    print(text)
    print(text.upper(), file=sys.stderr)


def tell_pid(_: object) -> int:
    return os.getpid()


def die_once(path: str) -> str:
    """Die the first time, which a file remembers."""
    if not Path(path).exists():
        write(path, "")
        os.kill(os.getpid(), signal.SIGKILL)
    return "at last"


def hashed(text: str) -> int:
    return hash(text)


def square_in_child(number: int) -> int:
    import multiprocessing

    with multiprocessing.Pool(1) as pool:
        return pool.apply(square, (number,))


def hold(size: int) -> int:
    """Hold so much memory, written to, for as long as it takes."""
    held = [b"\1" * (1 << 20) for _ in range(size >> 20)]
    signal.pause()
    return len(held)


def hold_in_children(size: int, count: int) -> None:
    for _ in range(count):
        if os.fork() == 0:
            hold(size)
    signal.pause()


KEPT: list[bytes] = []


def keep(size: int) -> int:
    """Keep so much memory when the task is done."""
    KEPT.extend(b"\1" * (1 << 20) for _ in range(size >> 20))
    return os.getpid()


def put(queue: Any) -> None:
    queue.put(os.getpid())


def square_or_hang(what: int | str) -> int:
    if isinstance(what, str):
        begin_and_hang(what)
        raise AssertionError
    return what * what
