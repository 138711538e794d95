"""This process as its probes see it, read again only after libraries or threads have changed.

Reading the memory map and the records of all threads takes milliseconds in a large program, as long as a fork
itself. The dynamic loader's counters and the kernel's list of threads show within microseconds whether
anything has changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from coldfork.observe import states
from coldfork.observe.probes import hip, opencl, tokenizers
from coldfork.observe.probes.jax import Clients
from coldfork.observe.probes.loader import Gate
from coldfork.observe.probes.maps import Maps, mapped
from coldfork.observe.probes.openmp_pools import Stack, Stacks
from coldfork.observe.probes.process import ProbedProcess, forked_without_exec
from coldfork.observe.probes.torch_flags import TorchFlags
from coldfork.observe.probes.virtual_device import VirtualDevice

if TYPE_CHECKING:
    from coldfork.observe.probes.examination import Examination
    from coldfork.observe.probes.reading import Reading
    from coldfork.observe.probes.threads import NativeThread

_TASKS = "/proc/self/task"
_SETTINGS = (tokenizers.VARIABLE, opencl.DEVICES_VARIABLE)
_FLAGS = (TorchFlags("torch.cuda", "cuda"), TorchFlags("torch.xpu", "xpu"), VirtualDevice())
_CLIENTS = Clients()

Signature = tuple[tuple[int, str, str | None], ...]


class Snapshot(ProbedProcess):
    """A process whose libraries and threads are remembered until they change."""

    def __init__(self, examination: Examination) -> None:
        super().__init__(None)
        self.examination = examination
        self.generation: int = 0
        """A number that changes whenever the libraries or threads do."""
        self._pid: int | None = None
        self._forked: bool | None = None
        self._gate: Gate | None = None
        self._paths: dict[tuple[str, ...], str | None] = {}
        self._tasks: list[str] | None = None
        self._settled = False
        self._signature: Signature | None = None
        self._found: tuple[NativeThread, ...] | None = None
        self._known: tuple[object, ...] | None = None
        self._readings: tuple[Reading, ...] = ()
        self._stacks: Stacks | None = None

    def readings(self) -> tuple[Reading, ...]:
        """Return the state of every accelerator now; the same tuple while nothing has changed."""
        self.refresh()
        facts = self._facts()
        if facts is None or facts != self._known:
            self._readings = self.examination.readings(process=self)
            self._known = facts
        return self._readings

    @property
    def latest(self) -> tuple[Reading, ...]:
        """Return the last result of `readings`, for a caller that has just called it."""
        return self._readings

    @property
    def settled(self) -> bool:
        """Whether every thread was traced to its library, with the same result twice in a row."""
        return self._settled

    def _facts(self) -> tuple[object, ...] | None:
        """Return, by a few look-ups, the facts that probes read besides libraries and threads.

        Return None if a runtime shows only in the process's open files; then everything is read each time.
        """
        if self.library(*hip.PREFIXES) is not None:
            return None
        try:
            seen = [probe.examine(self) for probe in (self.examination.driver(), *_FLAGS)]
            clients = _CLIENTS.awake()
        except Exception:
            return None
        return (
            self.generation,
            clients,
            *(None if one is None else (one.status, one.level, one.reason) for one in seen),
            *map(self.setting, _SETTINGS),
        )

    def stacks(self) -> Stacks:
        """Return the finder of this process's thread stacks."""
        if self._stacks is None:
            self._stacks = Stacks(self.examination.loader(), self._first_stack)
        return self._stacks

    def _first_stack(self) -> Stack | None:
        """Return the stack of the process's first thread; None if this may be a forked child."""
        return self.maps.main_stack if self._forked is False else None

    def refresh(self) -> None:
        """Read libraries and threads again if they have changed since the last time."""
        begins = self._pid != os.getpid()
        if begins:
            self._begin()
        gate = self._gate
        # Called in any case, because `settled` depends on this call.
        changed = gate is None or gate.changed()
        if changed or begins:
            self._read_libraries()
            if gate is not None and changed:
                gate.settled()
        tasks = _tasks()
        if tasks is None or tasks != self._tasks or not self._settled:
            self._read_threads(tasks)

    def _begin(self) -> None:
        """Start over in a process that was never examined, such as a forked child."""
        parent = self._pid
        self._pid = os.getpid()
        self._forked = forked_without_exec()
        self._signature = None
        try:
            loader = self.examination.loader()
            self._gate = Gate(loader, forked=parent is not None or self._forked is not False)
        except Exception:
            # Without `ctypes` or the functions, everything is read each time.
            self._gate = None

    def _read_libraries(self) -> None:
        self._maps = Maps(mapped())
        self._paths = {}
        # Threads are attributed to libraries, so they have to be read again too.
        self._tasks = None
        self._settled = False
        self.generation += 1

    def _read_threads(self, tasks: list[str] | None) -> None:
        try:
            found = self.examination.threads().native(self.maps)
        except Exception:
            self._found, self._tasks = None, None
            self.generation += 1
            return
        signature = tuple((thread.tid, thread.name, thread.library) for thread in found)
        same = signature == self._signature
        # A new thread may not have its name yet, so a reading counts only if a second one agrees.
        self._settled = same and all(thread.library for thread in found)
        self._found, self._signature, self._tasks = found, signature, tasks
        if not same:
            self.generation += 1

    @property
    def threads(self) -> tuple[NativeThread, ...] | None:
        return self._found

    @property
    def forked(self) -> bool | None:
        return self._forked

    def library(self, *prefixes: str) -> str | None:
        try:
            return self._paths[prefixes]
        except KeyError:
            found = self._paths[prefixes] = super().library(*prefixes)
            return found


def _tasks() -> list[str] | None:
    try:
        return os.listdir(_TASKS)
    except OSError:
        return None


# Shared by the whole process, which it describes.
HERE = Snapshot(states.examination())
