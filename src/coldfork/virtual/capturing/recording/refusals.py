"""The errors that a device raises while it captures, with a sentence about the cause."""

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
    """The error that torch raises on a device, so that programs catch it in the same way."""


class NoArrayRefusal(DeviceRefusal, TypeError):
    """The error that torch raises if a program uses a device's tensor as an array on the host."""


def refusal(what: str, why: str, where: Frame | None) -> DeviceRefusal:
    """Return the error for an act that a device refuses while it captures."""
    return DeviceRefusal(f"{NOT_PERMITTED}\n{what} at {written(where)} {why}", what, where)


def no_array(what: str, why: str, where: Frame | None) -> NoArrayRefusal:
    """Return the error for converting a device's tensor to an array."""
    return NoArrayRefusal(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
        f"memory first.\n{what} at {written(where)} {why}, and .cpu() is refused in a capture too",
        what,
        where,
    )


def not_simulated(what: str, why: str, where: Frame | None) -> NotCapturableError:
    """Return the error for an action that a device may allow, but that CPU tensors cannot simulate."""
    return NotCapturableError(f"{what} at {written(where)} cannot be captured virtually: {why}", what, where)


def invalidated(first: CaptureError) -> DeviceRefusal:
    """Return the error for every action after the first refusal in the same capture."""
    return DeviceRefusal(
        f"{INVALIDATED}\nthe first one was {first.what} at {written(first.where)}", first.what, first.where
    )
