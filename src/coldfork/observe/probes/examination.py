"""All probes together: one reading for each accelerator, in the light of what this was forked from."""

from __future__ import annotations

import os
import sys
from _thread import get_ident

from coldfork.observe.probes import hip, jax, pools
from coldfork.observe.probes.cuda_driver import CudaDriver
from coldfork.observe.probes.flags import TorchFlags, VirtualDevice
from coldfork.observe.probes.loader import Loader
from coldfork.observe.probes.process import ProbedProcess
from coldfork.observe.probes.reading import (
    ABSENT,
    AWAKE,
    COLD,
    POISONED,
    UNKNOWN,
    Reading,
    deeper,
    failed,
)
from coldfork.observe.probes.threads import ThreadReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from coldfork.model.states import State

    Probe = Callable[[], Reading | None]

_HARMFUL = (AWAKE, POISONED)
_UNRECORDED = "this process was forked, and the state of its parent was not recorded"


class Lineage:
    """The readings that a parent left for the children it forks, so that these can tell poisoned from cold.

    In a child forked from an awake process a driver answers as one that nobody ever touched, and a pool
    of threads is gone as if it had never been. The parent's state, noted just before the fork, is the
    difference.
    """

    def __init__(self) -> None:
        self._born = os.getpid()
        self._registered = False
        self._about_to_fork: dict[int, dict[str, Reading]] = {}
        self._heir: int | None = None
        self._inherited: dict[str, Reading] | None = None
        self._absences: set[tuple[int, str]] = set()

    def remember(self, readings: Iterable[Reading]) -> None:
        """Note this process's state for the child that this thread is about to fork."""
        self._about_to_fork[get_ident()] = {reading.accelerator: reading for reading in readings}
        self.attend_forks()

    def attend_forks(self) -> None:
        """Hand over at every fork from now on what was noted for it, ahead of handlers registered later.

        Nothing is handed over at a fork that Python does not see, one by the C library: what was noted for
        another fork, long ago, may be wrong by then.
        """
        if not self._registered:
            self._registered = True
            os.register_at_fork(
                after_in_parent=lambda: self._about_to_fork.pop(get_ident(), None), after_in_child=self._adopt
            )

    def _adopt(self) -> None:
        # The thread that forked is the only one in the child, and keeps its identity.
        self._inherited = self._about_to_fork.pop(get_ident(), None)
        self._heir = os.getpid()
        self._about_to_fork.clear()

    @property
    def recorded(self) -> Mapping[str, Reading] | None:
        """The parent's readings, if this process is a child for whom they were left."""
        return self._inherited if self._heir == os.getpid() else None

    def poisons(self, accelerator: str) -> bool:
        """Whether the parent left word that this accelerator was awake, or poisoned already."""
        earlier = (self.recorded or {}).get(accelerator)
        return earlier is not None and earlier.status in _HARMFUL

    def judge(
        self, reading: Reading, process: ProbedProcess, parent: Mapping[str, Reading | State] | None = None
    ) -> Reading:
        """The reading of this process in the light of the process it was forked from, if it was forked."""
        recorded: Mapping[str, Reading | State] | None = parent if parent is not None else self.recorded
        if recorded is None:
            return self._without_record(reading, process)
        earlier = recorded.get(reading.accelerator)
        return reading if earlier is None else _inherit(reading, earlier, process)

    def _without_record(self, reading: Reading, process: ProbedProcess) -> Reading:
        here = (os.getpid(), reading.accelerator)
        if reading.status == ABSENT:
            self._absences.add(here)
        doubtful = reading.status == COLD or (reading.status == AWAKE and reading.copied)
        # What was absent in this very process and came later cannot have come with the fork.
        if not doubtful or here in self._absences or not self._forked(process):
            return reading
        seems = "it looks awake and may be" if reading.status == AWAKE else "it looks cold and may be"
        return reading.turned(UNKNOWN, f"{_UNRECORDED}: {seems} poisoned")

    def _forked(self, process: ProbedProcess) -> bool:
        forked = process.forked
        return os.getpid() != self._born if forked is None else forked


def _inherit(reading: Reading, earlier: Reading | State, process: ProbedProcess) -> Reading:
    if earlier.status in _HARMFUL:
        if reading.accelerator == "tokenizers" and pools.survives_fork(process):
            return reading
        level = f", level {earlier.level}" if earlier.level else ""
        was = "was poisoned itself" if earlier.status == POISONED else f"had it awake{level}"
        return reading.turned(POISONED, f"this process was forked from one that {was}")
    if earlier.status == UNKNOWN and reading.status in (COLD, ABSENT):
        return reading.turned(UNKNOWN, f"in the process this one was forked from: {earlier.reason}")
    return reading


ORDER = ("cuda", "rocm", "xpu", "opencl", "jax", "jax-cpu", "openmp", "polars", "tokenizers")
# The status that counts when two probes speak of one accelerator.
_WEIGHT = (POISONED, AWAKE, UNKNOWN, COLD, ABSENT)
# Absent is absent, also where a process does not show its libraries: its modules are known, or there is no
# such driver.
_SURE_ANYWHERE = ("jax", "jax-cpu")
_NEVER_ON_MACOS = ("cuda", "rocm", "xpu")


class Examination:
    """Everything that can be asked about accelerators in this process; making one costs nothing."""

    def __init__(self) -> None:
        self.lineage = Lineage()
        self._loader: Loader | None = None
        self._driver: CudaDriver | None = None
        self._threads: ThreadReader | None = None

    def loader(self) -> Loader:
        """The dynamic loader; an error where this Python has no `ctypes` or the system no such functions."""
        if self._loader is None:
            self._loader = Loader()
        return self._loader

    def driver(self) -> CudaDriver:
        """CUDA's driver, found or not."""
        if self._driver is None:
            self._driver = CudaDriver(self.loader())
        return self._driver

    def threads(self) -> ThreadReader:
        """What reads the threads of this process."""
        if self._threads is None:
            self._threads = ThreadReader(self.loader())
        return self._threads

    def process(self) -> ProbedProcess:
        """This process as it is now."""
        try:
            return ProbedProcess(self.threads())
        except Exception:
            return ProbedProcess(None)

    def readings(
        self, parent: Mapping[str, Reading | State] | None = None, process: ProbedProcess | None = None
    ) -> tuple[Reading, ...]:
        """One reading for each accelerator, in a fixed order; never raises."""
        seen = process if process is not None else self.process()
        found: dict[str, Reading] = {}
        for accelerator, probe in self._probes(seen):
            reading = _asked(accelerator, probe)
            if reading is not None:
                known = found.get(reading.accelerator)
                found[reading.accelerator] = reading if known is None else joined(known, reading)
        return tuple(self._judged(found[accelerator], seen, parent) for accelerator in ORDER)

    def _probes(self, process: ProbedProcess) -> tuple[tuple[str, Probe], ...]:
        return (
            ("cuda", lambda: self.driver().examine(process)),
            ("cuda", lambda: TorchFlags("torch.cuda", "cuda").examine(process)),
            ("cuda", lambda: VirtualDevice().examine()),
            ("rocm", lambda: hip.examine_rocm(process)),
            ("xpu", lambda: hip.examine_xpu(process)),
            ("xpu", lambda: TorchFlags("torch.xpu", "xpu").examine(process)),
            ("opencl", lambda: pools.examine_opencl(process)),
            ("jax", lambda: jax.examine(jax.ON_DEVICES, process)),
            ("jax-cpu", lambda: jax.examine(jax.ON_CPU, process)),
            ("openmp", lambda: pools.examine_openmp(process)),
            ("polars", lambda: pools.examine_polars(process)),
            ("tokenizers", lambda: pools.examine_tokenizers(process)),
        )

    def _judged(
        self, reading: Reading, process: ProbedProcess, parent: Mapping[str, Reading | State] | None
    ) -> Reading:
        try:
            return self.lineage.judge(_sure(reading, process), process, parent)
        except Exception as error:
            return failed(reading.accelerator, error)


def joined(one: Reading, two: Reading) -> Reading:
    """What two probes together say of one accelerator."""
    first, second = sorted((one, two), key=lambda reading: _WEIGHT.index(reading.status))
    if first.status != AWAKE or second.status != AWAKE:
        return first
    return Reading(
        first.accelerator,
        AWAKE,
        level=deeper(first.level, second.level),
        reason=first.reason or second.reason,
        library=first.library or second.library,
        copied=first.copied and second.copied,
    )


def _asked(accelerator: str, probe: Probe) -> Reading | None:
    try:
        return probe()
    except Exception as error:
        return failed(accelerator, error)


def _sure(reading: Reading, process: ProbedProcess) -> Reading:
    """Absence, where it can be seen."""
    if reading.status != ABSENT or reading.accelerator in _SURE_ANYWHERE or process.shows_libraries:
        return reading
    if sys.platform == "darwin" and reading.accelerator in _NEVER_ON_MACOS:
        return reading
    return reading.turned(UNKNOWN, "this system does not show which libraries a process has loaded")
