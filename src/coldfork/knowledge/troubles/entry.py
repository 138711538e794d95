"""The facts about one way in which accelerator work fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way in which accelerator work fails: the sign, the cause, the remedies."""

    name: str
    sign: str
    """The symptom, as a person would describe it."""
    pattern: str | None
    """A regular expression that finds it in an output; None if there is nothing to find."""
    cause: str
    remedies: tuple[str, ...]
    """The remedies, the best first."""
    command: str | None = None
    """The command to type next."""
    kinds: tuple[str, ...] = ()
    """The errors and warnings that carry the sign; empty if it is not the message of a Python exception."""
    needles: tuple[str, ...] = ()
    """Words, one of which occurs in every output with the sign: a quick search for them avoids a slow one."""
    alternatives: tuple[str, ...] = ()
    """Other possible meanings of the sign."""
    versions: tuple[str, ...] = ()
    """The distributions whose versions decide the matter; a story names the installed ones."""
    is_warning: bool = False
    """True if the program continues, usually without harm."""

    @property
    def remedy(self) -> str:
        """The best remedy."""
        return self.remedies[0]
