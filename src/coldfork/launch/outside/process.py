"""Other processes and their parents, as seen from outside; each is examined only when needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from coldfork.launch.outside.kernel import Kernel
from coldfork.observe.probes.maps import Maps
from coldfork.observe.probes.process import ProbedProcess
from coldfork.observe.processes.table import Standing

if TYPE_CHECKING:
    from coldfork.observe.probes.threads import NativeThread


_PYTHON = re.compile(r"(?:python|pypy)[\d.]*[dmtu]{0,3}(?:-[\w.-]+)?\Z")
_EXTENSION = re.compile(r"\.(?:cpython|pypy)-?\d+.*\.so\Z|\.abi3\.so\Z")
_LIBRARY = ("libpython", "libpypy")
NOT_SHOWN = "the system does not show it to this user"


class OutsideProcess(ProbedProcess):
    """A process other than this one. Each property is read once and then keeps that value."""

    def __init__(self, standing: Standing, kernel: Kernel) -> None:
        super().__init__(None)
        self.standing = standing
        self.pid: int = standing.pid
        self._kernel = kernel
        self._asked_threads = False
        self._files: dict[int, str] | None = None
        self.hidden: str | None = None
        """Why its memory map cannot be seen."""
        self.why_no_threads: str = NOT_SHOWN
        """Why its threads cannot be told apart, if `threads` is None."""

    @property
    def maps(self) -> Maps:
        """Return the process's memory map; an empty map if this user may not see it."""
        if self._maps is None:
            text = b""
            try:
                text = self._kernel.memory_map(self.pid)
            except PermissionError:
                self.hidden = "this user may not see its memory map"
            self._maps = Maps(text)
            if not text and self.hidden is None:
                self.hidden = "the system shows no memory map of it"
        return self._maps

    @property
    def threads(self) -> tuple[NativeThread, ...] | None:
        """Return the threads that native code started, or None if they cannot be told from Python's."""
        if not self._asked_threads:
            self._asked_threads = True
            try:
                self._threads = self._kernel.native_threads(self.pid, self.maps)
            except PermissionError:
                self.why_no_threads = (
                    "only its memory, which this user may not read, tells which library started its threads"
                )
            except OSError as error:
                self.why_no_threads = error.strerror or NOT_SHOWN
        return self._threads

    @property
    def forked(self) -> bool | None:
        """Return whether the process is a fork that has not executed another program since."""
        return self.standing.forked

    def module(self, name: str) -> None:
        """Return None: the modules that Python has imported are not visible from outside."""

    def setting(self, name: str) -> str | None:
        """Return the variable's value at the start of the process, which may have changed it since."""
        try:
            return self._kernel.setting(self.pid, name)
        except OSError:
            return None

    @property
    def open_files(self) -> dict[int, str]:
        """Return the process's open files, by descriptor; raise `PermissionError` if they are hidden."""
        if self._files is None:
            self._files = self._kernel.open_files(self.pid)
        return self._files

    def holds_open(self, *paths: str) -> str | None:
        """Return the first of these files that the process has open, or None."""
        return next((path for path in self.open_files.values() if path in paths), None)

    def descriptors_of(self, paths: Iterable[str]) -> list[int]:
        """Return the descriptors under which the process has these files open."""
        wanted = frozenset(paths)
        return [number for number, path in sorted(self.open_files.items()) if path in wanted]

    @property
    def program(self) -> str | None:
        """Return the file that the process runs; None if this user may not see that."""
        try:
            return self._kernel.program(self.pid)
        except PermissionError:
            return None

    @property
    def words(self) -> tuple[str, ...]:
        """Return the process's command line."""
        return self._kernel.words(self.pid)

    def is_python(self) -> bool:
        """Return whether the process runs Python, judging by its program, else by its loaded libraries."""
        program = self.program
        if program is None:
            first = self.words[:1]
            return bool(first and _PYTHON.match(first[0].rpartition("/")[2]))
        if _PYTHON.match(program.rpartition("/")[2]):
            return True
        names = [path.rpartition("/")[2] for path in self.maps.files]
        return any(name.startswith(_LIBRARY) or _EXTENSION.search(name) for name in names)


class Relatives:
    """The processes of the machine at one moment, and their relations."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._known: dict[int, OutsideProcess | None] = {}
        self._pids = tuple(kernel.pids())

    def pids(self) -> tuple[int, ...]:
        """Return the numbers of all processes at that moment, including other users' and those without
        Python.
        """
        return self._pids

    def process(self, pid: int) -> OutsideProcess | None:
        """Return one process; None if it has ended, or belongs to the kernel."""
        if pid not in self._known:
            try:
                standing = self.kernel.standing(pid)
            except (OSError, ValueError):
                self._known[pid] = None
            else:
                seen = OutsideProcess(standing, self.kernel)
                self._known[pid] = seen if standing.is_program else None
        return self._known[pid]

    def parent(self, standing: Standing) -> OutsideProcess | None:
        """Return a process's present parent; None if the parent is invisible, or its number was reused."""
        found = self.process(standing.parent)
        return found if found is not None and found.standing.start <= standing.start else None

    def ancestors(self, standing: Standing) -> Iterator[OutsideProcess]:
        """Yield the ancestors of a process, its parent first."""
        met = {standing.pid}
        while (found := self.parent(standing)) is not None and found.pid not in met:
            met.add(found.pid)
            yield found
            standing = found.standing

    def starter(self, standing: Standing) -> OutsideProcess | None:
        """Return the process that certainly started this one; None if its parent may have adopted it.

        The first process of a machine or container adopts orphans. Only a fork shares its parent's memory
        addresses.
        """
        found = self.parent(standing)
        if found is None or (standing.forked and not standing.is_copy_of(found.standing)):
            return None
        return None if self._takes_over(found.pid) else found

    def why_no_starter(self, standing: Standing) -> str:
        """Return a sentence that says why it is uncertain which process started this one."""
        found = self.parent(standing)
        deed = "forked" if standing.forked else "started"
        if found is not None and standing.is_copy_of(found.standing):
            return f"process {found.pid} adopts orphans, and may not be the one that {deed} it"
        return f"the process that {deed} it has ended"

    def _takes_over(self, pid: int) -> bool:
        try:
            return self.kernel.is_first(pid)
        except OSError:
            return True
