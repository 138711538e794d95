"""unreadable-source: what importing the file does is unknown, and that is said."""

from __future__ import annotations

from collections.abc import Callable

from inline_snapshot import snapshot

from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation, Unreadable
from coldfork.rules.registry import judge

MakeObservation = Callable[..., Observation]
Say = Callable[[Finding], str]


def test_says_why_and_that_nothing_is_known(observation: MakeObservation, said: Say) -> None:
    broken = Unreadable("engine/__init__.py", 3, 5, "Python 2 source: print is a statement")
    (finding,) = judge(observation(unreadable=(broken,)))
    assert said(finding) == snapshot("""\
warning[unreadable-source] this file could not be analysed: Python 2 source: print is a
  statement

what importing it does is unknown
fix the file, or list it under `exclude` in [tool.coldfork] if it is not source code\
""")
    assert (finding.module, finding.line, finding.column) == ("engine", 3, 5)


def test_is_possible_because_the_file_may_wake_a_device(observation: MakeObservation) -> None:
    (finding,) = judge(observation(unreadable=(Unreadable("a.py", 1, 0, "NUL byte"),)))
    assert finding.verdict is Verdict.POSSIBLE


def test_files_of_dependencies_are_not_the_users_to_mend(observation: MakeObservation) -> None:
    assert judge(observation(unreadable=(Unreadable("torch/x.py", 1, 0, "NUL byte", own=False),))) == ()
