"""What is known about one published fault: where it stands, and which version mended it."""

from __future__ import annotations

from dataclasses import dataclass

_AMBIGUOUS = frozenset({"<module>", "__init__", "capture"})
"""Names that many functions of a file have, or that say nothing but the file."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One place of a fault: lines move from version to version, what stands on them does not."""

    path: str
    """The file, from the folder that holds the top package."""
    function: str
    """The function, or the class whose body it is; `<module>` for a line of no function."""
    text: str
    """Part of the source line."""

    def is_at(self, path: str, function: str, text: str) -> bool:
        """Whether a call in this file and function is this one; `text` is empty where it is not known."""
        if not f"/{path}".endswith(f"/{self.path}") or function.rpartition(".")[2] != self.function:
            return False
        return self.text in text if text else self.function not in _AMBIGUOUS


@dataclass(frozen=True, slots=True)
class Repair:
    """One published fault, with what mended it."""

    cases: tuple[str, ...]
    """The cases of `benchmarks/cases.json` that it was read in."""
    distribution: str
    buggy: tuple[str, ...]
    """The versions in whose sources it was read."""
    fixed: str | None
    """The version that mended it; None if none did, or if what was changed wakes the device as well."""
    change: str
    """What the mended version does instead, or what the newest one does that was read, as a clause."""
    source: str
    faults: tuple[Fault, ...]
    stories: tuple[str, ...] = (
        "cuda-in-forked-child",
        "initialization-error",
        "woken-too-early",
    )
    """The troubles that the fault leads to."""
