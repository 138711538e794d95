"""Whether a process opened a device file itself, or has it from the process it was forked from.

Initialising an accelerator's driver opens a device file and keeps it open. A fork copies the descriptor, and
the child can do nothing with it. The kernel tells whether two descriptors are the very same open file: one
that a process shares with an earlier one cannot have been opened by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldfork.launch.outside.folder import ProcessFolder
from coldfork.launch.outside.kernel import Kernel
from coldfork.launch.outside.process import OutsideProcess
from coldfork.launch.outside.relatives import Relatives

_FIRST_OF_ITS_OWN = 3
"""Below are standard input and output, which tell nothing: everybody hands them on."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """Where the descriptors of some device files come from."""

    own: tuple[int, ...] = ()
    inherited: tuple[int, ...] = ()
    source: int | None = None
    """A process that had the inherited ones before."""
    doubt: str | None = None
    """Why the origin of some is not known."""


class Owners:
    """Compares what processes have open."""

    def __init__(self, folder: ProcessFolder, kernel: Kernel, relatives: Relatives) -> None:
        self._folder = folder
        self._kernel = kernel
        self._relatives = relatives

    def of(self, process: OutsideProcess, paths: Sequence[str]) -> Ownership:
        """Where a process has its descriptors of these files from; `OSError` where they are not shown."""
        left = process.descriptors_of(paths)
        if not process.standing.forked and all(self._closes_on_exec(process, one) for one in left):
            # Nothing else than an exec stands between it and whoever started it.
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
        """Which descriptors another process has too, and why that could not be found out, if it could not."""
        try:
            theirs = other.descriptors_of(paths)
        except OSError:
            # What another user runs has forked nothing for this one.
            return [], None
        try:
            same = [one for one in descriptors if any(self._same(process, one, other, its) for its in theirs)]
        except OSError as error:
            why = error.strerror or type(error).__name__
            return [], f"its descriptors could not be compared with those of process {other.pid}: {why}"
        return same, None

    def keeps_what_it_was_forked_with(self, process: OutsideProcess, parent: OutsideProcess) -> bool:
        """Whether a fork still shares a descriptor with its parent, so that it has not closed them all."""
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
            return self._folder.closes_on_exec(process.pid, descriptor)
        except OSError:
            return False

    def _earlier(self, process: OutsideProcess) -> Iterable[OutsideProcess]:
        """Whoever may have handed something on: ancestors first, then all that were started before it."""
        ancestors = {ancestor.pid for ancestor in self._relatives.ancestors(process.standing)}
        for pid in (*ancestors, *self._relatives.pids()):
            other = self._relatives.process(pid)
            if other is None or pid == process.pid:
                continue
            if pid in ancestors or other.standing.start < process.standing.start:
                yield other

    def _same(self, process: OutsideProcess, one: int, other: OutsideProcess, its: int) -> bool:
        return self._kernel.is_same_file(process.pid, one, other.pid, its)
