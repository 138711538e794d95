"""How far an import is followed: statements, and calls inside calls."""

from __future__ import annotations

from coldfork.source.evaluation.trace import Cut

#: Statements (a call counts for a few) followed on behalf of one module before the rest is taken for unknown.
_STATEMENTS = 20_000
#: Tests build values of all kinds while they are collected; they get less.
_STATEMENTS_OF_TESTS = 4_000
_DEEPEST = 60
#: Elements of a display that are evaluated in about the time of one statement.
_ELEMENTS = 8
#: Items of a container that are gone through or copied in about the time of one statement.
_ITEMS = 512


class Budget:
    """What is left of the work that one module is worth."""

    __slots__ = ("cut", "depth", "left", "loops")

    def __init__(self) -> None:
        self.left = _STATEMENTS
        self.depth = 0
        """How many calls, each inside the next, are being followed."""
        self.loops = 0
        """How many loops, each inside the next, are being followed."""
        self.cut: Cut | None = None
        """Where it came to its end first; None while it lasts."""

    def begin(self, of_test: bool) -> None:
        """Start over, for another module."""
        self.left = _STATEMENTS_OF_TESTS if of_test else _STATEMENTS
        self.depth = self.loops = 0
        self.cut = None

    def charge_display(self, elements: int) -> None:
        """Count the elements of a display or the arguments of a call, where they may be evaluated many times."""
        if elements > _ELEMENTS and (self.depth or self.loops):
            self.left -= elements // _ELEMENTS

    def charge(self, items: int) -> None:
        """Count going through a container: many times over, a large one is work as well."""
        self.left -= items // _ITEMS

    @property
    def spent(self) -> bool:
        """True when nothing is left for what could be left out."""
        return self.left <= 0

    @property
    def exhausted(self) -> bool:
        """True when following another call would take too long for what it could show."""
        return self.depth >= _DEEPEST or self.spent

    def ran_out(self, before: int) -> bool:
        """True when a call that began with nearly all there ever is has used it up."""
        return self.spent and before > _STATEMENTS // 2

    def end_at(self, module: str, function: str, line: int) -> None:
        """Say where following came to the end of the budget, if it did not before."""
        if self.cut is None:
            self.cut = Cut(module, function, line)
