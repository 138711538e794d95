"""Generates programs with threads, one of which wakes the planted device while another thread imports.

Who wakes it is decided while the program is generated; coldfork has to name that thread, or nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

CALL = "# CALL"

SETUP = """
import planted_device as device, threading, time
go, done = threading.Event(), threading.Event()
"""

#: What is done to wake it. `guilty` is a module that does it when it is imported.
ACTIONS = (
    "device.wake()",
    "device.LIST.append(1)",
    "device.foreign_wake(device.PLACE, 1, 1)",
    "device.FIELD.value = 1",
    "device.THING + 1",
)
IMPORT_GUILTY = "import guilty"

#: What other threads do meanwhile.
BYSTANDERS = (
    "device.in_thread(go.wait, 'idle-thread', wait=False)",
    "device.in_thread(lambda: time.sleep(0.5), 'sleeping-thread', wait=False)",
    "device.in_thread(lambda: device.compute(0.05), 'busy-thread', wait=False)",
    "device.in_thread(lambda: None, 'short-thread', wait=True)",
    "device.in_thread(lambda: None, 'short-thread', wait=False)",
    "device.in_thread(lambda: __import__('tabnanny'), 'importing-thread', wait=False)",
    "device.in_thread(lambda: [time.sleep(0.001) for _ in range(20)], 'restless-thread', wait=False)",
    "device.in_thread(lambda: sorted(range(300_000)), 'thread-in-c', wait=False)",
)
#: What the importing thread does.
DOINGS = (
    "import colorsys",
    "import wave",
    "import stringprep",
    "import sched, rlcompleter",
    "import this_is_not_there",
    "device.compute(0.01)",
    "time.sleep(0.005)",
    "go.set()",
    "number = sum(range(1000))",
    "import gc\ngc.collect()",
)


@dataclass(frozen=True)
class Threaded:
    """The text of `grown`, the module that is imported, and of `guilty`; and the truth about them."""

    grown: str
    guilty: str
    thread: str
    module: str | None
    """The module in progress on the thread that wakes."""

    @property
    def line(self) -> int:
        """The line that wakes, in the module that holds it."""
        lines = (self.guilty if self.module == "guilty" else self.grown).split("\n")
        return next(number for number, line in enumerate(lines, 1) if CALL in line)


@st.composite
def threaded(draw: st.DrawFn) -> Threaded:
    """Programs in which the importing thread or another one wakes the device."""
    on_main = draw(st.booleans())
    through_import = draw(st.booleans())
    action = draw(st.sampled_from(ACTIONS))
    wakes = IMPORT_GUILTY if through_import else f"{action}  {CALL}"
    before = draw(st.lists(st.sampled_from(BYSTANDERS + DOINGS), max_size=4))
    after = draw(st.lists(st.sampled_from(DOINGS), max_size=3))
    body = [*before, wakes, *after] if on_main else _another_thread(draw, wakes, before, after)
    module = "guilty" if through_import else "grown" if on_main else None
    return Threaded(
        grown=SETUP + "\n".join(_harmless(line) for line in body) + "\n",
        guilty=f"import planted_device as device\nx = 1\n{action}  {CALL}\ny = 2\n",
        thread="MainThread" if on_main else "waker-thread",
        module=module,
    )


def _another_thread(draw: st.DrawFn, wakes: str, before: list[str], after: list[str]) -> list[str]:
    """The body of a module that starts the thread which wakes, and goes on."""
    prelude = draw(st.sampled_from(("", "go.wait(5)", "time.sleep(0.003)", "device.compute(0.003)")))
    ending = draw(st.sampled_from(("", "time.sleep(0.5)", "device.compute(0.01)")))
    work = ["def work():", *(f"    {line}" for line in (prelude, wakes, "done.set()", ending) if line)]
    waits = draw(st.booleans()) and prelude != "go.wait(5)"
    started = f"device.in_thread(work, 'waker-thread', wait={waits})"
    told = ["go.set()"] if prelude == "go.wait(5)" else []
    waiting = ["done.wait(5)"] if draw(st.booleans()) else []
    return [*work, *before, started, *told, *after, *waiting, "import tabnanny"]


def _harmless(line: str) -> str:
    """Return a line that looks for something missing and does not mind."""
    return f"try:\n    {line}\nexcept ImportError:\n    pass" if "not_there" in line else line
