"""Linux features that Python does not offer: adopting orphans, dying with a parent, ending processes."""

from __future__ import annotations

import _signal
import os
import struct
import sys

from coldfork.observe.processes.table import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SET_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36


def process_control() -> Callable[..., int]:
    """Return the C library's function `prctl`."""
    return _function("prctl")


def _function(name: str) -> Callable[..., int]:
    """Return a function of the C library.

    It is found through `_ctypes`, because importing all of `ctypes` would take half the time of starting a
    supervisor.
    """
    try:
        import _ctypes

        call, library = _ctypes.call_function, _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
        address = _ctypes.dlsym(library, name)
        return lambda *words: int(call(address, words))
    except (ImportError, AttributeError):
        import ctypes

        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
        return found


_SET_ATTRIBUTES = {
    "x86_64": 314,
    "aarch64": 274,
    "riscv64": 274,
    "loongarch64": 274,
    "ppc64le": 355,
    "s390x": 345,
}
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
_SLICE_NANOSECONDS = 100_000


def come_first() -> None:
    """Have this process run as soon as it is woken, even if others keep every processor busy.

    Root uses real-time scheduling; others ask for short time slices, which are granted sooner (from Linux
    6.12 on; older kernels ignore the request). Processes started afterwards do not inherit this.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except (OSError, AttributeError):
        number = _SET_ATTRIBUTES.get(os.uname().machine)
        if number is not None:
            wanted = _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, 0, 0, 0, _SLICE_NANOSECONDS, 0, 0)
            _function("syscall")(number, 0, wanted, 0)


def adopt_orphans(control: Callable[..., int]) -> bool:
    """Become the parent of every descendant whose own parent has ended."""
    return control(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def die_with_parent(control: Callable[..., int]) -> None:
    """Have the kernel kill this process when the thread that forked it, its parent's only one, ends."""
    hear_of_parent(control, int(_signal.SIGKILL))


def hear_of_parent(control: Callable[..., int], number: int) -> None:
    """Have the kernel send this signal when the parent ends, or when the thread that forked this process
    ends.
    """
    control(_SET_DEATH_SIGNAL, number, 0, 0, 0)


def descendants(of: int) -> list[int]:
    """Return all descendants of a process from the kernel's lists, children before grandchildren."""
    try:
        return _below(of, children)
    except NotImplementedError:
        known = _by_parents()
        return _below(of, lambda pid: known.get(pid, ()))


def _below(of: int, children: Callable[[int], Iterable[int]]) -> list[int]:
    found: list[int] = []
    waiting = [of]
    while waiting:
        below = list(children(waiting.pop()))
        found += below
        waiting += below
    return found


def children(pid: int) -> Iterator[int]:
    """Yield a process's children from the kernel's lists; raise `NotImplementedError` if there are none."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:
                listed = stream.read()
        except FileNotFoundError:
            if os.path.exists(f"/proc/{pid}/task/{thread}/stat"):
                # This kernel was built without the lists of children.
                raise NotImplementedError from None
            continue
        except OSError:
            continue
        yield from map(int, listed.split())


def _by_parents() -> dict[int, list[int]]:
    """Return the children of each process, found by reading every process's parent."""
    children: dict[int, list[int]] = {}
    for pid in processes():
        found = standing(pid)
        if found is not None:
            children.setdefault(found.parent, []).append(pid)
    return children


def stands_still(pid: int) -> bool:
    """Return whether a process is stopped, by a signal or a tracer."""
    found = standing(pid)
    return found is not None and found.is_stopped


def runs(pid: int) -> bool:
    """Return whether a process exists and is still running, which a zombie is not."""
    found = standing(pid)
    return found is not None and not found.has_ended


def processes() -> Iterator[int]:
    """Yield the number of every process that is visible here."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def signal_all(pids: list[int], number: int) -> int:
    """Send a signal to processes; return the number of those that still existed."""
    reached = 0
    for pid in pids:
        try:
            os.kill(pid, number)
            reached += 1
        except (ProcessLookupError, PermissionError):
            pass
    return reached


def reap(pid: int) -> None:
    """Wait for a child's end; if SIGCHLD is ignored, the system has reaped it already."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def name(pid: int) -> str:
    """Return the short name of a process; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as stream:
            return stream.read().decode("utf-8", "backslashreplace").strip()
    except OSError:
        return ""


def end_marked(variable: str, values: set[str]) -> int:
    """Kill the processes whose variable has one of these values; return how many there were.

    This ends the remains of a run whose supervisor was killed. It finds every process that has not cleared
    its environment.
    """
    wanted = {f"{variable}={value}".encode() for value in values}
    ended = 0
    us = os.getpid()
    for pid in processes():
        if pid == us:
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as stream:
                carried = stream.read()
            if f"{variable}=".encode() in carried and not wanted.isdisjoint(carried.split(b"\0")):
                os.kill(pid, _signal.SIGKILL)
                ended += 1
        except OSError:
            continue
    return ended


def has_process_descriptors() -> bool:
    """Return whether this kernel and this Python support process descriptors (pidfd)."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def is_single_threaded() -> bool:
    """Return whether this process has a single thread: then no other thread can hold a lock during a fork."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def supported() -> bool:
    """Return whether this machine can run supervisors: Linux, with `/proc` mounted."""
    return sys.platform.startswith("linux") and os.path.exists("/proc/self/task")


#: For a number with two names: the better known name.
_KNOWN_AS = {"SIGCLD": "SIGCHLD", "SIGIOT": "SIGABRT", "SIGPOLL": "SIGIO"}


def signal_name(number: int) -> str:
    """Return a signal's name, `SIGSEGV` for 11, without importing the large module `signal`."""
    for name, value in vars(_signal).items():
        if name.startswith("SIG") and not name.startswith("SIG_") and value == number:
            return _KNOWN_AS.get(str(name), str(name))
    return f"signal {number}"
