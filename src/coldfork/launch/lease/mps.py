"""The share of a device that MPS gives this process, said for workers that see devices in another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from coldfork.launch.supervisor.limits import parse_size
from coldfork.model.errors import UsageError

LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"


def variables(environment: Mapping[str, str], places: Sequence[int]) -> dict[str, str]:
    """What a worker on the devices in these places needs beside what it inherits.

    The limit of memory is said by the numbers of devices (`0=1G,1=512MB`), and a worker counts its own from
    0. NVIDIA does not say whose numbers count, so each of the caller's entries stays, and where the worker's
    own number would say another limit, the smaller one holds: a worker never gets more than its caller.
    """
    setting = environment.get(LIMIT)
    if not setting:
        return {}
    limits = dict(_entries(setting))
    own = {str(at): limits[str(place)] for at, place in enumerate(places) if str(place) in limits}
    merged = {number: _smaller(limit, own.get(number, limit)) for number, limit in limits.items()}
    merged |= {number: limit for number, limit in own.items() if number not in merged}
    said = ",".join(f"{number}={limit}" for number, limit in merged.items())
    return {} if merged == limits else {LIMIT: said}


def narrowed(setting: str | None, numbers: Sequence[str], limit: str) -> str:
    """A setting by which none of these devices gives more than this limit, and none more than before."""
    known = dict(_entries(setting or ""))
    merged = known | {number: _smaller(limit, known.get(number, limit)) for number in numbers}
    return ",".join(f"{number}={most}" for number, most in merged.items())


def _entries(setting: str) -> Iterator[tuple[str, str]]:
    for entry in setting.split(","):
        number, separator, limit = entry.strip().partition("=")
        if separator:
            yield number.strip(), limit.strip()


def _smaller(one: str, other: str) -> str:
    with suppress(UsageError):
        return one if parse_size(one) <= parse_size(other) else other
    return one
