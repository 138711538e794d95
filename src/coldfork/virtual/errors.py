"""The errors of the virtual device for requests that it cannot fulfil."""

from __future__ import annotations

from coldfork.model.errors import ColdforkError, UsageError
from coldfork.model.states import Frame


class VirtualDeviceError(ColdforkError, RuntimeError):
    """You requested a virtual device, but there already is a real driver or another virtual device."""


class UnknownDeviceError(VirtualDeviceError, UsageError):
    """You named a virtual device that does not exist; the message lists those that do."""


class NotSimulatedError(ColdforkError, RuntimeError):
    """You used a virtual device for more than its initialisation; the message names an alternative."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what, instead)
        self.what = what
        """The thing that the device was asked to do."""
        self.instead = instead
        """Advice on what to do instead."""

    def __str__(self) -> str:
        return f"coldfork's virtual device does not simulate {self.what}; {self.instead}"


POOL_IS_GONE = (
    "keep one of the memory pool's graphs, or capture without pool= to begin a new one: this pool's last "
    "graph is gone, so a device refuses to capture into it"
)


class CaptureError(ColdforkError, RuntimeError):
    """The base class of errors in a virtual capture or in its replay."""

    def __init__(self, message: str, what: str = "", where: Frame | None = None) -> None:
        super().__init__(message, what, where)
        self.message = message
        self.what = what
        """The action, in words."""
        self.where = where
        """The line of the program that performed the action."""

    def __str__(self) -> str:
        return self.message


class CaptureRefusedError(CaptureError):
    """A captured region contains an action that a device refuses; `.what` and `.where` give the details."""


class NotCapturableError(CaptureError):
    """A device might capture this work, but CPU tensors cannot simulate it; the message says why."""


class ReplayError(CaptureError):
    """A graph was replayed too early, or an operator in it failed; the message names operator and line."""
