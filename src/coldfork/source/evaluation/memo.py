"""What calls came to, remembered for the same arguments; and which answers must not be remembered.

Functions call each other in circles, and names are bound to one another. What was worked out from an answer
that was not finished holds only inside the call or the name that the answer belongs to. So every call and
every name that is being worked out has a level, and it is known which levels were asked too early.
"""

from __future__ import annotations

import sys

from coldfork.source.evaluation.frame import CallResult
from coldfork.source.evaluation.journal import Journal

#: A function, by its module and its code.
Place = tuple[str, int]

#: No unfinished answer was needed.
_NEVER = sys.maxsize
#: How often a function is followed inside itself.
_RECURSION = 6


class Memo:
    """Finished results of calls, and the levels of what is being worked out now."""

    __slots__ = (
        "_journal",
        "_levels_of",
        "_passing",
        "_pending",
        "_results",
        "cut",
        "entry",
        "level",
        "resolving",
    )

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._results: dict[object, CallResult] = {}
        self._passing: dict[object, tuple[int, CallResult]] = {}
        """What calls came to on top of outstanding changes: good until the next change."""
        self._levels_of: dict[Place, list[int]] = {}
        """Levels at which functions are being followed, by where they stand."""
        self._pending: dict[object, int] = {}
        """Calls that are being followed, with these very arguments, and at what level."""
        self.resolving: dict[object, int] = {}
        """Names that are being resolved, with the level they were met at."""
        self.entry: dict[object, int] = {}
        """For a name that is being resolved, which of its bindings is looked at."""
        self.level = 0
        self.cut = _NEVER
        """The outermost level whose unfinished answer was needed: what lies inside may not be remembered."""

    def begin(self) -> None:
        """Start over, for another module, when nothing is followed; finished results stay."""
        self._passing.clear()
        self.level, self.cut = 0, _NEVER

    # -- levels -------------------------------------------------------------------------------------

    def enter(self) -> int:
        """Begin to work something out; its level."""
        self.level += 1
        return self.level

    def leave(self) -> None:
        """Leave a level: an unfinished answer that only this level gave is finished now."""
        if self.cut >= self.level:
            self.cut = _NEVER
        self.level -= 1

    def need_unfinished(self, level: int) -> None:
        """The answer that is being worked out at this level was needed already."""
        if level < self.cut:
            self.cut = level

    @property
    def settled(self) -> bool:
        """True when nothing that is still being worked out was needed around here."""
        return self.cut > self.level

    # -- calls --------------------------------------------------------------------------------------

    def recall(self, key: object) -> CallResult | None:
        """What this very call came to before."""
        known = self._results.get(key)
        if known is None and self._journal.outstanding:
            passing = self._passing.get(key)
            if passing is not None and passing[0] == self._journal.generation:
                return passing[1]
        return known

    def is_followed(self, place: Place) -> bool:
        """True inside a call of the function."""
        return bool(self._levels_of.get(place))

    def enter_call(self, key: object, place: Place) -> bool:
        """Begin to follow a call; False where it goes in a circle, and its own answer would be needed."""
        levels = self._levels_of.setdefault(place, [])
        again = self._pending.get(key)
        if again is not None or len(levels) >= _RECURSION:
            self.need_unfinished(levels[0] if again is None else again)
            return False
        self.level += 1
        levels.append(self.level)
        self._pending[key] = self.level
        return True

    def leave_call(self, key: object, place: Place) -> None:
        """The call that `enter_call` began has been followed."""
        self._levels_of[place].pop()
        self._pending.pop(key, None)
        self.leave()

    def remember(self, key: object, result: CallResult, shared_before: int, regardless: bool) -> None:
        """Keep what the call at this level came to, if it will come to that again.

        `shared_before` is what the journal counted when the call began: a call that changes what others can
        see is followed each time. `regardless` keeps the result even so.
        """
        journal = self._journal
        holds = self.cut >= self.level and journal.shared == shared_before
        if regardless or (holds and not journal.outstanding):
            self._results[key] = result
        elif holds:
            self._passing[key] = journal.generation, result
