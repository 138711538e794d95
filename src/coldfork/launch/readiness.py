"""Waits for descriptors that can be read, whatever their numbers: `select.select` knows none from 1024 on."""

from __future__ import annotations

import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def readable(descriptors: Sequence[int], seconds: float | None) -> list[int]:
    """Which of these can be read, waiting for the first; none when the time is up."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)]
