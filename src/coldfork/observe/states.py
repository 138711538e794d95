"""Read the state of every accelerator in this process without waking any.

`examine()` returns the complete states, `Poller().awake()` returns within microseconds which are awake, and
`remember_for_children()` passes the states on to a child that is forked next.
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

# Shared by the whole process, because the parent's readings and the driver are the same for all callers.
_HERE = Examination()


class Poller(ExaminationPoller):
    """Reads which accelerators are awake, cheaply enough to be called thousands of times."""

    def __init__(self) -> None:
        super().__init__(_HERE)


def examine(parent: Iterable[State] | None = None) -> tuple[State, ...]:
    """Return the state of every accelerator in this process now.

    `parent` are the states of the process that forked this one, if the caller knows them; by default, those
    that `remember_for_children` recorded.
    """
    earlier = None if parent is None else {state.accelerator: state for state in parent}
    return tuple(map(state_of, _HERE.readings(earlier)))


def readings() -> tuple[Reading, ...]:
    """Return the states as readings, without importing anything, for code inside a watched program.

    Importing `State` loads an extension module of the standard library, but in a forked child the dynamic
    loader may be locked for ever.
    """
    return _HERE.readings()


def remember_for_children() -> tuple[Reading, ...]:
    """Record the state of this process for a child that this thread is about to fork, and return it.

    Call this before each fork. Without it, a child reports `unknown` for states that it cannot determine.
    """
    found = _HERE.readings()
    _HERE.lineage.remember(found)
    return found


def examination() -> Examination:
    """Return this process's shared examination, for `start`, which repeats it and keeps the results."""
    return _HERE


def native_threads() -> tuple[NativeThread, ...] | None:
    """Return the threads that libraries started, each with its library; None if they cannot be read."""
    return _HERE.process().threads
