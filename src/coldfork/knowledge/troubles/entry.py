"""What is known about one way in which accelerator work fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way in which accelerator work fails: the sign, the cause, the remedies."""

    name: str
    sign: str
    """What is seen, as a person would describe it."""
    pattern: str | None
    """A regular expression that finds it in an output; None where there is nothing to find."""
    cause: str
    remedies: tuple[str, ...]
    """What to do, the best first."""
    command: str | None = None
    """The command to type next."""
    kinds: tuple[str, ...] = ()
    """The errors and warnings that carry the sign; empty where it is no Python exception's message."""
    needles: tuple[str, ...] = ()
    """Words one of which stands in every output with the sign: a quick look for them saves a slow one."""
    alternatives: tuple[str, ...] = ()
    """What else the same sign can mean."""
    versions: tuple[str, ...] = ()
    """The distributions whose versions decide it; a story names those that are installed."""
    is_warning: bool = False
    """True where the program goes on, and mostly well."""

    @property
    def remedy(self) -> str:
        """The best remedy."""
        return self.remedies[0]
