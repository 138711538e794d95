"""How sure an effect is, whom it concerns, and who may apply a fix."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """How certain it is that an effect happens on import."""

    CERTAIN = "certain"
    CONDITIONAL = "conditional"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """The place in the order; a larger rank is more certain."""
        return {"possible": 0, "conditional": 1, "certain": 2}[self.value]


class Audience(StrEnum):
    """The users whom a module's import concerns; the widest audience comes first."""

    LIBRARY = "library"
    """All users who import the package."""
    SCRIPT = "script"
    """Users who start the program, which is not imported."""
    BUILD = "build"
    """Users who build or install the package."""
    EXAMPLE = "example"
    """Users who try an example, a benchmark or code from the documentation."""
    TEST = "test"
    """Developers who run the tests."""

    @property
    def rank(self) -> int:
        """The position in the order of audiences; a smaller rank is a wider audience."""
        return _RANKS[self.value]


_RANKS = {name: rank for rank, name in enumerate(("library", "script", "build", "example", "test"))}


class Applicability(StrEnum):
    """Who may apply a fix."""

    SAFE = "safe"
    """`--fix` applies it: the program behaves as before, except that the device wakes at another time."""
    UNSAFE = "unsafe"
    """`--fix=unsafe` applies it: the behaviour is probably, but not certainly, the same."""
    SHOWN = "shown"
    """Only the author can apply it, because the last step is theirs."""

    @property
    def rank(self) -> int:
        """The position in the order; a larger rank is safer."""
        return {"shown": 0, "unsafe": 1, "safe": 2}[self.value]
