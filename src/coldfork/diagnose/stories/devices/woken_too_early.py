"""A driver was initialised before the program had configured it, or its initialisation failed for good.

## How it is told

By the errors of frameworks that still have something to set: TensorFlow's `Visible devices cannot be modified
after being initialized`, JAX's `config should be updated before backends are initialized` and
`jax.distributed.initialize() must be called before`, and the refusals of Lightning and accelerate to fork
because CUDA is initialised. The line on the stack came too late; the line that woke the device came before
it, and is the culprit only if a recording, a note of coldfork's or the sources name it.

PyTorch's `CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env
variable CUDA_VISIBLE_DEVICES after program start` says less. It is told as likely if an import made the
failing call, and as possible anywhere else.

## What else it could be

For `CUDA unknown error`: a driver that works for no process on this machine, because its module `nvidia_uvm`
is not loaded or a container sees only part of its files.

## Reproduced

JAX's two by programs that compute first, with JAX 0.10 on the CPU. The others are not reproduced; their texts
are those of `tensorflow/python/eager/context.py:1951`, `:1999` and `:2053` (2.19.0),
`lightning/fabric/strategies/launchers/multiprocessing.py:202` (2.6.0), `accelerate/launchers.py:181` and
`:248` (1.6.0), and `c10/cuda/CUDAFunctions.cpp:109` of PyTorch 2.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting, sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Blame, Confidence, Place, Story, Suspect

NAME = "woken-too-early"
_BARE = r"(?:Physical|Virtual|Visible) devices cannot be modified after being initialized"
_UNKNOWN = "CUDA unknown error"
_OTHERS = (
    (
        "a driver that works for no process on this machine: `nvidia_uvm` is not loaded, or a container "
        "lacks its files"
    ),
)


def tell(case: Case) -> Iterator[Story]:
    """Yield a story if a setting came after the initialisation, and one if the initialisation failed."""
    found = [seen for seen in sightings(case.log, named(NAME), bare=_BARE) if _is_of_kind(seen)]
    late = [sighting for sighting in found if not _is_unknown(sighting)]
    failed = [sighting for sighting in found if _is_unknown(sighting)]
    if late:
        title = "A device was initialised before the program had configured it"
        yield _blamed(case, late, telling.story(case, named(NAME), title, late))
    if failed:
        title = "CUDA failed to initialise, and stays broken until the process ends"
        told = _blamed(case, failed, telling.story(case, named(NAME), title, failed))
        sure = Confidence.LIKELY if told.blame is Blame.CAUSE else Confidence.POSSIBLE
        yield replace(told, confidence=sure, alternatives=_OTHERS, accelerator="cuda")


def _is_of_kind(sighting: Sighting) -> bool:
    """Return whether the error is a framework's; a plain ValueError must have accelerate's words."""
    return sighting.error.kind != "ValueError" or "avoid running any instruction" in sighting.error.said


def _is_unknown(sighting: Sighting) -> bool:
    return _UNKNOWN in sighting.error.message


def _blamed(case: Case, found: Sequence[Sighting], told: Story) -> Story:
    """Return the story with the line that woke the device or, if that is unknown, the line that came too
    late.
    """
    suspects = () if case.wakings else _suspects(case, found)
    culprit = _culprit(case, found, suspects)
    if culprit is not None:
        return replace(told, culprit=culprit, suspects=suspects)
    late = telling.asker([sighting.error for sighting in found])
    return replace(told, culprit=late, suspects=suspects, blame=Blame.MET)


def _suspects(case: Case, found: Sequence[Sighting]) -> tuple[Suspect, ...]:
    return case.search([frame.path for sighting in found for frame in sighting.error.frames])


def _culprit(case: Case, found: Sequence[Sighting], suspects: Sequence[Suspect]) -> Place | None:
    if case.wakings:
        return case.wakings[0].place
    for sighting in found:
        site = stacks.import_site(sighting.error.frames) if _is_unknown(sighting) else None
        if site is not None:
            return telling.place(site, sighting.error.frames)
    certain = [suspect for suspect in suspects if suspect.reason.startswith("certain")]
    if len(certain) == 1:
        return certain[0].place
    return None
