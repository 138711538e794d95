"""Errors of capturing and replaying graphs; each message names the batch."""

from __future__ import annotations

from coldfork.model.errors import ColdforkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.graphs.descriptors import BatchDescriptor, Phase
    from coldfork.graphs.findings import Report


class GraphError(ColdforkError, RuntimeError):
    """The base class of errors of graph managers."""


class NotCapturedError(GraphError, KeyError):
    """You requested a batch that was not captured; the message names the captured batches."""

    def __str__(self) -> str:
        return str(self.args[0])


class InputError(GraphError, ValueError):
    """An input of a replay differs in shape, type or device from the input at the capture."""


class StaleOutputError(GraphError):
    """You read a guarded output that a later replay has overwritten."""


class MemoryBudgetError(GraphError):
    """The graphs take more memory than `memory_budget` allows; the message says how many would fit."""


class BusyError(GraphError):
    """The manager is already capturing or replaying, on another thread or in a caller of this call."""


class CaptureFailedError(GraphError):
    """A forward function failed while its batch was being warmed up or captured."""

    def __init__(self, descriptor: BatchDescriptor, phase: Phase, error: BaseException | str) -> None:
        # Pickled as just its message, which every process can unpickle; the original error is `__cause__`.
        said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        super().__init__(descriptor, phase, said)
        self.descriptor = descriptor
        self.phase = phase

    def __str__(self) -> str:
        doing = "warming up" if self.phase.value == "warmup" else "capturing"
        return f"{doing} {self.descriptor} failed: {self.args[2]}"


class LeakError(GraphError):
    """A captured graph uses something that the warm-up left behind; `.report` lists every leak."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report

    def __str__(self) -> str:
        return str(self.report)


class NotComparedError(LeakError):
    """The check could not rule out a leak, because `.report` lists things that could not be compared.

    Pass the function that fills the program's inputs as `prepare=`, or list in `allow=` the things that need
    not be compared, each with a reason.
    """


class LeakWarning(RuntimeWarning):
    """A captured graph uses, or may use, something that the warm-up left behind."""


class DeviceLostError(GraphError):
    """The device failed, so no graph of this manager can be used any more; start a new process."""
