"""One attempt in a forked child: what it tells, until it is clean and goes on, or is of no use any more."""

from __future__ import annotations

import os
import select
from _signal import SIGKILL
from time import monotonic

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.preload.trying.tree import Tree
from coldfork.observe import states
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.preload.trying.observer import Tell
    from coldfork.observe.recording.events import Event

CLEAN = "clean"
"""The last thing that a child tells which goes on in its parent's place."""
_MOST = 1 << 16


class Outcome:
    """What a child has told of its attempt."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.stains: list[Event] = []
        self.raised: list[Event] = []
        self.breaks: Event | None = None
        """What a forked child of it could not do."""
        self.waker: Event | None = None
        self.clean = False
        self.ended = False
        """Whether it came to its end, and waits to be ended."""
        self.reached: str | None = None
        """The module that was not to be imported, and that it was about to import."""
        self.timed_out = False

    def hear(self, event: Event) -> None:
        """Take note of one thing that it tells."""
        kind = event["event"]
        if kind in ("item", "begin", "end"):
            self.tree.hear(event)
        elif kind == "stain":
            self.stains.append(event)
        elif kind == "raised":
            self.raised.append(event)
        elif kind == "forked":
            self.breaks = None if event["safe"] else event
        elif kind == "waker":
            self.waker = event["waker"]
        elif kind == CLEAN:
            self.clean = True
        elif kind == "reached":
            self.reached, self.ended = event["module"], True
        elif kind == "ended":
            self.ended = True


def fork_and_hear(
    live: Callable[[Tell], None], patience: float, heard: Callable[[Event], None] = lambda event: None
) -> Outcome | None:
    """Fork a child that lives so, and hear what it tells; None in the child, when it has come to its end.

    It is killed, with all that it started, when it has told nothing for so many seconds.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)
    states.remember_for_children()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write = os.write

        def tell(event: Event) -> None:
            content = encode(event)
            while content:
                content = content[write(writing, content) :]

        live(tell)
        os.close(writing)
        return None
    os.close(writing)
    outcome = Outcome()
    try:
        _listen(reading, outcome, patience, heard)
    finally:
        os.close(reading)
        if not outcome.clean:
            kernel.signal_all([*kernel.descendants(child), child], SIGKILL)
            os.waitpid(child, 0)
    return outcome


def _listen(reading: int, outcome: Outcome, patience: float, heard: Callable[[Event], None]) -> None:
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    rest, until = b"", monotonic() + patience
    while not (outcome.clean or outcome.ended):
        left = until - monotonic()
        if left <= 0:
            outcome.timed_out = True
            return
        if not poll.poll(left * 1000):
            continue
        piece = os.read(reading, _MOST)
        if not piece:
            return
        until = monotonic() + patience
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            event = decode(line.decode("ascii"))
            outcome.hear(event)
            heard(event)
