"""Judge how a fork affected the accelerators that its parent had woken: poisoned or untouched.

An accelerator never becomes cold again: if it is cold in a living parent, it was cold at every fork. If it is
awake there, it is judged by whether it woke before the fork. If the time at which it woke is unknown, the
child's descriptors and threads decide.

Initialising a driver opens a device file and keeps it open. A fork copies the descriptor, and the child
cannot use it. The kernel tells whether two descriptors are the same open file: of two processes that share
one, the younger cannot have opened it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldfork.launch.outside.process import OutsideProcess, Relatives
from coldfork.launch.outside.readings import DEVICE_FILES, LIBRARIES, readings
from coldfork.observe.probes import tokenizers
from coldfork.observe.probes.pools import owned
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, POISONED, UNKNOWN, Reading

_ENDED = "the process that forked it has ended"
_FIRST_OF_ITS_OWN = 3
"""Lower descriptors are the standard streams, which prove nothing because every process passes them on."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The origin of a process's descriptors of device files: opened by itself, or inherited."""

    own: tuple[int, ...] = ()
    inherited: tuple[int, ...] = ()
    source: int | None = None
    """An earlier process that had the inherited descriptors."""
    doubt: str | None = None
    """Why the origin of some descriptors is unknown."""


class Lineage:
    """Judgements of processes in the light of their parents; each process is judged once."""

    def __init__(self, relatives: Relatives) -> None:
        self._relatives = relatives
        self._judged: dict[int, dict[str, Reading]] = {}

    def readings(self, process: OutsideProcess) -> dict[str, Reading]:
        """Return the state of each accelerator in a process; raise `OSError` if the process has ended."""
        if process.pid not in self._judged:
            seen = readings(process)
            self._judged[process.pid] = {name: self._judge(one, process) for name, one in seen.items()}
        return self._judged[process.pid]

    def _judge(self, reading: Reading, process: OutsideProcess) -> Reading:
        if reading.status == AWAKE and reading.copied:
            return self._by_ownership(reading, process)
        if reading.status == COLD and process.forked:
            return self._by_parent(reading, process)
        return reading

    def _by_ownership(self, reading: Reading, process: OutsideProcess) -> Reading:
        """Judge an open device file by which process opened it."""
        paths = DEVICE_FILES[reading.accelerator]
        device = process.holds_open(*paths)
        found = self._origin(process, paths)
        if found.inherited and process.forked:
            reason = (
                f"it was forked from a process that had {device} open, and shares it with process "
                f"{found.source}"
            )
            return reading.turned(POISONED, reason)
        if found.own:
            return reading
        if found.inherited and not found.doubt:
            reason = (
                f"it did not open {device} itself, but got it from process {found.source} when it was started"
            )
            return reading.turned(COLD, reason)
        return reading.turned(
            UNKNOWN, f"it holds {device} open, but whether this process opened it is unknown: {found.doubt}"
        )

    def _by_parent(self, reading: Reading, process: OutsideProcess) -> Reading:
        """Judge a fork in which nothing is awake: cold, unless the accelerator was awake in its parent."""
        parent = self._relatives.starter(process.standing)
        if parent is None:
            why = self._relatives.why_no_starter(process.standing)
            return reading.turned(UNKNOWN, f"it looks cold and may be poisoned: it was forked, and {why}")
        try:
            earlier = self.readings(parent)[reading.accelerator]
        except OSError:
            return reading.turned(UNKNOWN, f"it looks cold and may be poisoned: {_ENDED}")
        if earlier.status in (ABSENT, COLD):
            return reading
        if earlier.status == UNKNOWN:
            return reading.turned(UNKNOWN, f"in process {parent.pid}, which forked it: {earlier.reason}")
        if earlier.status == POISONED:
            return self._poisoned(
                reading, f"it was forked from process {parent.pid}, where it was poisoned already"
            )
        if reading.accelerator in DEVICE_FILES:
            return self._without_device_file(reading, process, parent)
        return self._by_times(reading, process, parent)

    def _without_device_file(
        self, reading: Reading, process: OutsideProcess, parent: OutsideProcess
    ) -> Reading:
        """Judge a fork that lacks its parent's open device file: the fork came before the parent opened it,
        or closed it.
        """
        if self._keeps_what_it_was_forked_with(process, parent):
            reason = (
                f"it was forked from process {parent.pid} before that process opened the device: it has "
                "none of the device files, but kept others"
            )
            return reading.turned(COLD, reason)
        return reading.turned(
            UNKNOWN,
            f"process {parent.pid}, which forked it, is awake, and the child has no descriptor left that "
            "shows which came first",
        )

    def _by_times(self, reading: Reading, process: OutsideProcess, parent: OutsideProcess) -> Reading:
        """Judge a fork without its parent's thread pool, by whether the fork or the pool came first."""
        try:
            starts = self._relatives.kernel.thread_starts(parent.pid)
        except OSError:
            return reading.turned(UNKNOWN, f"it looks cold and may be poisoned: {_ENDED}")
        pool = [
            starts[one.tid]
            for one in owned(parent, LIBRARIES[reading.accelerator]) or ()
            if one.tid in starts
        ]
        if pool and min(pool) < process.standing.start:
            return self._poisoned(
                reading,
                f"process {parent.pid} had started its threads before it forked this one, which has none",
            )
        if pool and min(pool) > process.standing.start:
            return reading.turned(COLD, f"it was forked before process {parent.pid} started its threads")
        return reading.turned(
            UNKNOWN, f"process {parent.pid} forked it at about the time when it started its threads"
        )

    def _origin(self, process: OutsideProcess, paths: Sequence[str]) -> Ownership:
        """Return where a process's descriptors of these files come from; raise `OSError` if hidden."""
        left = process.descriptors_of(paths)
        if not process.standing.forked and all(self._closes_on_exec(process, one) for one in left):
            # They are closed on exec and this process has executed, so it opened them itself.
            return Ownership(own=tuple(left))
        inherited: list[int] = []
        source: int | None = None
        doubt: str | None = None
        for other in self._earlier(process):
            shared, trouble = self._shared(process, left, other, paths)
            doubt = doubt or trouble
            if shared:
                source = other.pid if source is None else source
                inherited += shared
                left = [one for one in left if one not in shared]
        if left and doubt is None and self._relatives.starter(process.standing) is None:
            doubt = self._relatives.why_no_starter(process.standing)
        own = () if doubt else tuple(left)
        return Ownership(own, tuple(sorted(inherited)), source, doubt)

    def _shared(
        self, process: OutsideProcess, descriptors: Sequence[int], other: OutsideProcess, paths: Sequence[str]
    ) -> tuple[list[int], str | None]:
        """Return the descriptors that another process shares; if that cannot be determined, also return the
        reason.
        """
        try:
            theirs = other.descriptors_of(paths)
        except OSError:
            # This process belongs to another user, so it cannot have passed descriptors on in a fork.
            return [], None
        try:
            same = [one for one in descriptors if any(self._same(process, one, other, its) for its in theirs)]
        except OSError as error:
            why = error.strerror or type(error).__name__
            return [], f"cannot compare its descriptors with those of process {other.pid}: {why}"
        return same, None

    def _keeps_what_it_was_forked_with(self, process: OutsideProcess, parent: OutsideProcess) -> bool:
        """Return whether a fork still shares any descriptor with its parent, so that it cannot have closed
        them all.
        """
        try:
            numbers = sorted(process.open_files.keys() & parent.open_files.keys())
            return any(
                self._same(process, number, parent, number)
                for number in numbers
                if number >= _FIRST_OF_ITS_OWN
            )
        except OSError:
            return False

    def _closes_on_exec(self, process: OutsideProcess, descriptor: int) -> bool:
        try:
            return self._relatives.kernel.closes_on_exec(process.pid, descriptor)
        except OSError:
            return False

    def _earlier(self, process: OutsideProcess) -> Iterable[OutsideProcess]:
        """Yield the processes that may have passed descriptors on: first ancestors, then other older
        processes.
        """
        ancestors = {ancestor.pid for ancestor in self._relatives.ancestors(process.standing)}
        for pid in (*ancestors, *self._relatives.pids()):
            other = self._relatives.process(pid)
            if other is None or pid == process.pid:
                continue
            if pid in ancestors or other.standing.start < process.standing.start:
                yield other

    def _same(self, process: OutsideProcess, one: int, other: OutsideProcess, its: int) -> bool:
        return self._relatives.kernel.is_same_file(process.pid, one, other.pid, its)

    @staticmethod
    def _poisoned(reading: Reading, reason: str) -> Reading:
        if reading.accelerator == tokenizers.ACCELERATOR:
            doubt = f"only {tokenizers.VARIABLE} in the process says whether it goes on without them"
            return reading.turned(UNKNOWN, f"{reason}; {doubt}")
        return reading.turned(POISONED, reason)
