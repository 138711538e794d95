"""What calls came to, remembered for the same arguments; and which answers must not be remembered.

Functions call each other in circles, and names are bound to one another. What was worked out from an answer
that was not finished holds only inside the call or the name that the answer belongs to. So every call and
every name that is being worked out has a level, and it is known which levels were asked too early.
"""

from __future__ import annotations

import sys
from typing import Any

from coldfork.source.evaluation.frame import CallResult
from coldfork.source.evaluation.journal import Journal, Mark, Rebinding
from coldfork.source.values.kinds import (
    UNKNOWN,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    ModuleRef,
    Unknown,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import GivenText, is_text
from coldfork.source.values.unions import alternatives

#: A function, by its module and its code.
Place = tuple[str, int]

#: No unfinished answer was needed.
_NEVER = sys.maxsize
#: How often a function is followed inside itself.
_RECURSION = 6


class Memo:
    """Finished results of calls, and the levels of what is being worked out now."""

    __slots__ = (
        "_cuts_outside", "_journal", "_levels_of", "_looked_at", "_passing", "_pending", "_reached",
        "_rebinding", "_results", "_states", "cut", "entry", "level", "resolving",
    )  # fmt: skip

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._results: dict[object, CallResult] = {}
        self._passing: dict[object, tuple[int, CallResult]] = {}
        """What calls came to on top of outstanding changes: good until the next change."""
        self._rebinding: dict[object, tuple[CallResult, Rebinding]] = {}
        """Calls that rebind module variables, as functions do that make something when it is first wanted."""
        self._states: set[int] = set()
        """The journal's generations that they lead to."""
        self._reached: dict[tuple[int, object], CallResult] = {}
        """What calls came to in a state that such a call leads to, be it while another module is followed."""
        self._levels_of: dict[Place, list[int]] = {}
        """Levels at which functions are being followed, by where they stand."""
        self._pending: dict[object, int] = {}
        """Calls that are being followed, with these very arguments, and at what level."""
        self._looked_at: dict[int, int] = {}
        """Sets of modules that were looked at."""
        self.resolving: dict[object, int] = {}
        """Names that are being resolved, with the level they were met at."""
        self.entry: dict[object, int] = {}
        """For a name that is being resolved, which of its bindings is looked at."""
        self.level: int = 0
        self.cut: int = _NEVER
        """The outermost level whose unfinished answer was needed: what lies inside may not be remembered."""
        self._cuts_outside: list[int] = []
        """The same for what lies around, innermost last: what was needed there does not concern this."""

    def begin(self) -> None:
        """Start over, for another module, when nothing is followed; finished results stay."""
        self._passing.clear()
        self.level, self.cut = 0, _NEVER
        self._cuts_outside.clear()

    def same_set(self, consulted: int) -> int:
        """The set of modules, to be kept: most are met again and again, and one may take a kilobyte."""
        return self._looked_at.setdefault(consulted, consulted)

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

    def begin_apart(self) -> None:
        """Begin to work out something of its own: what was needed before was not needed for it."""
        self._cuts_outside.append(self.cut)
        self.cut = _NEVER

    def end_apart(self) -> bool:
        """It has been worked out; True when nothing was needed for it that is not finished."""
        settled = self.settled
        self.cut = min(self.cut, self._cuts_outside.pop())
        return settled

    # -- calls --------------------------------------------------------------------------------------

    def recall(self, key: object) -> CallResult | None:
        """What this very call came to before."""
        known = self._results.get(key)
        if known is None and self._journal.outstanding:
            passing = self._passing.get(key)
            if passing is not None and passing[0] == self._journal.generation:
                return passing[1]
            return self._reached.get((self._journal.generation, key))
        return known

    def repeat(self, key: object, variables: dict[Any, Value]) -> CallResult | None:
        """Have a call rebind module variables once more, where nothing has been changed; what it comes to."""
        known = None if self._journal.outstanding else self._rebinding.get(key)
        if known is None:
            return None
        result, rebinding = known
        self._journal.rebind(variables, rebinding)
        return result

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
        self.begin_apart()
        self.level += 1
        levels.append(self.level)
        self._pending[key] = self.level
        return True

    def leave_call(self, key: object, place: Place) -> None:
        """The call that `enter_call` began has been followed."""
        self._levels_of[place].pop()
        self._pending.pop(key, None)
        self.leave()
        self.end_apart()

    def copy(self, known: object, key: object, result: CallResult) -> None:
        """Keep a result for another call than the one it is known for, if it is known for good."""
        if known in self._results:
            self._results[key] = result

    def remember_state(
        self, key: object, result: CallResult, since: Mark, variables: dict[Any, Value]
    ) -> None:
        """Keep what a call came to that rebound variables, when nothing had been changed before.

        Keep also what came to something behind such a call alone, and changed nothing itself. It began at
        `since`.
        """
        journal = self._journal
        if self.cut < self.level or journal.peculiar != since.peculiar:
            return
        if since.generation in self._states:
            if journal.is_as_at(since):
                self._reached[since.generation, key] = result
        elif since.generation == 0:
            rebinding = journal.rebound_since(since, variables)
            if rebinding is not None:
                self._rebinding[key] = result, rebinding
                self._states.add(rebinding.generation)

    def remember(self, key: object, result: CallResult, shared_before: int, regardless: bool) -> bool:
        """Keep what the call at this level came to, if it will come to that again.

        `shared_before` is what the journal counted when the call began: a call that changes what others can
        see is followed each time. `regardless` keeps the result even so. True when it is kept for good.
        """
        journal = self._journal
        holds = self.cut >= self.level and journal.shared == shared_before
        if regardless or (holds and not journal.outstanding):
            self._results[key] = result._replace(consulted=self.same_set(result.consulted))
            return True
        if holds:
            self._passing[key] = journal.generation, result
        return False


#: Function, positional arguments and the rest of what a call is remembered by.
Key = tuple[object, Values, object, object, object]

#: Stands for any text.
_ANY = Unknown()
_NOTHING: frozenset[int] = frozenset()


class UnreadTexts:
    """For each function, the places of texts that its first call was given and did not look at.

    Every module has a logger made for it under its own name, and every operator is registered under a name of
    its own. What such a call comes to is remembered for all names at once.
    """

    def __init__(self) -> None:
        self._places: dict[object, frozenset[int]] = {}

    def watched(self, key: Key, positional: Values) -> Values:
        """Arguments for a call that will tell which texts it looked at; these if it looks at all."""
        if self._places.get(key[0]) is _NOTHING or not any(map(is_text, positional)):
            return positional
        return tuple([GivenText(value) if is_text(value) else value for value in positional])  # type: ignore[arg-type]

    def for_any(self, key: Key) -> Key | None:
        """What stands for this call and all that differ from it in texts that nobody looks at."""
        places = self._places.get(key[0])
        if not places:
            return None
        function, positional, *rest = key
        if not all(place < len(positional) and is_text(positional[place]) for place in places):
            return None
        blank = tuple([_ANY if place in places else value for place, value in enumerate(positional)])
        keywords, environment, first_yield_only = rest
        return function, blank, keywords, environment, first_yield_only

    def learn(self, key: Key, given: Values, result: CallResult, unchanged: bool) -> Key | None:
        """Take note of what a call looked at; what stands for all that came to the same, if others do."""
        function = key[0]
        if self._places.get(function) is _NOTHING or not any(type(value) is GivenText for value in given):
            return None
        unread = frozenset([n for n, one in enumerate(given) if type(one) is GivenText and not one.read])
        if not unchanged or not _holds_no_text(result):
            unread = _NOTHING
        places = self._places.setdefault(function, unread or _NOTHING)
        return self.for_any(key) if places <= unread else None


def _holds_no_text(result: CallResult) -> bool:
    """Whether what a call returns is sure not to hold on to what the call was given."""
    return result.made_up or all(_is_plain(single) for single, _ in alternatives(result.value))


def _is_plain(value: Value) -> bool:
    if isinstance(value, Function):
        return value.env is None
    return type(value) is Const or isinstance(value, (ClassRef, External, ModuleRef, Unknown))


def anew(result: CallResult) -> CallResult:
    """What a call comes to that returns an object of its own: another object."""
    value = result.value
    if not result.made_up or not isinstance(value, Instance):
        return result
    return result._replace(value=Instance(value.cls, value.open))


#: Steps after which a call has taken long. Code that wakes a device does so long before.
LONG = 600
_ENOUGH = 5
NOTHING = CallResult(UNKNOWN, (), (), frozenset(), "", ())


class UnproductiveCalls:
    """The cost of following functions so far, and the use of it.

    A decorator that writes documentation may take more steps than the rest of a module, for every class of a
    large package. Its steps are the same ones each time: when a call runs no function that has not been
    followed before, and finds nothing, the next one is not worth the work.
    """

    def __init__(self) -> None:
        self._followed: set[Place] = set()
        self._in_vain: dict[Place, int] = {}
        """How often following a function took long, in vain."""
        self._summaries: dict[Place, CallResult] = {}

    def begin(self, place: Place) -> int:
        """Begin to follow a function; how many are known now, itself included."""
        self._followed.add(place)
        return len(self._followed)

    def record_slow_call(self, place: Place, result: CallResult, known_before: int) -> None:
        """A call took long: in vain if it woke nothing, and ran nothing that was not known before."""
        if result.wakes:
            self._in_vain[place] = -_ENOUGH
        elif known_before == len(self._followed):
            self._in_vain[place] = self._in_vain.get(place, 0) + 1
            self._summaries[place] = NOTHING._replace(edges=result.edges, consulted=result.consulted)

    def should_skip(self, place: Place) -> bool:
        """True when following the function once more would show nothing new."""
        return self._in_vain.get(place, 0) >= _ENOUGH

    def summary_of(self, place: Place) -> CallResult:
        """What stands for a call that is not followed: the imports that the last one ran."""
        return self._summaries[place]
