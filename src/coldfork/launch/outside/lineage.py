"""What a fork made of the accelerators that its parent had: poisoned, or as if nobody had touched them.

A state only ever moves on: what is cold in a living parent was cold at every fork. What is awake there has
become so at a time, and the fork has one too. Where the first is not known, what the child holds decides.
"""

from __future__ import annotations

from coldfork.launch.outside.folder import ProcessFolder
from coldfork.launch.outside.ownership import Owners
from coldfork.launch.outside.process import OutsideProcess
from coldfork.launch.outside.readings import DEVICE_FILES, LIBRARIES, readings
from coldfork.launch.outside.relatives import Relatives
from coldfork.observe.probes import tokenizers
from coldfork.observe.probes.pools import owned
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, POISONED, UNKNOWN, Reading

_ENDED = "the process that forked it has ended"


class Lineage:
    """Judges each process in the light of the one it was forked from; every process is judged once."""

    def __init__(self, folder: ProcessFolder, relatives: Relatives, owners: Owners) -> None:
        self._folder = folder
        self._relatives = relatives
        self._owners = owners
        self._judged: dict[int, dict[str, Reading]] = {}

    def readings(self, process: OutsideProcess) -> dict[str, Reading]:
        """The state of each accelerator in a process; `OSError` when it has ended meanwhile."""
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
        """A device file is open: who opened it?"""
        paths = DEVICE_FILES[reading.accelerator]
        device = process.holds_open(*paths)
        found = self._owners.of(process, paths)
        if found.inherited and process.forked:
            reason = f"it was forked from where {device} was open, and shares it with process {found.source}"
            return reading.turned(POISONED, reason)
        if found.own:
            return reading
        if found.inherited and not found.doubt:
            reason = f"it has opened no {device} itself, and was started with that of process {found.source}"
            return reading.turned(COLD, reason)
        return reading.turned(
            UNKNOWN, f"it holds {device} open, and whether it opened it is not known: {found.doubt}"
        )

    def _by_parent(self, reading: Reading, process: OutsideProcess) -> Reading:
        """Nothing is awake in a fork: it is cold, unless its parent had it awake."""
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
        """The parent has the device's file open and the fork has not: it came before, or has closed it."""
        if self._owners.keeps_what_it_was_forked_with(process, parent):
            reason = (
                f"it was forked from process {parent.pid} before that one opened the device: "
                "it has none of its device files, and kept others"
            )
            return reading.turned(COLD, reason)
        return reading.turned(
            UNKNOWN,
            f"process {parent.pid}, which forked it, is awake, and it keeps no descriptor from which the "
            "order of the two could be told",
        )

    def _by_times(self, reading: Reading, process: OutsideProcess, parent: OutsideProcess) -> Reading:
        """The parent has a pool of threads and the fork has none: was the pool there before?"""
        try:
            starts = self._folder.thread_starts(parent.pid)
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
            UNKNOWN, f"process {parent.pid} forked it at about the time at which it started its threads"
        )

    @staticmethod
    def _poisoned(reading: Reading, reason: str) -> Reading:
        if reading.accelerator == tokenizers.ACCELERATOR:
            doubt = f"whether it goes on without them is for {tokenizers.VARIABLE} to say, inside"
            return reading.turned(UNKNOWN, f"{reason}; {doubt}")
        return reading.turned(POISONED, reason)
