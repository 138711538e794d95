"""Functions that take long to follow and come to nothing: after a few times they are not followed again.

A decorator that writes documentation may take more steps than the rest of a module, for every class of a
large package. Its steps are the same ones each time: when a call runs no function that has not been
followed before, and finds nothing, the next one is not worth the work.
"""

from __future__ import annotations

from coldfork.source.evaluation.frame import CallResult
from coldfork.source.values.kinds import UNKNOWN

#: Steps after which a call has taken long. Code that wakes a device does so long before.
LONG = 600
_ENOUGH = 5
NOTHING = CallResult(UNKNOWN, (), (), frozenset(), "", ())

Place = tuple[str, int]


class UnproductiveCalls:
    """What following functions has cost so far, and what it was good for."""

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
