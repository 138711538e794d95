"""Ask for the state of every accelerator in this process without waking any.

`examine()` says it in full, `Poller().awake()` says in microseconds which are awake, and
`remember_for_children()` tells a child that is forked next what it was forked from.
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

# Shared by the whole process, since the parent's readings and the driver are the same for all callers.
_HERE = Examination()


class Poller(ExaminationPoller):
    """A poller of awake accelerators that is cheap enough to be called thousands of times."""

    def __init__(self) -> None:
        super().__init__(_HERE)


def examine(parent: Iterable[State] | None = None) -> tuple[State, ...]:
    """Return the state of every accelerator in this process now.

    `parent` are the states of the process that this one was forked from, where the caller knows them; by
    default, what `remember_for_children` left.
    """
    earlier = None if parent is None else {state.accelerator: state for state in parent}
    return tuple(map(state_of, _HERE.readings(earlier)))


def readings() -> tuple[Reading, ...]:
    """Return the states as readings, without importing anything, for code inside a watched program.

    Importing `State` loads an extension module of the standard library, and in a forked child the dynamic
    loader may be locked for good.
    """
    return _HERE.readings()


def remember_for_children() -> tuple[Reading, ...]:
    """Note the state of this process for a child that this thread is about to fork, and return it.

    Call it before each fork. A child for which it was not called says `unknown` where it cannot tell.
    """
    found = _HERE.readings()
    _HERE.lineage.remember(found)
    return found


def examination() -> Examination:
    """Return the shared examination of this process, for `start`, which repeats it and keeps the results."""
    return _HERE


def native_threads() -> tuple[NativeThread, ...] | None:
    """Return the threads that libraries started, each with its library; None where they cannot be read."""
    return _HERE.process().threads
