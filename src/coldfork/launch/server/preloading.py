"""Make a process ready to fork: import modules, check that it is clean, prepare it, and fork.

The zygote's server does this for workers of one program, the warm servers for scripts.
"""

from __future__ import annotations

import gc
import os
import sys
from _signal import SIG_BLOCK, SIG_IGN, SIG_SETMASK, SIGINT, pthread_sigmask, signal, valid_signals
from time import sleep

from coldfork.launch.plumbing.channel import RAISED, STAINED
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.server.variables import Made, early_modules
from coldfork.observe import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any

    Fault = dict[str, str]

    from coldfork.model.states import Waker

_PATIENCE = 50
_A_MOMENT = 0.001
"""A joined thread remains in the kernel's list for a moment."""
_FRAMES = 6
_OURS = "coldfork.launch.server."


def stains(waker_of: Any = None) -> list[str]:
    """Return a sentence for each thing that would break a child forked now; empty if nothing would.

    `waker_of` returns the code that woke an accelerator, if that was watched.
    """
    return [*_awake(waker_of), *_threads(), *_processes()]


def _awake(waker_of: Any) -> Iterator[str]:
    for state in states.examine():
        if not state.unsafe_to_fork:
            continue
        waker = None if waker_of is None else waker_of(state.accelerator)
        reason = f", because {state.reason}" if state.reason else ""
        yield f"{state.accelerator} is {state.status}{reason}{'' if waker is None else told(waker)}"


def told(waker: Waker) -> str:
    """Return lines with an accelerator's waker and its calls, to follow the sentence about its state."""
    what = f"{waker.call} in {waker.module}" if waker.call else str(waker.module)
    lines = [f"  woken by {what}{_place(waker.path, waker.line)}"]
    inside = [frame for frame in waker.stack if (frame.path, frame.line) != (waker.path, waker.line)]
    lines += [f"    through {frame.function}{_place(frame.path, frame.line)}" for frame in inside[:_FRAMES]]
    above = [site for site in waker.import_chain[:-1] if not site.module.startswith(_OURS)]
    lines += [f"    imported by {site.module}{_place(site.path, site.line)}" for site in reversed(above)]
    return "".join(f"\n{line}" for line in lines)


def _place(path: str | None, number: int | None) -> str:
    if path is None:
        return ""
    return f", {path}:{number}" if number is not None else f", {path}"


def _threads() -> Iterator[str]:
    for _ in range(_PATIENCE):
        if len(os.listdir("/proc/self/task")) == 1:
            return
        sleep(_A_MOMENT)
    threading: Any = sys.modules.get("threading")
    for thread in () if threading is None else threading.enumerate():
        if thread is not threading.main_thread():
            yield f"the thread {thread.name!r} runs{_beginning(thread)}"
    natives = states.native_threads()
    if natives is None:
        yield "there are several threads, and their owners cannot be read here"
        return
    for thread in natives:
        owner = f"of {thread.owner}" if thread.owner else "of an unknown library"
        yield f"a thread {owner} runs ({thread.name})"


def _beginning(thread: Any) -> str:
    """Return a phrase, to be appended to a sentence, about where a Python thread's function is defined."""
    target = getattr(thread, "_target", None) or type(thread).run
    code = getattr(target, "__code__", None)
    return "" if code is None else f": {code.co_name}, {code.co_filename}:{code.co_firstlineno}"


def _processes() -> Iterator[str]:
    for child in kernel.descendants(os.getpid()):
        yield f"the process {child} ({kernel.name(child)}) was started and still runs"


MAIN = "__main__"


class Preload:
    """The modules that a server imports for the processes that it forks."""

    def __init__(self, modules: Sequence[str], main: str | None = None, suspect: str | None = None) -> None:
        self._modules = modules
        self._main = main
        """The file of the caller's program, for the module `__main__`."""
        self._suspect = suspect
        """A module known to wake something; it is imported under watch, to find the waking line."""
        self._home = os.getpid()
        self.faults: list[Fault] = []
        """The modules whose import raised; if one made this process unfit to fork, it is the last entry."""
        self.made: Made = Made({}, {})
        """How the imports have changed the environment."""
        self.readers: list[str] = []
        """The imported modules known to read variables during their import."""

    def load(self, told: Callable[[str], object], noting: AbstractContextManager[object]) -> None:
        """Import the modules one by one; `told` is called with each name before its import.

        `noting` is a context that records what the imports read.
        """
        before = dict(os.environ)
        with noting:
            for name in self._load():
                told(name)
        self.made = Made(before, dict(os.environ))
        self.readers = sorted(name for name in early_modules() if name in sys.modules)

    def _load(self) -> Iterator[str]:
        waker_of = None
        for name in self._modules:
            yield name
            if name == self._suspect:
                waker_of = _watched()
            try:
                self._import(name)
            except BaseException as error:
                self._leave_if_forked()
                self.faults.append({"module": name, "kind": RAISED, "text": _said(error)})
            self._leave_if_forked()
            found = stains(waker_of)
            if found:
                self.faults.append({"module": name, "kind": STAINED, "text": "\n".join(found)})
                return

    @property
    def stained(self) -> bool:
        """Return whether this process can no longer fork safely."""
        return any(fault["kind"] == STAINED for fault in self.faults)

    def _import(self, name: str) -> None:
        if name != MAIN:
            __import__(name)
        elif self._main is not None:
            from multiprocessing import process, spawn

            current: Any = process.current_process()
            current._inheriting = True
            try:
                spawn.import_main_path(self._main)
            finally:
                del current._inheriting

    def _leave_if_forked(self) -> None:
        """End this process if an import forked it: it is then a child that ran on to here, and not the
        server.
        """
        if os.getpid() != self._home:
            os._exit(0)


def settle() -> object:
    """Do once the things that forked processes must not repeat; return the previous handler of SIGINT."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # Otherwise each forked process would write the buffered output again.
            stream.flush()
    return signal(SIGINT, SIG_IGN)


def freeze() -> None:
    """Exclude all existing objects from garbage collection, which would write to pages shared with forks."""
    gc.collect()
    gc.freeze()


def fork(how: Callable[[], int] = os.fork) -> int:
    """Fork with all signals blocked, as they remain in the child; return 0 in the child."""
    held = pthread_sigmask(SIG_BLOCK, valid_signals())
    states.remember_for_children()
    pid = how()
    if pid:
        pthread_sigmask(SIG_SETMASK, held)
    return pid


def _watched() -> Callable[[str], object]:
    """Watch every call from now on; return a function that returns an accelerator's waker."""
    from coldfork.observe.watch import watch
    from coldfork.start.wakers import WAKERS

    watching = watch(WAKERS.heard, stage2=("*",), imports=False)

    def waker_of(accelerator: str) -> object:
        watching.poll()
        return WAKERS.of(accelerator)

    return waker_of


def _said(error: BaseException) -> str:
    """Format an exception with its traceback, without coldfork's own frames."""
    import traceback

    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()
