"""Time limits that something is to run into while it stands still, on machines of any speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

LIMITS = (2, 12, 72)
"""In seconds. A slow machine may need the first one, or the second, before anything stands still."""

Found = TypeVar("Found")


def overrun(attempt: Callable[[int], Found], shows: Callable[[Found], bool]) -> tuple[int, Found]:
    """Return the result under the first limit that was long enough to show it, and that limit.

    Where none was, it is what the last one gave, which a test then refuses.
    """
    for limit in LIMITS[:-1]:
        found = attempt(limit)
        if shows(found):
            return limit, found
    return LIMITS[-1], attempt(LIMITS[-1])
