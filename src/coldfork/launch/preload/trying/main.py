"""The entry point of a process that tries imports; its task is in an environment variable."""

from __future__ import annotations

import gc
import os
import sys
from _signal import SIGKILL
from time import process_time

from coldfork.observe import states
from coldfork.observe.bootstrap import WatchSession
from coldfork.observe.probing import describe, flush, high
from coldfork.observe.recording.events import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from coldfork.launch.preload.trying.forked_attempt import Tell
    from coldfork.launch.preload.trying.observer import Observer
    from coldfork.observe.recording.events import Event


def main() -> NoReturn:
    """Do the task that the environment describes, and end this process."""
    session = WatchSession.current
    if session is None:
        sys.exit("coldfork: this process was not started to try imports")
    leave = os._exit
    _TASKS[session.settings["task"]](session.settings, _telling(session.settings["result"]))
    flush()
    leave(0)


def _telling(path: str) -> Tell:
    """Return a function that appends a line to the result file, from this process and all its forks."""
    descriptor = high(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600))
    write = os.write

    def tell(event: Event) -> None:
        write(descriptor, encode(event))

    return tell


def _bare(settings: dict[str, Any], tell: Tell) -> None:
    """Import everything unobserved, and report the time and the number of modules."""
    before, began = len(sys.modules), process_time()
    for name in settings["wanted"]:
        try:
            __import__(name)
        except BaseException as error:
            tell({"event": "raised", "module": name, "error": describe(error)})
            return
    seconds = process_time() - began
    tell({"event": "bare", "seconds": seconds, "modules": len(sys.modules) - before})


def _descend(settings: dict[str, Any], tell: Tell) -> None:
    """Search in a chain of processes, and wait for the last of them to end."""
    from coldfork.launch.plumbing.linux import kernel
    from coldfork.launch.preload.trying.descent import Descent

    observer = _observer()
    kernel.adopt_orphans(kernel.process_control())
    # Otherwise a forked process could not know that a device was cold in this one.
    states.remember_for_children()
    over, ending = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        try:
            Descent(observer, tell, settings).run()
        except BaseException as error:
            tell({"event": "trouble", "text": f"{type(error).__name__}: {error}{_place(error)}"})
            raise
        finally:
            # Only the last process of the chain gets here: the earlier ones end elsewhere.
            os.write(ending, b".")
            os._exit(0)
    os.close(ending)
    os.read(over, 1)
    # Kill processes that imported modules have started and not ended.
    kernel.signal_all(kernel.descendants(os.getpid()), SIGKILL)


def _place(error: BaseException) -> str:
    """Return a phrase with the line that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f", at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _prove(settings: dict[str, Any], tell: Tell) -> None:
    from coldfork.launch.preload.trying.proof import prove

    prove(_observer(), tell, settings)


def _observer() -> Observer:
    """Start an observer of later changes, which ignores all existing objects."""
    from coldfork.launch.preload.trying.observer import Observer

    observer = Observer()
    observer.install()
    gc.collect()
    gc.freeze()
    return observer


_TASKS: dict[str, Callable[[dict[str, Any], Tell], None]] = {
    "bare": _bare,
    "descend": _descend,
    "prove": _prove,
}
