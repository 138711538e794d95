"""What became of a forked child that touched what it could not use: recorded apart from what was judged."""

from __future__ import annotations

_TERMINATED = 15
"""SIGTERM: with it pools end their workers, and multiprocessing the daemons that are left."""


def went_on(leaves: bool | None, status: int | None, signal: int | None) -> bool:
    """Whether the child caught the framework's error and came to a good end without the device.

    `leaves` says whether the error left there what might have caught it; None where that is not known, and
    then it counts as one that did.
    """
    return leaves is False and (status == 0 or signal == _TERMINATED)
