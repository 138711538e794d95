"""Every process by its number, and who started whom; each is read when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.launch.outside.folder import ProcessFolder
from coldfork.launch.outside.kernel import Kernel
from coldfork.launch.outside.process import OutsideProcess
from coldfork.observe.processes.table import Standing


class Relatives:
    """The processes of one moment."""

    def __init__(self, folder: ProcessFolder, kernel: Kernel) -> None:
        self._folder = folder
        self._kernel = kernel
        self._known: dict[int, OutsideProcess | None] = {}
        self._pids = tuple(folder.pids())

    def pids(self) -> tuple[int, ...]:
        """The processes that there were, those of other users and those of no Python included."""
        return self._pids

    def process(self, pid: int) -> OutsideProcess | None:
        """One process; None when it has ended, or is one of the kernel's own."""
        if pid not in self._known:
            try:
                standing = self._folder.standing(pid)
            except (OSError, ValueError):
                self._known[pid] = None
            else:
                seen = OutsideProcess(standing, self._folder, self._kernel)
                self._known[pid] = seen if standing.is_program else None
        return self._known[pid]

    def parent(self, standing: Standing) -> OutsideProcess | None:
        """Whose child a process is now; None where that one is not seen, or is a later one of its number."""
        found = self.process(standing.parent)
        return found if found is not None and found.standing.start <= standing.start else None

    def ancestors(self, standing: Standing) -> Iterator[OutsideProcess]:
        """The parent, its parent, and so on."""
        met = {standing.pid}
        while (found := self.parent(standing)) is not None and found.pid not in met:
            met.add(found.pid)
            yield found
            standing = found.standing

    def starter(self, standing: Standing) -> OutsideProcess | None:
        """Who certainly started a process; None where its parent may only have taken it over.

        Orphans are taken over by the first process of their machine or container. Of a fork its parent has
        the same addresses, which no other program has.
        """
        found = self.parent(standing)
        if found is None or (standing.forked and not standing.is_copy_of(found.standing)):
            return None
        return None if self._takes_over(found.pid) else found

    def why_no_starter(self, standing: Standing) -> str:
        """What is said where it is not certain who started a process."""
        found = self.parent(standing)
        deed = "forked" if standing.forked else "started"
        if found is not None and standing.is_copy_of(found.standing):
            return f"process {found.pid} takes over orphans, and may not be the one that {deed} it"
        return f"the process that {deed} it has ended"

    def _takes_over(self, pid: int) -> bool:
        try:
            return self._folder.is_first(pid)
        except OSError:
            return True
