"""What the static observer sees in code that a CUDA graph captures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.chains import Chain
from coldfork.model.effects import Verdict


class CaptureKind(StrEnum):
    """What is wrong with code that a graph captures."""

    REUSES_STATE = "reuses-warmup-state"
    """It gets an object that the warm-up has initialised, and leaves the initialising out."""
    INITIALISES_LAZILY = "initialises-lazily"
    """It initialises something that outlives the capture on its first run only."""
    SYNCHRONISES = "synchronises"
    """It makes the host wait for the device, or read from it."""
    NOT_WARMED_UP = "not-warmed-up"
    """It is captured although it never ran before."""


@dataclass(frozen=True, slots=True)
class CaptureEffect:
    """One thing that happens in a captured region, with the way from the capture to it."""

    kind: CaptureKind
    verdict: Verdict
    module: str
    path: str
    line: int
    end_line: int
    column: int
    text: str
    """The source of the line that captures."""
    captor: str
    """The function that captures."""
    chain: Chain
    """From the line that captures to the line to blame; the last step is what happens there."""
    what: str
    """The flag, the call or the function in question, as the source writes it."""
    earlier: tuple[str, int] | None = None
    """Where the warm-up initialised it: path and line."""
    condition: str | None = None
    test: bool = False

    @property
    def culprit(self) -> tuple[str | None, int | None]:
        """The line where it happens."""
        return next(
            ((s.path, s.line) for s in reversed(self.chain.steps) if s.line is not None), (None, None)
        )
