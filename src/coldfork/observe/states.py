"""The state of every accelerator in this process, asked without waking any.

`examine()` says it in full, `Poller().awake()` says in microseconds which are awake, and
`remember_for_children()` lets a child forked next know what it was forked from.
"""

from __future__ import annotations

from coldfork.observe.probes.examination import Examination
from coldfork.observe.probes.polling import ExaminationPoller
from coldfork.observe.probes.reading import state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldfork.model.states import State
    from coldfork.observe.probes.reading import Reading
    from coldfork.observe.probes.threads import NativeThread

__all__ = ["Poller", "examination", "examine", "native_threads", "readings", "remember_for_children"]

# One for the process, because a child has one parent, and what was found of a driver is good for all who ask.
_HERE = Examination()


class Poller(ExaminationPoller):
    """Says which accelerators are awake, cheaply enough to be asked thousands of times."""

    def __init__(self) -> None:
        super().__init__(_HERE)


def examine(parent: Iterable[State] | None = None) -> tuple[State, ...]:
    """The state of every accelerator in this process now.

    `parent` are the states of the process this one was forked from, where the caller knows them; without it,
    what `remember_for_children` left counts.
    """
    earlier = None if parent is None else {state.accelerator: state for state in parent}
    return tuple(map(state_of, _HERE.readings(earlier)))


def readings() -> tuple[Reading, ...]:
    """What `examine` says, for those who live in a program that is watched: nothing is imported for it.

    Importing `State` loads an extension module of the standard library, and in a forked child the dynamic
    loader may be locked for good.
    """
    return _HERE.readings()


def remember_for_children() -> tuple[Reading, ...]:
    """Note the state of this process for a child that this thread is about to fork, and return it.

    To be called before each fork. A child for which it was not called says `unknown` where it cannot tell.
    """
    found = _HERE.readings()
    _HERE.lineage.remember(found)
    return found


def examination() -> Examination:
    """What can be asked here, for those who ask often and keep what they saw: `start` does."""
    return _HERE


def native_threads() -> tuple[NativeThread, ...] | None:
    """The threads that were started by libraries, each with its library; None where they cannot be read."""
    return _HERE.process().threads
