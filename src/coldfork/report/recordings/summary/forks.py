"""What became of the processes that were forked while something was held: judged before, and seen after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from coldfork.model.forking.judgement import Judgement
from coldfork.model.timelines import TOUCHES, Departure, How, Process
from coldfork.report.recordings.summary import phrases


def judgements(processes: Sequence[Process]) -> Mapping[int, Departure]:
    """For each forked process, by its number, the fork that it came from."""
    return {
        going.child: going
        for process in processes
        for going in process.departures
        if going.how is How.FORK and going.child is not None
    }


def is_harmed(process: Process, accelerator: str, fork: Departure | None) -> bool:
    """Whether a process that was forked with an accelerator awake is known to suffer from it.

    It is, if it touched it, or was judged to be broken. Where an older recording does not say what it was
    forked for, what it then did is not known, and it counts.
    """
    if accelerator in _touched(process) or fork is None or fork.purpose is None:
        return True
    verdict = fork.verdicts.get(accelerator)
    return verdict is not None and verdict.judgement is Judgement.BREAKS


def notes(processes: Sequence[Process]) -> Iterator[str]:
    """The forks whose child breaks if it does something that it was not seen to do, one sentence a kind."""
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
        seen = "and was not seen to" if watched else "and nothing in the child can see that"
        yield f"{phrases.processes(count)} {phrases.was(count)} forked with {name}: {condition}, {seen}"


def _touched(process: Process) -> set[str]:
    return {happening.what for happening in process.happenings if happening.kind == TOUCHES}
