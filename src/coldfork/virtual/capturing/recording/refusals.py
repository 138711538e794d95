"""The errors that a device raises while it captures, with a sentence on what caused them."""

from __future__ import annotations

from typing import Any

import torch

from coldfork.model.states import Frame
from coldfork.virtual.capturing.records import written
from coldfork.virtual.errors import CaptureError, CaptureRefusedError, NotCapturableError

NOT_PERMITTED = "CUDA error: operation not permitted when stream is capturing"
INVALIDATED = "CUDA error: operation failed due to a previous error during capture"

_DeviceError: Any = getattr(torch, "AcceleratorError", RuntimeError)


class DeviceRefusal(CaptureRefusedError, _DeviceError):  # type: ignore[misc]
    """The error that torch raises on a device, so that programs that catch it there catch it here."""


class NoArrayRefusal(DeviceRefusal, TypeError):
    """The error that torch raises when a device's tensor is taken for an array of the host."""


def refusal(what: str, why: str, where: Frame | None) -> DeviceRefusal:
    """Make the error for something that a device refuses while it captures."""
    return DeviceRefusal(f"{NOT_PERMITTED}\n{what} at {written(where)} {why}", what, where)


def no_array(what: str, why: str, where: Frame | None) -> NoArrayRefusal:
    """Make the error of any device tensor that is to become an array."""
    return NoArrayRefusal(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        f"memory first.\n{what} at {written(where)} {why}, and .cpu() is refused in a capture too",
        what,
        where,
    )


def not_simulated(what: str, why: str, where: Frame | None) -> NotCapturableError:
    """Make the error for something that a device may do, but a capture on the CPU cannot."""
    return NotCapturableError(f"{what} at {written(where)} cannot be captured virtually: {why}", what, where)


def invalidated(first: CaptureError) -> DeviceRefusal:
    """Make the error for everything that follows the first refusal in the same capture."""
    return DeviceRefusal(
        f"{INVALIDATED}\nthe first one was {first.what} at {written(first.where)}", first.what, first.where
    )
