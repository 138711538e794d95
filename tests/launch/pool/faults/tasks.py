"""The tasks of these tests' workers, and the faults in them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

LIMIT = 60.0
"""In seconds: no test waits so long unless something is broken."""


def process() -> int:
    """Which process this is."""
    return os.getpid()


def double(value: int) -> int:
    """Twice as much."""
    return 2 * value


def give_back(value: Any) -> Any:
    """The same."""
    return value


def note(path: str) -> None:
    """Write down which process this is, whole or not at all."""
    fresh = Path(f"{path}.{os.getpid()}.new")
    fresh.write_text(str(os.getpid()), encoding="ascii")
    fresh.rename(path)


def noted(path: Path) -> int:
    """Wait for what a task wrote down."""
    until = time.monotonic() + LIMIT
    while not path.exists():
        assert time.monotonic() < until, f"nothing was written to {path.name}"
        time.sleep(0.005)
    return int(path.read_text(encoding="ascii"))


def wait_for_ever(path: str) -> NoReturn:
    """Never end, and hear signals."""
    note(path)
    while True:
        signal.pause()


def compute_for_ever(path: str) -> NoReturn:
    """Never end, and never call the system."""
    note(path)
    while True:
        pass


def wait_without_python(path: str) -> None:
    """Hold the interpreter's lock in C for very long, so that no Python code runs here."""
    note(path)
    ctypes.PyDLL(None).sleep(1000)


def wait_for(path: str, begun: str) -> int:
    """End when a file is there."""
    note(begun)
    until = time.monotonic() + LIMIT
    while not Path(path).exists():
        assert time.monotonic() < until
        time.sleep(0.005)
    return os.getpid()


def leave(status: int) -> NoReturn:
    """End the process as C does."""
    os._exit(status)


def leave_as_python_does(status: int) -> NoReturn:
    """End the process as a script does: this is an exception."""
    sys.exit(status)


def say_and_leave(text: str) -> NoReturn:
    """Write to standard error past Python, and end."""
    os.write(2, text.encode())
    os._exit(1)


def follow_null() -> None:
    """End in a segmentation fault."""
    ctypes.string_at(0)


def stop_itself(path: str) -> None:
    """Be stopped as by SIGSTOP, which nobody undoes."""
    note(path)
    os.kill(os.getpid(), signal.SIGSTOP)


def lock() -> Any:
    """Return something that cannot be pickled."""
    return threading.Lock()


class UnpicklableError(Exception):
    """Cannot be pickled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


class OneWayError(Exception):
    """Can be pickled, and not unpickled: it is made of two arguments and remembers one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


class OneWay:
    """Can be pickled, and raises when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _refuse, ("not here",)


class OnlyHere:
    """Can be pickled and unpickled in the process that made it, and nowhere else."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _only_in, (os.getpid(),)


class OnlyHereError(Exception):
    """The same as an exception."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _only_in, (os.getpid(),)


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _only_in(pid: int) -> Any:
    if os.getpid() != pid:
        raise ValueError("not there")
    return OnlyHereError("raised here")


def raise_unpicklable() -> NoReturn:
    raise UnpicklableError("has a lock")


def raise_one_way() -> NoReturn:
    raise OneWayError("one", "two")


def raise_only_here() -> NoReturn:
    raise OnlyHereError


def raise_exit() -> NoReturn:
    raise SystemExit("leaving")


def raise_interrupt() -> NoReturn:
    raise KeyboardInterrupt


def give_one_way() -> OneWay:
    return OneWay()


def give_only_here() -> OnlyHere:
    return OnlyHere()


def zeros(count: int) -> bytes:
    """So many bytes."""
    return bytes(count)


def allocate(count: int) -> int:
    """Hold so many bytes at once, touched."""
    return len(b"x" * count)


def limit_memory(more: int) -> None:
    """Let this process have so much more address space."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def hold_slowly(path: str) -> NoReturn:
    """Come to hold more and more, a megabyte at a time."""
    note(path)
    held = []
    while True:
        held.append(b"x" * (1 << 20))


def hold_in_a_child(path: str) -> None:
    """The same in a child."""
    if os.fork() == 0:
        hold_slowly(path)
    os.wait()


def fork_and_leave(path: str) -> NoReturn:
    """Leave with a child that goes on, and a grandchild in a session of its own."""
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            wait_for_ever(f"{path}.grandchild")
        wait_for_ever(f"{path}.child")
    noted(Path(f"{path}.child"))
    noted(Path(f"{path}.grandchild"))
    os._exit(7)


def fork_and_wait(path: str) -> NoReturn:
    """Go on with a child, and a grandchild in a session of its own."""
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            wait_for_ever(f"{path}.grandchild")
        wait_for_ever(f"{path}.child")
    wait_for_ever(path)


def fork_and_return(path: str) -> int:
    """Come back while a child goes on."""
    child = os.fork()
    if child == 0:
        wait_for_ever(path)
    noted(Path(path))
    return child


def child_that_returns() -> int:
    """A child of the worker that comes back from the task, as one that was forked carelessly does."""
    if os.fork() == 0:
        return -1
    os.wait()
    return os.getpid()


def close_everything() -> str:
    """Close every descriptor that is not a standard one, as some daemons do."""
    os.closerange(3, 1024)
    return "closed"


def close_standard_streams() -> str:
    """The others."""
    for number in (0, 1, 2):
        os.close(number)
    return "closed"


def write_to_standard_output(text: str) -> None:
    """Print."""
    print(text, flush=True)


def open_all() -> str:
    """Use up this process's descriptors, and tell by what error it was noticed."""
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return str(error.strerror)
    finally:
        for each in held:
            os.close(each)


def open_all_and_keep() -> int:
    """The same, and keep them."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    opened = 0
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
            opened += 1
    except OSError:
        return opened


def fail_in_initializer(text: str) -> NoReturn:
    raise ValueError(text)


def ignore_signals(path: str) -> NoReturn:
    """Hear no signal that can be ignored, and never end."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    wait_for_ever(path)


def start_thread_that_stays() -> str:
    """A thread that is not a daemon, and would keep an interpreter from ending."""
    threading.Thread(target=threading.Event().wait).start()
    return "started"


def say_bytes_and_leave(content: bytes) -> NoReturn:
    """Write what may be no text to standard error, and end."""
    os.write(2, content)
    os._exit(1)


def append_and_leave(path: str, status: int) -> NoReturn:
    """Note that this was done, and end."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{status}\n".encode())
    os._exit(status)


def fill(buffer: bytearray, value: int) -> bytearray:
    """Overwrite what was given."""
    buffer[:] = bytes([value]) * len(buffer)
    return buffer


def many_pieces(megabytes: int) -> list[bytes]:
    """So much, in pieces that are copied once more when they are sent."""
    return [number.to_bytes(4, "big") * 250 for number in range(megabytes * 1000)]


def append(path: str, text: str) -> None:
    """Add a line."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{text}\n".encode())
    os.close(descriptor)


def process_after(seconds: float) -> int:
    """Which process this is, when others have had a turn as well."""
    time.sleep(seconds)
    return os.getpid()


def log_and(kind: str, path: str, number: int) -> int:
    """Note that this is done, and end in one way or another."""
    append(path, str(number))
    if kind == "raise":
        raise ValueError(f"meant {number}")
    if kind == "leave":
        os._exit(number % 256)
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def log_and_give(path: str, number: int, size: int) -> bytes:
    """Note that this is done, and give so many bytes."""
    append(path, str(number))
    return bytes([number % 251]) * size


def log_and_hang(path: str, number: int) -> NoReturn:
    """Note that this is begun, and never end."""
    append(path, str(number))
    while True:
        signal.pause()


def _square(value: int) -> int:
    return value * value


def with_children() -> list[int]:
    """Use a pool of multiprocessing, which a daemon may not have."""
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(_square, range(3))


def with_a_pool() -> int:
    """Use a pool of this process."""
    import coldfork

    with coldfork.WorkerPool(1) as pool:
        return int(pool.submit(double, 4).result(LIMIT))
