"""The facts about one way in which accelerator work fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way in which accelerator work fails: the symptom, the cause, the remedies."""

    name: str
    sign: str
    """The symptom, as a person would describe it."""
    pattern: str | None
    """A regular expression that finds the symptom in an output; None if there is nothing to find."""
    cause: str
    remedies: tuple[str, ...]
    """The remedies, the best first."""
    command: str | None = None
    """The command to type next."""
    kinds: tuple[str, ...] = ()
    """The errors and warnings that show the symptom; empty if it is not a message of a Python exception."""
    needles: tuple[str, ...] = ()
    """Words, one of which is in every output with the symptom; a quick search for them avoids a slow one."""
    alternatives: tuple[str, ...] = ()
    """Other possible explanations of the symptom."""
    versions: tuple[str, ...] = ()
    """The distributions whose versions matter; a story names the installed ones."""
    is_warning: bool = False
    """True if the program continues, usually without harm."""

    @property
    def remedy(self) -> str:
        """The best remedy."""
        return self.remedies[0]
