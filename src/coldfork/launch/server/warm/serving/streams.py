"""Standard streams as Python makes them when it starts."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STREAMS = (("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb"))


def open_anew() -> None:
    """Make the streams of this process out of what its descriptors are now."""
    for number, (name, mode) in enumerate(_STREAMS):
        former = getattr(sys, f"__{name}__", None)
        if former is None:
            continue
        former.flush()
        made = _made(number, name, mode, former)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def _made(number: int, name: str, mode: str, former: Any) -> Any:
    unbuffered = mode == "wb" and isinstance(former.buffer, io.RawIOBase)
    binary: Any = io.open(number, mode, 0 if unbuffered else -1, closefd=False)  # noqa: UP020, SIM115
    (binary if unbuffered else binary.raw).name = f"<{name}>"
    stream = io.TextIOWrapper(
        binary,
        encoding=former.encoding,
        errors=former.errors,
        newline="\n",
        line_buffering=not former.write_through and (name == "stderr" or os.isatty(number)),
        write_through=former.write_through,
    )
    stream.mode = "r" if mode == "rb" else "w"  # type: ignore[misc]
    return stream
