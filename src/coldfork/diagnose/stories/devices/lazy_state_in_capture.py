"""Something lazily initialised is missing from a CUDA graph, or was first used in its capture.

## How it is told

By coldfork's own words about such a graph: a `LeakError` of `coldfork.graphs`, or virtual capture's report of
poison. By PyTorch's errors about a random generator in the wrong state. By `CUBLAS_STATUS_NOT_INITIALIZED`,
if the stack or the rest of the log shows a capture, and by an illegal memory access, if the stack shows a
replay; otherwise both mean something else, and no story is told.

A replay that returns garbage writes no error at all. `coldfork check` finds the mistake in the source, and
`coldfork.graphs.check` on the CPU.

## What else it could be

For cuBLAS: a device whose memory is full, because cuBLAS needs some for its workspace. For a generator: an
earlier capture that broke off; its error is further up in the log. For an illegal access: a kernel with a bug
of its own.

## Reproduced

The `LeakError` by programs whose backend keeps its plan (`examples/speculative_decoding` has one), and poison
by a captured region that reads memory that nothing filled, with PyTorch 2.13.0 on virtual capture. The others
are not reproduced; their texts are those of `aten/src/ATen/cuda/CUDAGeneratorImpl.cpp` (PyTorch's commit
03e68c4b), of pytorch/pytorch#99397 and of `cudaGetErrorString` (CUDA 12).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.logs.records import LogFrame, LoggedError
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting, sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Confidence, Place, Story

NAME = "lazy-state-in-capture"
_POISON = r"aten::[\w.]+ at \S+?:\d+ reads memory that"
_LEAKS = ("LeakError", "LeakWarning")
_CUBLAS = "CUBLAS_STATUS_NOT_INITIALIZED"
_ILLEGAL = "illegal memory access"
_BROKE_OFF = "previous error during capture"
_CAPTURES = re.compile(r"capture|make_graphed_callables", re.IGNORECASE)
_GRAPHS = re.compile(r"torch/cuda/graphs\.py$|cuda_?graph", re.IGNORECASE)
_LEFT = re.compile(r"(?:left there by|read at) (?P<path>\S.*?):(?P<line>\d+)(?: in \S+)?")
_POISONED = re.compile(r"^(?P<call>aten::[\w.]+) at (?P<path>\S.*?):(?P<line>\d+) reads memory that")
_OTHERS = {
    _CUBLAS: "a device whose memory is full: cuBLAS needs some for its workspace",
    "Offset increment": "a consequence of an earlier capture that failed with its own error",
    _ILLEGAL: "a bug in a kernel",
}


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log shows that a graph was captured or replayed."""
    found = [
        seen for seen in sightings(case.log, named(NAME), bare=_POISON) if _is_of_a_graph(case, seen.error)
    ]
    if not found:
        return
    ended = [Sighting(error, True) for error in case.log.errors if _BROKE_OFF in error.message]
    title = "Something lazily initialised is missing from a CUDA graph, or was first used in its capture"
    told = telling.story(case, named(NAME), title, (*found, *ended))
    yield replace(
        told,
        confidence=_confidence(found, ended),
        culprit=_culprit([seen.error for seen in found]) or told.culprit,
        alternatives=tuple(
            other for sign, other in _OTHERS.items() if any(sign in seen.error.said for seen in found)
        ),
    )


def is_first_use(case: Case) -> bool:
    """Return whether the capture in this log failed because something was first used during it."""
    return any(_CUBLAS in error.message and _is_of_a_graph(case, error) for error in case.log.errors)


def _is_of_a_graph(case: Case, error: LoggedError) -> bool:
    if _CUBLAS in error.said:
        broke_off = any(_BROKE_OFF in other.message for other in case.log.errors)
        return broke_off or any(map(_captures, error.frames))
    if _ILLEGAL in error.said:
        return any(frame.function == "replay" for frame in error.frames)
    return True


def _captures(frame: LogFrame) -> bool:
    return _CAPTURES.search(frame.function) is not None or _GRAPHS.search(stacks.joined(frame)) is not None


def _confidence(found: Sequence[Sighting], ended: Sequence[Sighting]) -> Confidence:
    """Return the confidence, which is certain only with a message of coldfork or a failed capture."""
    seen = [sighting.error for sighting in found]
    if any(error.kind in _LEAKS or _POISONED.match(error.message) for error in seen):
        return Confidence.CERTAIN
    if ended and any(_CUBLAS in error.message for error in seen):
        return Confidence.CERTAIN
    return Confidence.POSSIBLE if all(_ILLEGAL in error.said for error in seen) else Confidence.LIKELY


def _culprit(errors: Sequence[LoggedError]) -> Place | None:
    """Return the line that coldfork's message blames: the one that left the state or, failing that, one that
    read it.
    """
    for error in errors:
        poisoned = _POISONED.match(error.message)
        if poisoned is not None:
            return Place(poisoned["path"], int(poisoned["line"]), poisoned["call"])
        if error.kind in _LEAKS:
            named_by = sorted(
                (line for line in error.following if _LEFT.match(line)), key=lambda line: line[:4] != "left"
            )
            left = _LEFT.match(named_by[0]) if named_by else None
            return Place(left["path"], int(left["line"])) if left else None
    return None
