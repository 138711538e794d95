"""Proves that a server may fork: nothing is awake, there is one thread, and no process was left running."""

from __future__ import annotations

import os
import sys
from time import sleep

from coldfork.launch.plumbing.linux import kernel
from coldfork.observe import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from coldfork.model.states import Waker

_PATIENCE = 50
_A_MOMENT = 0.001
"""A thread that has been joined stays in the kernel's list for a moment."""
_FRAMES = 6
_OURS = "coldfork.launch.server."


def stains(waker_of: Any = None) -> list[str]:
    """What a child forked now would have to suffer from, each in a sentence; empty where there is nothing.

    `waker_of` says who woke an accelerator, where that was watched.
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
    """Who woke it and through which calls, below the sentence that says what."""
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
        yield "there are several threads, and whose they are cannot be read here"
        return
    for thread in natives:
        owner = f"of {thread.owner}" if thread.owner else "of a library that could not be found"
        yield f"a thread {owner} runs ({thread.name})"


def _beginning(thread: Any) -> str:
    """Where the function stands that a thread of Python runs."""
    target = getattr(thread, "_target", None) or type(thread).run
    code = getattr(target, "__code__", None)
    return "" if code is None else f": {code.co_name}, {code.co_filename}:{code.co_firstlineno}"


def _processes() -> Iterator[str]:
    for child in kernel.descendants(os.getpid()):
        yield f"the process {child} ({kernel.name(child)}) was started and runs"
