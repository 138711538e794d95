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
    """You asked for a batch for which no graph was captured; the message names the captured ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class InputError(GraphError, ValueError):
    """An input of a replay has another shape, type or device than the one that was captured."""


class StaleOutputError(GraphError):
    """You read an output that a later replay has overwritten; only guarded outputs raise this."""


class MemoryBudgetError(GraphError):
    """The graphs take more memory than `memory_budget` allows; the message says how many fit."""


class BusyError(GraphError):
    """The manager is capturing or replaying already: in the same call, or on another thread."""


class CaptureFailedError(GraphError):
    """A forward function failed while its batch was being warmed up or captured."""

    def __init__(self, descriptor: BatchDescriptor, phase: Phase, error: BaseException | str) -> None:
        # Only the text, which every process can unpickle; the error itself is the cause.
        said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        super().__init__(descriptor, phase, said)
        self.descriptor = descriptor
        self.phase = phase

    def __str__(self) -> str:
        doing = "warming up" if self.phase.value == "warmup" else "capturing"
        return f"{doing} {self.descriptor} failed: {self.args[2]}"


class LeakError(GraphError):
    """A captured graph uses something that warm-up left behind; `.report` holds all of it."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report

    def __str__(self) -> str:
        return str(self.report)


class NotComparedError(LeakError):
    """The check could not compare everything, so a leak cannot be excluded; `.report` says what and why.

    Pass the function that fills the program's inputs as `prepare=`, or list what need not be compared, with
    the reason, in `allow=`.
    """


class LeakWarning(RuntimeWarning):
    """A captured graph uses, or may use, something that warm-up left behind."""


class DeviceLostError(GraphError):
    """The device failed, so no graph of this manager can be used any more; start a new process."""
