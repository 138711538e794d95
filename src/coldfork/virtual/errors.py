"""What the virtual device says when it cannot do what was asked."""

from __future__ import annotations

from coldfork.model.errors import ColdforkError, UsageError


class VirtualDeviceError(ColdforkError, RuntimeError):
    """You asked for a virtual device where none can be: beside a real driver or another virtual one."""


class UnknownDeviceError(VirtualDeviceError, UsageError):
    """You named a virtual device that does not exist; the message lists those that do."""


class NotSimulatedError(ColdforkError, RuntimeError):
    """You used a virtual device for more than its initialisation; the message says what to do instead."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what, instead)
        self.what = what
        """What was asked of the device."""
        self.instead = instead
        """What to do about it."""

    def __str__(self) -> str:
        return f"coldfork's virtual device does not simulate {self.what}; {self.instead}"
