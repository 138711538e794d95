"""How far an import is followed: statements, and calls inside calls."""

from __future__ import annotations

#: Statements (a call counts for a few) followed on behalf of one module before the rest is taken for unknown.
_STATEMENTS = 20_000
#: Tests build values of all kinds while they are collected; they get less.
_STATEMENTS_OF_TESTS = 4_000
_DEEPEST = 60


class Budget:
    """What is left of the work that one module is worth."""

    __slots__ = ("depth", "left")

    def __init__(self) -> None:
        self.left = _STATEMENTS
        self.depth = 0
        """How many calls, each inside the next, are being followed."""

    def begin(self, of_test: bool) -> None:
        """Start over, for another module."""
        self.left = _STATEMENTS_OF_TESTS if of_test else _STATEMENTS
        self.depth = 0

    @property
    def exhausted(self) -> bool:
        """True when following another call would take too long for what it could show."""
        return self.depth >= _DEEPEST or self.left <= 0

    def ran_out(self, before: int) -> bool:
        """True when a call that began with nearly all there ever is has used it up."""
        return self.left <= 0 and before > _STATEMENTS // 2
