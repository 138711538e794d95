"""How far an import is followed: statements, and calls inside calls."""

from __future__ import annotations

from coldfork.source.evaluation.trace import Cut

#: Statements (a call counts for a few) followed on behalf of one module before the rest is taken for unknown.
_STATEMENTS = 20_000
#: So many for a program where somebody waits who has edited a file of it.
_STATEMENTS_IN_A_HURRY = 5_000
#: So many for a function of which nobody knows who calls it.
_STATEMENTS_OF_CALL = 2_000
#: The same where somebody waits.
_STATEMENTS_OF_CALL_IN_A_HURRY = 300
#: Tests build values of all kinds while they are collected; they get less.
_STATEMENTS_OF_TESTS = 4_000
_DEEPEST = 60
#: Elements of a display that are evaluated in about the time of one statement.
FEW_ELEMENTS = 8
#: Items of a container that are gone through or copied in about the time of one statement.
_ITEMS = 512
#: So many faults are told of one module: who has more of them has one cause for them.
_MOST_FAULTS = 4


class Budget:
    """What is left of the work that one module is worth."""

    __slots__ = ("cut", "depth", "faults", "left", "loops")

    def __init__(self) -> None:
        self.left: int = _STATEMENTS
        self.depth: int = 0
        """How many calls, each inside the next, are being followed."""
        self.loops: int = 0
        """How many loops, each inside the next, are being followed."""
        self.cut: Cut | None = None
        """Where it came to its end first; None while it lasts."""
        self.faults: dict[Cut, None] = {}
        """Where following ended for a fault of coldfork's own."""

    def begin(self, of_test: bool, hurried: bool = False) -> None:
        """Start over, for another module."""
        most = _STATEMENTS_IN_A_HURRY if hurried else _STATEMENTS
        self.left = min(most, _STATEMENTS_OF_TESTS) if of_test else most
        self.depth = self.loops = 0
        self.cut = None
        self.faults.clear()

    def begin_call(self, hurried: bool) -> None:
        """Start over, for a function that is called by itself."""
        self.left = _STATEMENTS_OF_CALL_IN_A_HURRY if hurried else _STATEMENTS_OF_CALL
        self.depth = self.loops = 0

    def charge_display(self, elements: int) -> None:
        """Count the elements of a display, or the arguments of a call, where they may be evaluated again."""
        if self.depth or self.loops:
            self.left -= elements // FEW_ELEMENTS

    def charge(self, items: int) -> None:
        """Count going through a container: many times over, a large one is work as well."""
        self.left -= items // _ITEMS

    def charge_alternatives(self) -> None:
        """Count joining values of too many alternatives: calls with the outcome are followed for each."""
        self.left -= _STATEMENTS // 2

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

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Everything that was not followed to its end."""
        return (*self.faults, *(() if self.cut is None else (self.cut,)))

    def end_at(self, module: str, function: str, line: int) -> None:
        """Say where following came to the end of the budget, if it did not before."""
        if self.cut is None:
            self.cut = Cut(module, function, line)

    def fail_at(self, module: str, function: str, line: int, fault: str) -> None:
        """Say where a fault of coldfork's own ended following something."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults[Cut(module, function, line, fault)] = None
