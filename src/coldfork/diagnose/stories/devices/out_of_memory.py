"""Several processes share a device that has too little memory for all.

## How it is told

By `CUDA out of memory` in an error that names other processes with memory on the same device, as PyTorch's
does (`Process 4242 has 20.00 GiB memory in use`) and vLLM's (`reduce GPU memory used by other processes`), or
where several processes of the log run out of memory. PyTorch before 2.1 names no process; there the story is
told as possible if much of the device's memory is neither free nor reserved by PyTorch. In any other error
that names no process, or only processes that hold little more than a context, the model is too large, and no
story is told.

## What else it could be

A model that is too large for the device even without the other processes.

## Reproduced

Not reproduced: the texts are those of `c10/cuda/CUDACachingAllocator.cpp` (2.13) and of
`vllm/v1/worker/utils.py:414` (0.21.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Confidence, Story

NAME = "out-of-memory"
_OTHER = re.compile(
    r"Process (\d+) has ([\d.]+ [GMK]iB) memory in use|reduce GPU memory used by other processes"
)
_DEVICES = {"HIP out of memory": "rocm", "XPU out of memory": "xpu"}


_HELD = re.compile(r"Process \d+ has ([\d.]+) ([GMK])iB memory in use")
_TOTAL = re.compile(r"total capacity of ([\d.]+) ([GMK])iB")
_OLD = re.compile(
    r"; ([\d.]+) ([GMK])iB total capacity;.*?; ([\d.]+) ([GMK])iB free; "
    r"([\d.]+) ([GMK])iB reserved in total by PyTorch"
)
"""The message of PyTorch before 2.1, which names no other process: memory that it does not account for is
others'.
"""
_UNITS = {"K": 1 / 1024 / 1024, "M": 1 / 1024, "G": 1.0}
_SHARE = 0.05
"""A share of the device's memory; a bare context or a desktop holds less, and leaves room for any model."""
_LEAST = 1.0
_OWN = 2.0
"""In GiB: what a process may hold besides PyTorch's memory, for its context and libraries' workspaces."""


def _matters(said: str) -> bool:
    """Return whether the other processes hold enough memory to have caused the error."""
    held = sum(float(amount) * _UNITS[unit] for amount, unit in _HELD.findall(said))
    total = _TOTAL.search(said)
    least = _SHARE * float(total[1]) * _UNITS[total[2]] if total is not None else _LEAST
    return held >= max(least, _LEAST) or "used by other processes" in said


def _elsewhere(said: str) -> bool:
    """Return whether too much memory is unaccounted for, in an error that names no other process."""
    found = _OLD.search(said)
    if found is None:
        return False
    total, free, reserved = (float(found[n]) * _UNITS[found[n + 1]] for n in (1, 3, 5))
    return total - free - reserved >= max(_SHARE * total, _OWN)


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if more than one process holds memory of the device."""
    found = sightings(case.log, named(NAME))
    others = {match[0] for sighting in found for match in _OTHER.finditer(sighting.error.said)}
    speakers = {
        (sighting.error.speaker, sighting.error.header)
        for sighting in found
        if sighting.error.speaker.known or sighting.error.header
    }
    named_ones = others and any(_matters(sighting.error.said) for sighting in found)
    if not named_ones and len(speakers) < 2 and not any(_elsewhere(seen.error.said) for seen in found):
        return
    told = telling.story(
        case, named(NAME), "Several processes share a device that has too little memory for all", found
    )
    devices = [device for device in _DEVICES if any(device in seen.error.message for seen in found)]
    yield replace(
        told,
        confidence=Confidence.LIKELY if others else Confidence.POSSIBLE,
        accelerator=_DEVICES[devices[0]] if devices else "cuda",
    )
