"""The way from the program to the device: the imports in progress, then the calls."""

from __future__ import annotations

from dataclasses import dataclass

from coldfork.model.states import Waker
from coldfork.report.recordings.summary import phrases
from coldfork.report.shared.wakers import calls_to_device


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step: what is done, to what, and the line that does it."""

    verb: str
    symbol: str
    path: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """The line that takes the step; empty where there is none."""
        return "" if self.path is None else phrases.place(self.path, self.line)


def steps(waker: Waker) -> list[ChainStep]:
    """Every step, outermost first; the last one is the call that touched the device, if it was seen."""
    found = []
    importer = None
    for site in waker.import_chain:
        if site.module in phrases.PROGRAM:
            found.append(ChainStep("runs", "the program"))
        elif importer is None:
            found.append(ChainStep("imports", site.module))
        else:
            found.append(ChainStep("imports", site.module, importer.path, importer.line))
        importer = site
    return found + _calls(waker)


def _calls(waker: Waker) -> list[ChainStep]:
    """The calls from the module's own line to the one known by name; what lies inside that is left out."""
    found = [
        ChainStep("", frame.function, frame.path, frame.line)
        for frame in (*waker.stack[:1], *calls_to_device(waker))
    ]
    if waker.call:
        found.append(ChainStep("calls", waker.call))
    return found
