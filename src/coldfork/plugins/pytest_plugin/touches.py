"""How a forked child tells the test run that it has touched a device which its parent had awake."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

_MOST = 1 << 20


class TouchFile:
    """A file without a name that every forked child shares: children write lines, the test run reads them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._home = os.getpid()
        self._read = 0

    @property
    def is_child(self) -> bool:
        """Whether this is a process that was forked from the one that reads."""
        return os.getpid() != self._home

    def write(self, fork: int, accelerator: str, leaves: bool) -> None:
        """In a child: tell by which fork it came to be, what it touched, and whether the error leaves it."""
        line = json.dumps({"fork": fork, "accelerator": accelerator, "leaves": leaves}) + "\n"
        os.write(self._file.fileno(), line.encode("utf-8"))

    def new(self) -> Iterator[tuple[int, str, bool]]:
        """What was written since the last question: the number of the fork, the accelerator, whether it
        left."""
        content = os.pread(self._file.fileno(), _MOST, self._read)
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            said: dict[str, Any] = json.loads(line)
            yield said["fork"], said["accelerator"], said["leaves"]

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
