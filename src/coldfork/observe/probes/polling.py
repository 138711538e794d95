"""A cheap test for awake accelerators, to be repeated thousands of times while modules are imported."""

from __future__ import annotations

import sys
from os import getpid

from coldfork.observe.probes import hip, jax, opencl, openmp, polars, tokenizers
from coldfork.observe.probes.cuda_driver import ACCELERATOR as CUDA
from coldfork.observe.probes.loader import Gate
from coldfork.observe.probes.reading import AWAKE, CONTEXT
from coldfork.observe.probes.torch_flags import TorchFlags
from coldfork.observe.probes.virtual_device import VirtualDevice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from coldfork.observe.probes.cuda_driver import CudaDriver
    from coldfork.observe.probes.examination import Examination
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.reading import Awake, Reading
    from coldfork.observe.probes.threads import ThreadReader

    class Flags(Protocol):
        """The flags in one of the program's modules, which can be read once the module is imported."""

        module: str

        def awake(self) -> Awake:
            """Return the accelerators that are awake according to the module's flags."""


# Runtimes whose threads show that they are awake.
_POOLS: tuple[Callable[[ProbedProcess], Reading], ...] = (
    openmp.examine,
    opencl.examine,
    polars.examine,
    tokenizers.examine,
    hip.examine_rocm,
)
_MOST_LOOKS = 5


class ExaminationPoller:
    """A poller of the accelerators that are awake in this process, with their levels.

    An accelerator that was awake once counts as awake until the process ends. In a forked child the poller
    starts over, and accelerators that were awake before the fork do not count as awake: they are poisoned
    there.
    """

    def __init__(self, examination: Examination) -> None:
        self._examination = examination
        self.failures: dict[str, str] = {}
        """The runtimes that failed to answer, each with the error; they are not asked again."""
        self._before_fork: frozenset[str] = frozenset()
        self._modules = sys.modules
        examination.lineage.attend_forks()
        self._begin(forked=False)

    def _begin(self, *, forked: bool) -> None:
        self._pid = getpid()
        self._levels: dict[str, str | None] = {}
        self._answer: Awake = ()
        self._natives: int | None = 1
        self._looks = 0
        known: tuple[Flags, ...] = (
            TorchFlags("torch.cuda", "cuda"),
            TorchFlags("torch.xpu", "xpu"),
            jax.Clients(),
            VirtualDevice(),
        )
        self._flags = [(flags.module, flags) for flags in known]
        self._gate: Gate | None = None
        self._driver: CudaDriver | None = None
        self._threads: ThreadReader | None = None
        try:
            self._driver = self._examination.driver()
            if not self._driver.found:
                self._gate = Gate(self._examination.loader(), forked=forked)
            self._threads = self._examination.threads()
        except Exception as error:
            self._fail("loader", error)

    def awake(self) -> Awake:
        """Return the awake accelerators, with levels if known; the same tuple while nothing changes."""
        # Written inline, because each call is slow here: its code is no longer in the CPU's cache.
        if self._pid != getpid():
            self._before_fork |= frozenset(self._levels)
            self._begin(forked=True)
        try:
            if self._driver is not None and (self._gate is None or self._gate.changed()):
                self._ask_driver(self._driver)
        except Exception as error:
            self._gate = self._driver = None
            self._fail(CUDA, error)
        modules = self._modules
        for name, flags in self._flags:
            if name in modules:
                self._ask(flags)
        if self._threads is not None and self._threads.count() != self._natives:
            self._look_at_threads(self._threads)
        return self._answer

    def _ask_driver(self, driver: CudaDriver) -> None:
        """Ask the driver itself, once it is loaded; until then, look for it after each new library."""
        gate = self._gate
        if gate is not None:
            if driver.find():
                self._gate = gate = None
            else:
                gate.settled()
        if gate is None:
            level = driver.level()
            if level is not None:
                self._note(CUDA, level)
                if level == CONTEXT:
                    # A context is the highest level, so the driver need not be asked again.
                    self._driver = None

    def _ask(self, flags: Flags) -> None:
        try:
            for accelerator, level in flags.awake():
                self._note(accelerator, level)
        except Exception as error:
            self._flags = [(name, other) for name, other in self._flags if other is not flags]
            self._fail(flags.module, error)

    def _look_at_threads(self, threads: ThreadReader) -> None:
        """When the number of threads that Python did not start has changed, look at them: a pool may
        be new.
        """
        natives = threads.count()
        process = self._examination.process()
        for probe in _POOLS:
            try:
                reading = probe(process)
                if reading.status == AWAKE:
                    self._note(reading.accelerator, reading.level)
            except Exception as error:
                self._fail(probe.__module__, error)
        seen = process.threads or ()
        settled = natives == 1 + len(seen) and all(thread.library for thread in seen)
        if settled or self._looks >= _MOST_LOOKS:
            self._looks, self._natives = 0, natives
        else:
            # A Python thread that is ending is still counted, or a thread is too young to be traced: look
            # again soon.
            self._looks += 1

    def _note(self, accelerator: str, level: str | None) -> None:
        if self._levels.get(accelerator, "") in (level, CONTEXT) or accelerator in self._before_fork:
            return
        if self._examination.lineage.poisons(accelerator):
            return
        self._levels[accelerator] = level
        self._answer = tuple(self._levels.items())

    def _fail(self, what: str, error: Exception) -> None:
        self.failures[what] = f"{type(error).__name__}: {error}"
