"""What memory holds while nothing was computed into it: NaN in floats, a pattern in integers."""

from __future__ import annotations

import struct
from typing import Any

import torch

_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_C01D_0000_0000))[0]
"""A NaN whose payload no arithmetic produces by itself; it survives the conversion to shorter types."""

_BYTE = 0xA5
"""What every byte of a poisoned integer holds."""


def poison_value(dtype: Any) -> Any:
    """What an element of this type holds while nothing was computed into it; None where bytes must do."""
    if dtype.is_complex:
        return complex(_NAN, _NAN)
    if dtype.is_floating_point:
        return _NAN if dtype.itemsize > 1 else None
    if dtype is torch.bool:
        return True
    return int.from_bytes(bytes([_BYTE]) * dtype.itemsize, "little", signed=dtype.is_signed)


def poison(tensor: Any) -> None:
    """Fill a tensor's elements with poison."""
    value = poison_value(tensor.dtype)
    if value is None or 0 in tensor.stride():
        poison_storage(tensor.untyped_storage(), tensor.dtype)
    else:
        tensor.fill_(value)


def poison_storage(storage: Any, dtype: Any) -> None:
    """Fill a whole storage with the poison of a type."""
    flat = torch.empty(0, dtype=dtype).set_(storage)
    value = poison_value(dtype)
    if value is None:
        # 0x7f is a NaN in every float of eight bits but those without a negative zero, where 0x80 is.
        flat.view(torch.uint8).fill_(0x80 if "uz" in str(dtype) else 0x7F)
    else:
        flat.fill_(value)
