"""All probes together, which give one reading for each accelerator."""

from __future__ import annotations

import sys

from coldfork.observe.probes import hip, jax, opencl, openmp, polars, tokenizers
from coldfork.observe.probes.cuda_driver import CudaDriver
from coldfork.observe.probes.lineage import Lineage
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
from coldfork.observe.probes.torch_flags import TorchFlags
from coldfork.observe.probes.virtual_device import VirtualDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from coldfork.model.states import State

    Probe = Callable[[], Reading | None]

ORDER = ("cuda", "rocm", "xpu", "opencl", "jax", "jax-cpu", "openmp", "polars", "tokenizers")
# If two probes read one accelerator, the status that comes first in this order counts.
_WEIGHT = (POISONED, AWAKE, UNKNOWN, COLD, ABSENT)
# The absence of these is certain even if a process does not show its libraries: JAX shows in its modules, and
# macOS has no such driver.
_SURE_ANYWHERE = ("jax", "jax-cpu")
_NEVER_ON_MACOS = ("cuda", "rocm", "xpu")


class Examination:
    """The probes of this process's accelerators; creating an examination costs nothing."""

    def __init__(self) -> None:
        self.lineage: Lineage = Lineage()
        self._loader: Loader | None = None
        self._driver: CudaDriver | None = None
        self._threads: ThreadReader | None = None

    def loader(self) -> Loader:
        """Return the dynamic loader; raise an error if `ctypes` or the system's functions are missing."""
        if self._loader is None:
            self._loader = Loader()
        return self._loader

    def driver(self) -> CudaDriver:
        """Return the interface to CUDA's driver, whether or not the driver can be found."""
        if self._driver is None:
            self._driver = CudaDriver(self.loader())
        return self._driver

    def threads(self) -> ThreadReader:
        """Return the reader of this process's threads."""
        if self._threads is None:
            self._threads = ThreadReader(self.loader())
        return self._threads

    def process(self) -> ProbedProcess:
        """Return this process as it is now."""
        try:
            return ProbedProcess(self.threads())
        except Exception:
            return ProbedProcess(None)

    def readings(
        self, parent: Mapping[str, Reading | State] | None = None, process: ProbedProcess | None = None
    ) -> tuple[Reading, ...]:
        """Return one reading for each accelerator, in a fixed order; never raise an error."""
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
            ("opencl", lambda: opencl.examine(process)),
            ("jax", lambda: jax.examine(jax.ON_DEVICES, process)),
            ("jax-cpu", lambda: jax.examine(jax.ON_CPU, process)),
            ("openmp", lambda: openmp.examine(process)),
            ("polars", lambda: polars.examine(process)),
            ("tokenizers", lambda: tokenizers.examine(process)),
        )

    def _judged(
        self, reading: Reading, process: ProbedProcess, parent: Mapping[str, Reading | State] | None
    ) -> Reading:
        try:
            return self.lineage.judge(_sure(reading, process), process, parent)
        except Exception as error:
            return failed(reading.accelerator, error)


def joined(one: Reading, two: Reading) -> Reading:
    """Return one reading from two probes' readings of the same accelerator."""
    first, second = sorted((one, two), key=lambda reading: _WEIGHT.index(reading.status))
    if first.status != AWAKE or second.status != AWAKE:
        return first
    reason, library = first.reason or second.reason, first.library or second.library
    level, copied = deeper(first.level, second.level), first.copied and second.copied
    return Reading(first.accelerator, AWAKE, reason, library, level=level, copied=copied)


def _asked(accelerator: str, probe: Probe) -> Reading | None:
    try:
        return probe()
    except Exception as error:
        return failed(accelerator, error)


def _sure(reading: Reading, process: ProbedProcess) -> Reading:
    """Return the reading, but as `unknown` if it is an absence that this system cannot show."""
    if reading.status != ABSENT or reading.accelerator in _SURE_ANYWHERE or process.shows_libraries:
        return reading
    if sys.platform == "darwin" and reading.accelerator in _NEVER_ON_MACOS:
        return reading
    return reading.turned(UNKNOWN, "this system does not show which libraries a process has loaded")
