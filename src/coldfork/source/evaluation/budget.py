"""The limits for following an import: statements, and nested calls."""

from __future__ import annotations

from coldfork.source.evaluation.trace import Cut

#: The statements to follow for one module, each call counting as several; code beyond is treated as unknown.
_STATEMENTS = 20_000
#: The limit for a program if a user, having edited one of its files, is waiting for the result.
_STATEMENTS_IN_A_HURRY = 5_000
#: The limit for a function whose callers are unknown.
_STATEMENTS_OF_CALL = 2_000
#: The limit for a function whose callers are unknown, if a user is waiting for the result.
_STATEMENTS_OF_CALL_IN_A_HURRY = 300
#: The limit for test modules, which is lower because they build values of all kinds during collection.
_STATEMENTS_OF_TESTS = 4_000
_DEEPEST = 60
#: Following a call costs as much as this many statements.
_OF_CALL = 5
#: This fraction of what is left is kept for the calls below one that a module makes.
_SHARE_KEPT = 8
#: This many elements of a list, tuple or dictionary display take about as long as one statement.
FEW_ELEMENTS = 8
#: This many items of a container are traversed or copied in about the time of one statement.
_ITEMS = 512
#: No more faults than this are reported for one module: further ones usually share a cause.
_MOST_FAULTS = 4


class Budget:
    """The remaining budget for following one module."""

    __slots__ = ("cut", "depth", "faults", "left", "loops")

    def __init__(self) -> None:
        self.left: int = _STATEMENTS
        self.depth: int = 0
        """The depth of nested calls being followed."""
        self.loops: int = 0
        """The depth of nested loops being followed."""
        self.cut: Cut | None = None
        """The place where the budget first ran out; None if it has not."""
        self.faults: dict[Cut, None] = {}
        """The places where a fault in coldfork itself ended following."""

    def begin(self, of_test: bool, hurried: bool = False) -> None:
        """Start over, for another module."""
        most = _STATEMENTS_IN_A_HURRY if hurried else _STATEMENTS
        self.left = min(most, _STATEMENTS_OF_TESTS) if of_test else most
        self.depth = self.loops = 0
        self.cut = None
        self.faults.clear()

    def begin_call(self, hurried: bool) -> None:
        """Start over, to follow a function whose callers are unknown."""
        self.left = _STATEMENTS_OF_CALL_IN_A_HURRY if hurried else _STATEMENTS_OF_CALL
        self.depth = self.loops = 0

    def enter_call(self) -> int:
        """Charge for a call, and return how many statements to set aside while it is followed.

        A call that the module itself makes leaves some to the calls below it.
        """
        kept = 0 if self.depth else self.left // _SHARE_KEPT
        self.left -= kept + _OF_CALL
        self.depth += 1
        return kept

    def charge_display(self, elements: int) -> None:
        """Charge for the elements of a list, tuple or dictionary display, or the arguments of a call, in code
        that may run repeatedly.
        """
        if self.depth or self.loops:
            self.left -= elements // FEW_ELEMENTS

    def charge(self, items: int) -> None:
        """Charge for traversing a container, because large containers may be traversed many times."""
        self.left -= items // _ITEMS

    def charge_alternatives(self) -> None:
        """Charge for a value with too many alternatives: every call that gets the value is followed once for
        each of them.
        """
        self.left -= _STATEMENTS // 2

    @property
    def spent(self) -> bool:
        """True if the budget is used up."""
        return self.left <= 0

    @property
    def exhausted(self) -> bool:
        """True if another call should not be followed: calls nest too deeply, or the budget is used up."""
        return self.depth >= _DEEPEST or self.spent

    def ran_out(self, before: int) -> bool:
        """Return True if a call began with nearly the full budget and used it up."""
        return self.spent and before > _STATEMENTS // 2

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """Every place where following ended early."""
        return (*self.faults, *(() if self.cut is None else (self.cut,)))

    def end_at(self, module: str, function: str, line: int) -> None:
        """Record where the budget ran out, unless an earlier place is already recorded."""
        if self.cut is None:
            self.cut = Cut(module, function, line)

    def fail_at(self, module: str, function: str, line: int, fault: str) -> None:
        """Record where a fault in coldfork itself made it give up on some code."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults[Cut(module, function, line, fault)] = None
