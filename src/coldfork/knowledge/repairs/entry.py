"""The facts about one published fault: where it is, and which version repaired it."""

from __future__ import annotations

from dataclasses import dataclass

_AMBIGUOUS = frozenset({"<module>", "__init__", "capture"})
"""Names that many functions of a file have, or that stand for the whole file."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One place of a fault, identified by the line's text because line numbers differ between versions."""

    path: str
    """The file, relative to the folder that holds the top-level package."""
    function: str
    """The function, or the class with the line in its body; `<module>` for a line outside both."""
    text: str
    """Part of the source line."""

    def is_at(self, path: str, function: str, text: str) -> bool:
        """Return whether a call in this file and function is at this fault; if unknown, `text` is empty."""
        if not f"/{path}".endswith(f"/{self.path}") or function.rpartition(".")[2] != self.function:
            return False
        return self.text in text if text else self.function not in _AMBIGUOUS


@dataclass(frozen=True, slots=True)
class Repair:
    """One published fault, with the versions that repaired it."""

    cases: tuple[str, ...]
    """The cases of `benchmarks/cases.json` in which it was found."""
    distribution: str
    buggy: tuple[str, ...]
    """The versions whose sources contain the fault."""
    fixed: str | None
    """The version that repaired it; None if none did, or if its changed code also wakes the device."""
    change: str
    """The behaviour of the repaired version, or of the newest one that was examined, as a clause."""
    source: str
    faults: tuple[Fault, ...]
    stories: tuple[str, ...] = (
        "cuda-in-forked-child",
        "initialization-error",
        "woken-too-early",
    )
    """The troubles that the fault leads to."""
