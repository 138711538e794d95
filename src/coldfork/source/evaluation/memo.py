"""A cache of the results of calls, by their arguments, except results that depend on unfinished ones.

Functions call each other recursively, and names are bound to one another. A result that was derived from an
unfinished value is valid only inside the call or name to which that value belongs. So every call or name that
is being worked out has a level, and the cache records which unfinished levels were used.
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

#: Identifies a function by its module and its code.
Place = tuple[str, int]

#: Higher than every level: stands for no unfinished value.
_NEVER = sys.maxsize
#: Recursive calls of a function are followed to this depth.
_RECURSION = 6


class Memo:
    """The finished results of calls, and the nesting levels of the calls and names being worked out."""

    __slots__ = (
        "_cuts_outside", "_journal", "_levels_of", "_looked_at", "_passing", "_pending", "_reached",
        "_rebinding", "_results", "_states", "cut", "entry", "level", "resolving",
    )  # fmt: skip

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._results: dict[object, CallResult] = {}
        self._passing: dict[object, tuple[int, CallResult]] = {}
        """Results of calls based on outstanding changes; they are valid until the next change."""
        self._rebinding: dict[object, tuple[CallResult, Rebinding]] = {}
        """Results of calls that rebind module variables, such as functions that create an object on first
        use.
        """
        self._states: set[int] = set()
        """The numbers of the journal's states that result from these calls."""
        self._reached: dict[tuple[int, object], CallResult] = {}
        """Results of calls in one of these states; they stay valid even when another module is followed."""
        self._levels_of: dict[Place, list[int]] = {}
        """The levels at which functions are being followed, by place."""
        self._pending: dict[object, int] = {}
        """The keys of calls that are being followed, with their levels."""
        self._looked_at: dict[int, int] = {}
        """The sets of modules that were consulted."""
        self.resolving: dict[object, int] = {}
        """Names that are being resolved, with the level at which they were met."""
        self.entry: dict[object, int] = {}
        """For a name that is being resolved, the binding being examined."""
        self.level: int = 0
        self.cut: int = _NEVER
        """The outermost level whose unfinished value was used: results inside that level may not be
        cached.
        """
        self._cuts_outside: list[int] = []
        """For each enclosing level, innermost last, the value of `cut`, saved while something independent is
        worked out.
        """

    def begin(self) -> None:
        """Start over for another module while nothing is being followed; finished results stay."""
        self._passing.clear()
        self.level, self.cut = 0, _NEVER
        self._cuts_outside.clear()

    def same_set(self, consulted: int) -> int:
        """Return one shared integer for equal sets of modules: most sets recur often, and each may take a
        kilobyte.
        """
        return self._looked_at.setdefault(consulted, consulted)

    # -- levels -------------------------------------------------------------------------------------

    def enter(self) -> int:
        """Begin to work out a value, one level deeper; return the level."""
        self.level += 1
        return self.level

    def leave(self) -> None:
        """Leave a level: results that depended on no unfinished level except this one are finished now."""
        if self.cut >= self.level:
            self.cut = _NEVER
        self.level -= 1

    def need_unfinished(self, level: int) -> None:
        """Record that the current results depend on the unfinished value at this level."""
        if level < self.cut:
            self.cut = level

    @property
    def settled(self) -> bool:
        """Return True if the current results depend on no unfinished value of an outer level."""
        return self.cut > self.level

    def begin_apart(self) -> None:
        """Begin to work out a value independently, unaffected by unfinished values that were used before."""
        self._cuts_outside.append(self.cut)
        self.cut = _NEVER

    def end_apart(self) -> bool:
        """End what `begin_apart` began; return True if no unfinished value was needed meanwhile."""
        settled = self.settled
        self.cut = min(self.cut, self._cuts_outside.pop())
        return settled

    # -- calls --------------------------------------------------------------------------------------

    def recall(self, key: object) -> CallResult | None:
        """Return the cached result of a call with this key."""
        known = self._results.get(key)
        if known is None and self._journal.outstanding:
            passing = self._passing.get(key)
            if passing is not None and passing[0] == self._journal.generation:
                return passing[1]
            return self._reached.get((self._journal.generation, key))
        return known

    def repeat(self, key: object, variables: dict[Any, Value]) -> CallResult | None:
        """Return the cached result of a call, and repeat its changes to module variables; None if other state
        has changed.
        """
        known = None if self._journal.outstanding else self._rebinding.get(key)
        if known is None:
            return None
        result, rebinding = known
        self._journal.rebind(variables, rebinding)
        return result

    def is_followed(self, place: Place) -> bool:
        """Return True while a call of the function is being followed."""
        return bool(self._levels_of.get(place))

    def enter_call(self, key: object, place: Place) -> bool:
        """Begin to follow a call; return False for a recursive call, whose own unfinished result would be
        needed.
        """
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
        """End the call that `enter_call` began."""
        self._levels_of[place].pop()
        self._pending.pop(key, None)
        self.leave()
        self.end_apart()

    def copy(self, known: object, key: object, result: CallResult) -> None:
        """Cache the final result of one call under the key of another."""
        if known in self._results:
            self._results[key] = result

    def remember_state(
        self, key: object, result: CallResult, since: Mark, variables: dict[Any, Value]
    ) -> None:
        """Cache the result of a call that rebound module variables, having begun in an unchanged state.

        Also cache the result of a call that changed nothing itself but came after such a call. `since` is the
        journal's position when the call began.
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
        """Cache the result of the call at this level if an equal call would have the same result; return True
        if the entry is permanent.

        `shared_before` is the journal's count when the call began: a call that changes visible state is
        followed each time, unless `regardless` is given.
        """
        journal = self._journal
        holds = self.cut >= self.level and journal.shared == shared_before
        if regardless or (holds and not journal.outstanding):
            self._results[key] = result._replace(consulted=self.same_set(result.consulted))
            return True
        if holds:
            self._passing[key] = journal.generation, result
        return False


#: The cache key of a call: the function, its positional arguments, and everything else that matters.
Key = tuple[object, Values, object, object, object]

#: Stands for any text in a cache key.
_ANY = Unknown()
_NOTHING: frozenset[int] = frozenset()


class UnreadTexts:
    """For each function, the text arguments that its first call did not read.

    For example, every module creates a logger under its own name. The result of such a call is cached for all
    names at once.
    """

    def __init__(self) -> None:
        self._places: dict[object, frozenset[int]] = {}

    def watched(self, key: Key, positional: Values) -> Values:
        """Return arguments that record whether a call reads them; unchanged if the function is known to read
        all of its texts.
        """
        if self._places.get(key[0]) is _NOTHING or not any(map(is_text, positional)):
            return positional
        return tuple([GivenText(value) if is_text(value) else value for value in positional])  # type: ignore[arg-type]

    def for_any(self, key: Key) -> Key | None:
        """Return the key that a call shares with all calls that differ from it only in texts that are never
        read.
        """
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
        """Record which texts a call read; return the key shared by all calls with the same
        result, or None.
        """
        function = key[0]
        if self._places.get(function) is _NOTHING or not any(type(value) is GivenText for value in given):
            return None
        unread = frozenset([n for n, one in enumerate(given) if type(one) is GivenText and not one.read])
        if not unchanged or not _holds_no_text(result):
            unread = _NOTHING
        places = self._places.setdefault(function, unread or _NOTHING)
        return self.for_any(key) if places <= unread else None


def _holds_no_text(result: CallResult) -> bool:
    """Return whether a result is certain not to contain a text argument of its call."""
    return result.made_up or all(_is_plain(single) for single, _ in alternatives(result.value))


def _is_plain(value: Value) -> bool:
    if isinstance(value, Function):
        return value.env is None
    return type(value) is Const or isinstance(value, (ClassRef, External, ModuleRef, Unknown))


def anew(result: CallResult) -> CallResult:
    """Return the result with a new object in place of one that the call itself created."""
    value = result.value
    if not result.made_up or not isinstance(value, Instance):
        return result
    return result._replace(value=Instance(value.cls, value.open))


#: A call with at least this many steps counts as slow. Code that wakes a device usually does so much sooner.
LONG = 600
_ENOUGH = 5
NOTHING = CallResult(UNKNOWN, (), (), frozenset(), "", ())


class UnproductiveCalls:
    """How often following each function was slow and showed nothing new, so that further calls may be
    skipped.

    For every class of a large package, a decorator that writes documentation may take more steps than the
    rest of the module, and always the same steps. If a call runs only functions that were followed before,
    and wakes nothing, the next call is skipped.
    """

    def __init__(self) -> None:
        self._followed: set[Place] = set()
        self._in_vain: dict[Place, int] = {}
        """How often following a function was slow without benefit."""
        self._summaries: dict[Place, CallResult] = {}

    def begin(self, place: Place) -> int:
        """Start to follow a function; return the number of functions followed so far, including this one."""
        self._followed.add(place)
        return len(self._followed)

    def record_slow_call(self, place: Place, result: CallResult, known_before: int) -> None:
        """Record a slow call; it was unproductive if it woke nothing and ran no function for the
        first time.
        """
        if result.wakes:
            self._in_vain[place] = -_ENOUGH
        elif known_before == len(self._followed):
            self._in_vain[place] = self._in_vain.get(place, 0) + 1
            self._summaries[place] = NOTHING._replace(edges=result.edges, consulted=result.consulted)

    def should_skip(self, place: Place) -> bool:
        """Return True if following the function once more is expected to show nothing new."""
        return self._in_vain.get(place, 0) >= _ENOUGH

    def summary_of(self, place: Place) -> CallResult:
        """Return a result in place of a skipped call: the imports that the function's last call ran."""
        return self._summaries[place]
