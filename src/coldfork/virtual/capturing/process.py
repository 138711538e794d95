"""The one capture of this process: what all captures share, and refusing a second one."""

from __future__ import annotations

import threading

from coldfork.virtual.capturing.errors import CaptureError
from coldfork.virtual.capturing.memory.ownership import Holdings
from coldfork.virtual.capturing.operators.inference import Shapes
from coldfork.virtual.capturing.operators.schemas import Operators
from coldfork.virtual.capturing.places import Places, as_frame
from coldfork.virtual.capturing.recording.recorder import Recorder
from coldfork.virtual.capturing.recording.refusals import refusal


class ProcessCaptures:
    """What captures of one process share: only one runs at a time, and shapes are learned once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.recorder: Recorder | None = None
        self.operators = Operators()
        self.shapes = Shapes()
        self.places = Places()
        self.holdings = Holdings()

    def enter(self, recorder: Recorder) -> None:
        with self.lock:
            current = self.recorder
            if current is not None:
                if current.thread == threading.get_ident():
                    raise refusal(
                        "a second capture", "began inside another one", as_frame(self.places.here())
                    )
                raise CaptureError("another thread is capturing; a device captures one graph at a time")
            self.recorder = recorder

    def leave(self) -> None:
        with self.lock:
            self.recorder = None


# One for the process, because a device captures one graph at a time.
HERE = ProcessCaptures()


def refuse_while_capturing(what: str) -> None:
    """Raise what a device raises if this thread is capturing."""
    recorder = HERE.recorder
    if recorder is not None and recorder.thread == threading.get_ident():
        raise recorder.refuse(what, "is work that a capture cannot hold")
