"""A device was used in a process that was forked from one in which it was awake.

## How it is told

By the error that PyTorch raises in the child for CUDA, XPU and MTIA, and its extensions for NPU, HPU and
others: `Cannot re-initialize CUDA in forked subprocess`. Several workers that fail alike are one story.

The traceback ends in the worker's own line. It usually does not show what woke the device, which happened
earlier, in the parent. The culprit is, in this order: what a recording or a note of coldfork's in the log
names; the line of a module or class body that an import in the child was running, because it wakes the device
in every process that imports it; the one cause that `coldfork check` is certain of, in the sources that the
log names. Otherwise it is the line of the child that used the device, and there may be suspects with their
chains.

## What else it could be

Nothing: only a forked process gets this error. The error alone does not show whether an import or the
parent's own work woke the device.

## Reproduced

By `examples/broken_engine` on the virtual device, with Python 3.11 and PyTorch 2.13.0. XPU, MTIA and NPU: by
the text of `torch/xpu/__init__.py:354`, `torch/mtia/__init__.py:101` (2.13.0) and
`torch_npu/npu/__init__.py`, not reproduced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case, Waking
from coldfork.diagnose.frameworks import FRAMEWORKS
from coldfork.diagnose.logs.records import LoggedError
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting, sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Blame, Evidence, Participant, Place, Story, Suspect

NAME = "cuda-in-forked-child"
_BARE = (
    r"Cannot re-initialize (?:CUDA|XPU|MTIA|NPU|HPU|MUSA) in forked subprocess\. To use "
    r"(?:CUDA|XPU|MTIA|NPU|HPU|MUSA) with "
    r"multiprocessing, you must use"
)
_DEVICE = re.compile(r"re-?\s*initialize\s*([A-Z]+)")


def tell(case: Case) -> Iterator[Story]:
    """Yield one story for each kind of device."""
    found = sightings(case.log, named(NAME), bare=_BARE)
    for device in sorted({_device(sighting) for sighting in found}):
        yield _story(case, device, [sighting for sighting in found if _device(sighting) == device])


def _device(sighting: Sighting) -> str:
    said = "".join(sighting.error.said.split())
    match = _DEVICE.search(said)
    return match[1] if match else "CUDA"


def _story(case: Case, device: str, found: Sequence[Sighting]) -> Story:
    errors = [sighting.error for sighting in found][: telling.MOST_ERRORS]
    title = f"{device} was used in a process forked from one in which it was awake"
    told = telling.story(case, named(NAME), title, found)
    processes = telling.as_children(told.processes, "fork")
    fork = case.fork or _fork_in(case)
    if fork is not None:
        processes = tuple(replace(process, fork=process.fork or fork) for process in processes)
    at_import = _import_site(errors)
    culprit, cause, suspects, seen = _judged(case, errors, at_import)
    blame = Blame.CAUSE if culprit is not None else Blame.MET
    return replace(
        told,
        accelerator=_ACCELERATORS.get(device, device.lower()),
        processes=processes,
        culprit=culprit or told.culprit,
        suspects=suspects,
        cause=f"{told.cause} {cause}",
        evidence=tuple(sorted({*told.evidence, *seen}, key=lambda line: line.line)),
        remedies=_remedies(told.remedies, processes, of_import=blame is Blame.CAUSE or bool(suspects)),
        next=_next(culprit, suspects, blame),
        blame=blame,
    )


_ACCELERATORS = {"CUDA": "cuda", "XPU": "xpu"}


def _fork_in(case: Case) -> Place | None:
    """Return the line that started a process, if an error of the parent shows it in the log."""
    for error in case.log.errors:
        call = stacks.starting_call(error.frames)
        if call is not None:
            return telling.place(call, error.frames)
    return None


def _import_site(errors: Sequence[LoggedError]) -> Place | None:
    for error in errors:
        site = stacks.import_site(error.frames)
        if site is not None:
            return telling.place(site, error.frames)
    return None


_Judgement = tuple[Place | None, str, tuple[Suspect, ...], tuple[Evidence, ...]]


def _told_by(waking: Waking, case: Case) -> _Judgement:
    """Return the judgement that follows from an observed wake."""
    source = "A recording" if waking.line_number is None else "coldfork's note in the log"
    lines = [line for line in case.log.lines if line.number == waking.line_number]
    seen = tuple(Evidence(case.log.name, line.number, line.text.strip()) for line in lines)
    chain = (Suspect(waking.place, f"{source} names it", waking.chain),) if waking.chain else ()
    return _lined(waking.place, case), f"{source} names what woke it in the parent.", chain, seen


def _judged(case: Case, errors: Sequence[LoggedError], at_import: Place | None) -> _Judgement:
    """Return the line to blame, a sentence on how it was found, the suspects and the evidence."""
    for waking in case.wakings:
        return _told_by(waking, case)
    suspects = case.search([frame.path for error in errors for frame in error.frames])
    if at_import is not None:
        sentence = (
            "The child died in an import: that line wakes the device in every process that imports it. "
            "This log does not show what had woken it in the parent before the fork."
        )
        return at_import, sentence, suspects, ()
    certain = [suspect for suspect in suspects if suspect.reason.startswith("certain")]
    if len(certain) == 1:
        sentence = (
            "The child only used it; in the sources, one line wakes it in every process that imports "
            "its module."
        )
        return certain[0].place, sentence, suspects, ()
    sentence = "The child only used it: this log does not show what had woken it in the parent."
    return None, sentence, suspects, ()


def _lined(place: Place, case: Case) -> Place:
    """Return the place with its line number; if that is unknown, a search of the sources supplies it."""
    if place.line is not None:
        return place
    found = (s.place for s in case.search([place.path]) if f"/{place.path}".endswith(f"/{s.place.path}"))
    other = next(found, None)
    return place if other is None else replace(other, path=place.path)


def _remedies(
    remedies: Sequence[str], processes: Sequence[Participant], *, of_import: bool
) -> tuple[str, ...]:
    """Return the remedies, with that of the framework that forked; after an import, lazy use comes first."""
    names = {process.framework for process in processes}
    own = [known.remedy for known in FRAMEWORKS if known.name in names and known.remedy]
    lazily, spawn, *others = remedies
    spawn = " ".join([spawn, *own[:1]])
    return (lazily, spawn, *others) if of_import else (spawn, lazily, *others)


def _next(culprit: Place | None, suspects: Sequence[Suspect], blame: Blame) -> str:
    if (culprit is None or blame is Blame.MET) and not suspects:
        return "coldfork run --follow PROGRAM"
    return "coldfork rule device-init-at-import"
