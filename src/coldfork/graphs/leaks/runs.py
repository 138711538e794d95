"""One run of a program's code, as the leak check makes several: for which batch, and what for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """One run of the program's code: which batch's, and what for."""

    descriptor: str
    kind: str
    """`build warm-up`, `warm-up`, `build capture`, `capture` or `graph`."""

    @property
    def warms(self) -> bool:
        """True for what a graph must not depend on."""
        return self.kind.endswith("warm-up")

    def __str__(self) -> str:
        return f"the {self.kind} of {self.descriptor}"
