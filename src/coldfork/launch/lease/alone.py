"""A lease for this process's own use: for a script, a subprocess, or anything else that it starts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from coldfork.launch.lease.leases import DevicesWanted, Lease, take
from coldfork.model.errors import LeaseError, UsageError

_LOOK_SECONDS = 0.25


@contextmanager
def lease(devices: DevicesWanted = 1, *, share: int = 1, wait: float = 0.0) -> Iterator[Lease]:
    """Take devices that no other lease of this user holds, and give them back at the end of the block.

    `devices` is how many, a list of places or identifiers, or `FreeDevices`; only what this process sees is
    taken. `share` lets so many leases hold one device. `wait` is for how many seconds to wait until devices
    are free; `LeaseError` says who holds them then. What the lease's `variables` say has to be in the
    environment of whatever is to use the devices: `run_script(..., devices=lease)` does that, this process's
    own environment is left as it is.

    The lease ends with the block or with this process, however it ends, and not with what it started.
    """
    if devices is None:
        raise UsageError("devices=None leases nothing; give a number, a list or FreeDevices")
    taken = _taken(devices, share, time.monotonic() + wait)
    try:
        yield taken
    finally:
        taken.release()


def _taken(devices: DevicesWanted, share: int, until: float) -> Lease:
    while True:
        try:
            (taken,) = take(devices, 1, os.environ, share=share)
        except LeaseError as error:
            left = until - time.monotonic()
            if not error.may_pass or left <= 0:
                raise
            time.sleep(min(_LOOK_SECONDS, left))
        else:
            return taken
