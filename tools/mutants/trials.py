"""One change put to the tests that run its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mutants.operators import Mutant
from mutants.recording import Test
from mutants.workers import Worker

#: How many tests the first run of a change holds: most changes are noticed by one of these.
_FIRST = 25
#: A test may take this many times as long as it took, and some seconds, before it counts as hanging.
_TIMES, _SECONDS = 10.0, 15.0


class Outcome(StrEnum):
    """The fate of a change."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NOT_RUN = "not run"
    """No test runs the line."""


#: How a test ends that notices a change.
_NOTICED = {"failed": Outcome.KILLED, "timeout": Outcome.TIMED_OUT}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A change, and what the tests said."""

    mutant: Mutant
    outcome: Outcome
    by: str
    """The test that noticed."""
    ran: int
    touching: int
    """How many tests run the line; more than were run when their time was used up."""
    seconds: float

    @property
    def survived(self) -> bool:
        """True when no test noticed."""
        return self.outcome in (Outcome.SURVIVED, Outcome.NOT_RUN)


def touching(mutant: Mutant, tests: Iterable[Test]) -> list[Test]:
    """The tests that run a statement, the fastest first; for one that runs at import, those of its module."""
    found = [
        test
        for test in tests
        if (ran := test.lines.get(mutant.path)) and (mutant.loaded or mutant.statement in ran)
    ]
    return sorted(found, key=lambda test: (test.seconds, test.id))


def affordable(tests: Sequence[Test], budget: float) -> list[Test]:
    """As many tests as a budget of seconds lets run."""
    chosen: list[Test] = []
    spent = 0.0
    for test in tests:
        spent += test.seconds
        if spent > budget and chosen:
            break
        chosen.append(test)
    return chosen


def batches(tests: Sequence[Test]) -> Iterator[Sequence[Test]]:
    """A few quick tests, then all others."""
    yield tests[:_FIRST]
    if len(tests) > _FIRST:
        yield tests[_FIRST:]


def put(mutant: Mutant, tests: Sequence[Test], worker: Worker, budget: float) -> Verdict:
    """Make a change in a worker's copy, and run tests until one fails."""
    relevant = touching(mutant, tests)
    chosen = affordable(relevant, budget)
    ran, spent = 0, 0.0
    if not chosen:
        return Verdict(mutant, Outcome.NOT_RUN, "", 0, 0, 0.0)
    limits = {test.id: test.seconds * _TIMES + _SECONDS for test in chosen}
    with worker.copy.changed(mutant):
        for batch in batches(chosen):
            files = list(dict.fromkeys(test.file for test in batch))
            ids = [test.id for test in batch]
            endings = list(worker.run(files, ids, limits=limits, stop=True))
            ran, spent = ran + len(endings), spent + sum(ended.seconds for ended in endings)
            noticed = next((ended for ended in endings if ended.outcome in _NOTICED), None)
            if noticed is not None:
                return Verdict(mutant, _NOTICED[noticed.outcome], noticed.test, ran, len(relevant), spent)
    return Verdict(mutant, Outcome.SURVIVED, "", ran, len(relevant), spent)
