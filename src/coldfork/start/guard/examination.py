"""Before a fork, find within microseconds what would break the child."""

from __future__ import annotations

import os
import sys
from _thread import _count as python_threads
from _thread import get_ident
from dataclasses import replace
from typing import TYPE_CHECKING

from coldfork.observe.forking.questions import BODIES, known_deeds
from coldfork.observe.probes import hip, opencl, tokenizers
from coldfork.start import process
from coldfork.start.evidence import runtimes, table
from coldfork.start.wakers import WAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coldfork.model.decisions import Reason
    from coldfork.model.forking.judgement import Purpose
    from coldfork.observe.forking.bodies import Body
    from coldfork.observe.forking.holding import Holding
    from coldfork.observe.probes.loader import Loader
    from coldfork.observe.states import Poller
    from coldfork.start.guard.observation import WakeObservation
    from coldfork.start.process import Snapshot

    Key = tuple[object, ...]

_TASKS = "/proc/self/task"
_NUMBA = "numba.np.ufunc.parallel"
_PAUSE = "omp_pause_resource_all"
_HARD = 2
"""`omp_pause_hard` of omp.h, which also ends the threads."""


class ForkExamination:
    """The examination of this process; it is repeated only after a change."""

    def __init__(self) -> None:
        self._examined: object = None
        self._unchanged: Unchanged | None = None
        self._snapshot = process.HERE
        self._remember = process.HERE.examination.lineage.remember

    def held(self, observation: WakeObservation | None) -> tuple[Holding, ...]:
        """Return held things that a child forked now might not be able to use, and record the states
        for it.
        """
        unchanged = self._unchanged
        found: tuple[Holding, ...] = ()
        if unchanged is None or not unchanged.still():
            found = self._anew(observation)
        # Recorded for the child, so that it can distinguish poisoned from cold.
        self._remember(self._snapshot.latest)
        return found

    def reasons(
        self, found: tuple[Holding, ...], purpose: Purpose, bodies: Iterable[Body], forks: str | None = None
    ) -> tuple[Reason, ...]:
        """Return the reasons against forking a child that calls these functions, with possible remedies.

        `forks` is the package that forks on its own initiative, if there is one.
        """
        does = known_deeds(found, lambda: BODIES(bodies))
        reasons = tuple(runtimes.judged(found, purpose, WAKERS.of, does))
        if forks is not None:
            reasons = tuple(_for_package(reason, forks) for reason in reasons)
        return exact_remedies(reasons, self._snapshot.examination.loader) if reasons else ()

    def _anew(self, observation: WakeObservation | None) -> tuple[Holding, ...]:
        if self._unchanged is None:
            self._begin_comparing(observation)
        unchanged = self._unchanged
        # Taken before the examination, so that a change during it counts as later.
        key = None if unchanged is None else unchanged.key()
        found = tuple(one for one in table.held_here() if not one.doubtful)
        if self._snapshot.latest is not self._examined:
            # If something changed, a device may have woken: poll now to learn what woke it.
            self._examined = self._snapshot.latest
            if observation is not None:
                observation.poll()
        if unchanged is not None:
            unchanged.note(None if found else key)
        return found

    def _begin_comparing(self, observation: WakeObservation | None) -> None:
        """Begin comparisons at the second examination, because many processes fork only once."""
        poller = observation.poller if observation is not None else None
        if self._examined is not None and poller is not None:
            self._unchanged = Unchanged(poller, self._snapshot)


class Unchanged:
    """A cheap test of whether the result of the last examination is still valid.

    After a fork the kernel copies each page of the parent that is written to, and an examination writes to
    more than a hundred, at up to two microseconds each. This test writes to few. It shows only that nothing
    has come or gone, and is trusted only if the last examination found nothing.
    """

    def __init__(self, poller: Poller, snapshot: Snapshot) -> None:
        self._poller = poller
        self._snapshot = snapshot
        self._fingerprint: Callable[[], int | None] = snapshot.examination.loader().fingerprint
        # Read directly, because `os.environ.get` goes through five functions to reach this dictionary.
        self._variables: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
        self._names = (os.fsencode(tokenizers.VARIABLE), os.fsencode(opencl.DEVICES_VARIABLE))
        self._known: Key | None = None

    def key(self) -> Key:
        """Return the facts that decide an examination's result: states, libraries, threads, settings."""
        numba = sys.modules.get(_NUMBA)
        variables = self._variables.get
        return (
            self._poller.awake(),
            self._fingerprint(),
            os.listdir(_TASKS),
            python_threads(),
            get_ident(),
            None if numba is None else object.__getattribute__(numba, "__dict__").get("_threading_layer"),
            *map(variables, self._names),
        )

    def still(self) -> bool:
        """Return True while nothing has changed since an examination that found nothing."""
        return self._known is not None and self._known == self.key()

    def note(self, key: Key | None) -> None:
        """Record the key of an examination that found nothing; None for one that found something."""
        self._known = key if key is not None and self._tells_all(key) else None

    def _tells_all(self, key: Key) -> bool:
        """Return whether any change of state would change the key.

        It would not in three cases: ROCm shows only in open files; a thread that could not be traced may be
        traced later; and if the loader's counters cannot be read, a new library goes unnoticed.
        """
        return (
            key[1] is not None
            and not self._poller.failures
            and self._snapshot.settled
            and self._snapshot.library(*hip.PREFIXES) is None
        )


def _for_package(reason: Reason, forks: str) -> Reason:
    """Return a reason, with remedies for users of a package that forks on its own initiative."""
    helps = runtimes.BY_ITSELF.format(forks)
    return replace(reason, remedies=tuple(helps if one == runtimes.SPAWN else one for one in reason.remedies))


def exact_remedies(reasons: tuple[Reason, ...], loader: Callable[[], Loader]) -> tuple[Reason, ...]:
    """Return the reasons, with the exact remedies that are possible in this process."""
    return tuple(_with_exact(reason, loader) for reason in reasons)


def _with_exact(reason: Reason, ask: Callable[[], Loader]) -> Reason:
    library = dict(reason.evidence).get("library")
    if library is None or not any(_PAUSE in remedy for remedy in reason.remedies):
        return reason
    loader = ask()
    remedies = []
    for remedy in reason.remedies:
        if _PAUSE not in remedy:
            remedies.append(remedy)
        elif _has(library, loader):
            call = f'ctypes.CDLL("{library}").{_PAUSE}({_HARD})'
            remedies.append(f"have libgomp release its pool, in this thread, before the fork: {call}")
    return replace(reason, remedies=tuple(remedies))


def _has(library: str, loader: Loader) -> bool:
    """Return whether the loaded library has the function that pauses threads; GCC 8 and older lack it."""
    handle = loader.handle(library.encode("utf-8", "surrogateescape"))
    return (
        handle is not None
        and loader.function(handle, _PAUSE.encode("ascii"), loader.ctypes.c_int) is not None
    )
