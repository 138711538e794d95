"""Forks of processes that held something: the judgement in advance, and what the child was seen to do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from coldfork.model.forking.judgement import Judgement, went_on
from coldfork.model.states import Frame
from coldfork.model.timelines import TOUCHES, Departure, Happening, How, Process
from coldfork.report.recordings.summary import phrases

_FRAMEWORKS = frozenset({"torch", "coldfork", "jax", "cupy", "numba", "pyopencl"})
"""Packages whose lines touch devices, but cannot be mended by the user."""


def judgements(processes: Sequence[Process]) -> Mapping[int, Departure]:
    """Return the fork that created each forked process, with its verdicts, by the process's number."""
    return {
        going.child: going
        for process in processes
        for going in process.departures
        if going.how is How.FORK and going.child is not None
    }


def is_harmed(process: Process, accelerator: str, fork: Departure | None) -> bool:
    """Return whether a process is known to be harmed by an accelerator that was awake when it was
    forked.

    It is harmed if it touched the accelerator and did not recover, or if the fork was judged to break it. An
    older recording may not say what the process was forked for; then it counts as harmed, because its actions
    are unknown.
    """
    if fork is None or fork.purpose is None:
        return True
    if accelerator in _touched(process) and not _went_on(process, accelerator):
        return True
    verdict = fork.verdicts.get(accelerator)
    return verdict is not None and verdict.judgement is Judgement.BREAKS


def notes(processes: Sequence[Process]) -> Iterator[str]:
    """Yield sentences on forks that harmed no process, because the child recovered or did nothing risky."""
    yield from _recoveries(processes)
    yield from _conditions(processes)


def failures(processes: Sequence[Process], accelerator: str) -> Iterator[str]:
    """Yield where children that did not end well touched something unusable."""
    found: defaultdict[str, list[Process]] = defaultdict(list)
    for process in processes:
        if accelerator in _touched(process) and not _went_on(process, accelerator):
            found[_place(process, accelerator)].append(process)
    for place, them in found.items():
        yield f"{accelerator} was touched in {phrases.processes(len(them))} at {place}: {phrases.names(them)}"


def _recoveries(processes: Sequence[Process]) -> Iterator[str]:
    """Yield a sentence for each place where children touched something unusable but carried on."""
    found: defaultdict[tuple[str, str, str], list[Process]] = defaultdict(list)
    for process in processes:
        for name in sorted(_touched(process)):
            if _went_on(process, name):
                found[name, _place(process, name), phrases.ending(process)].append(process)
    for (name, place, ending), them in found.items():
        caught = "caught the error and went on" if len(them) == 1 else "each caught the error and went on"
        yield (
            f"forked with {name}, {phrases.processes(len(them))} touched it at {place}, {caught}: "
            f"{phrases.names(them)} ({ending})"
        )


def _conditions(processes: Sequence[Process]) -> Iterator[str]:
    """Yield a sentence for each kind of fork that breaks a child only if the child does a certain thing."""
    forks = judgements(processes)
    found: Counter[tuple[str, str, bool]] = Counter()
    for process in processes:
        fork = forks.get(process.number)
        if fork is None or process.executed_at is not None:
            continue
        for name, verdict in fork.verdicts.items():
            if verdict.judgement is Judgement.BREAKS_IF and name not in _touched(process):
                found[name, verdict.condition or "", verdict.watched] += 1
    for (name, condition, watched), count in found.items():
        seen = "which was not seen" if watched else "which nothing in the child can detect"
        yield f"{phrases.processes(count)} {phrases.was(count)} forked with {name}: {condition}, {seen}"


def _touches(process: Process) -> list[Happening]:
    return [happening for happening in process.happenings if happening.kind == TOUCHES]


def _touched(process: Process) -> set[str]:
    return {touch.what for touch in _touches(process)}


def _went_on(process: Process, name: str) -> bool:
    """Return whether a process caught every error from a touch, and ended well or is still running."""
    caught = all(touch.leaves is False for touch in _touches(process) if touch.what == name)
    if caught and process.running and not process.ended:
        return True
    return process.ended and went_on(not caught, process.status, process.signal)


def touched(process: Process, name: str) -> bool:
    """Return whether a process touched something that it had inherited and could not use."""
    return name in _touched(process)


def touching_frame(process: Process, name: str) -> Frame | None:
    """Return the first line that touched something unusable; None if no line was recorded."""
    touch = next(touch for touch in _touches(process) if touch.what == name)
    own = [frame for frame in touch.stack if not _FRAMEWORKS.intersection(frame.path.split("/")[:-1])]
    return (own or touch.stack or (None,))[-1]


def _place(process: Process, name: str) -> str:
    return phrases.frame_place(touching_frame(process, name))
