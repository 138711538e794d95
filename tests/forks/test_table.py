"""Every row of the table of judgements, in all that read it, and on the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldfork.model.decisions import fork_judgement
from coldfork.model.forking import judgement
from coldfork.model.forking.judgement import KINDS, RULES, Deed, Hold, Judgement, Purpose, held, judge, worst
from coldfork.model.timelines import Departure, How
from coldfork.observe.forking import purposes
from coldfork.observe.forking.holding import Holding
from coldfork.plugins.pytest_plugin import sightings
from coldfork.start import canary, trials
from coldfork.start.evidence import runtimes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "start-policy.md"
THINGS = [*((name, False) for name in KINDS), ("the lock of a module", False), ("threads", True)]


def expected(kind: Hold, purpose: Purpose) -> Judgement:
    if purpose is Purpose.PROGRAM or (kind is Hold.POOL and purpose is Purpose.DATALOADER):
        return Judgement.HARMLESS
    return Judgement.UNKNOWN if kind is Hold.DOUBT else Judgement.BREAKS_IF


@pytest.mark.must_hold
@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize(("name", "doubtful"), THINGS)
def test_a_row_is_the_same_for_everybody(name: str, doubtful: bool, purpose: Purpose) -> None:
    thing = held(name, doubtful=doubtful)
    verdict = judge(thing, purpose)
    assert verdict.judgement is expected(thing.kind, purpose)
    # The guard and decisions.
    holding = Holding(name, "so", "so", doubtful=doubtful)
    reasons = tuple(runtimes.judged([holding], purpose, lambda _: None))
    assert fork_judgement(reasons) is verdict.judgement
    assert [(one.condition, one.watched) for one in reasons] == (
        [] if verdict.judgement is Judgement.HARMLESS else [(verdict.condition, verdict.watched)]
    )
    # The canary, whose child is a plain one that has nothing to try here.
    if purpose is Purpose.PLAIN:
        assert canary.expected([holding], []) == reasons
    # A recording, and the pytest plugin.
    going = Departure(0.0, How.FORK, "fork", 1, None, (), (), 1, purpose, (thing,))
    assert going.verdicts == {name: verdict}
    fork = sightings.fork(
        {
            "states": [],
            "thread": "MainThread",
            "stack": [],
            "purpose": purpose.value,
            "holds": [holding.as_object()],
        }
    )
    assert fork.verdicts == {name: verdict}


def test_what_the_child_is_known_to_do_decides() -> None:
    thing = held("cuda")
    deed = Deed("its function", "torch.zeros", (("/p/run.py", 3, "main"), ("/p/work.py", 12, "work")))
    certain = judge(thing, Purpose.PROCESS, {"cuda": deed})
    assert certain.judgement is Judgement.BREAKS
    assert certain.condition == "it fails, because its function touches cuda (/p/work.py:12)"
    assert judge(thing, Purpose.PROCESS, {"polars": deed}).judgement is Judgement.BREAKS_IF
    assert judge(thing, Purpose.PROGRAM, {"cuda": deed}).judgement is Judgement.HARMLESS
    assert judge(thing, Purpose.PREEXEC).watched is False
    assert judge(thing, Purpose.PLAIN).watched is True


def test_a_deed_is_the_same_for_everybody() -> None:
    deed = Deed("its function", "torch.zeros", (("/p/work.py", 12, "work"),))
    verdict = judge(held("cuda"), Purpose.PROCESS, {"cuda": deed})
    (reason,) = runtimes.judged(
        [Holding("cuda", "so", "so")], Purpose.PROCESS, lambda _: None, {"cuda": deed}
    )
    assert (reason.judgement, reason.condition) == (verdict.judgement, verdict.condition)
    assert ("touched in", "/p/work.py:12 work") in reason.evidence
    thing = held("cuda")
    going = Departure(0.0, How.FORK, "fork", 1, None, (), (), 1, Purpose.PROCESS, (thing,), {"cuda": deed})
    assert going.verdicts == {"cuda": verdict}
    fork = sightings.fork(
        {
            "states": [],
            "thread": "MainThread",
            "stack": [],
            "purpose": "process",
            "holds": [{"name": "cuda", "code": "so", "doubtful": False}],
            "does": {"cuda": deed.as_object()},
        }
    )
    assert fork.verdicts == {"cuda": verdict}


UNTRIED = {"grpc", "grpc-channels"}
"""What the canary has no trial for: it would need somebody to call."""


@pytest.mark.must_hold
@pytest.mark.parametrize("name", KINDS)
def test_what_the_canary_tries_is_what_the_table_says_a_child_does(name: str) -> None:
    known = [(what, about) for *_, what, _, about in (*trials._RUNTIMES, *trials._DEVICES)]
    known += [("a parallel region", trials._POOL), ("a parallel loop of numba", ("numba",))]
    todo = [trials.Trial(what, int, about) for what, about in known]
    fitting = [trial for trial in todo if name in trial.about]
    assert bool(fitting) == (name not in UNTRIED)
    (reason,) = canary.expected([Holding(name, "so", "so")], todo)
    if not fitting:
        assert reason.judgement is Judgement.BREAKS_IF
        return
    deed = Deed("the canary", fitting[0].name, ())
    verdict = judge(held(name), Purpose.PLAIN, {name: deed})
    assert (reason.judgement, reason.condition) == (Judgement.BREAKS, verdict.condition)


def test_the_worst_of_several_counts() -> None:
    order = [Judgement.HARMLESS, Judgement.UNKNOWN, Judgement.BREAKS_IF, Judgement.BREAKS]
    for number, one in enumerate(order):
        assert worst(order[: number + 1]) is one
    assert worst([]) is Judgement.HARMLESS


def test_observers_and_judges_have_the_same_purposes() -> None:
    observed = {value for name, value in vars(purposes).items() if name.isupper() and isinstance(value, str)}
    assert observed == set(Purpose)
    assert set(purposes.WORKERS.values()) <= set(Purpose)


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \| (yes|no) \|$", text, re.MULTILINE)
    shown = [(act, fate, seen == "yes") for _, act, fate, seen in rows]
    assert shown == [(rule.act.replace("{name}", "it"), rule.fate, rule.watched) for rule in RULES.values()]
    for name, kind in KINDS.items():
        place = list(RULES).index(kind)
        assert name.partition("-")[0] in rows[place][0].lower().replace("gnu ", ""), (name, rows[place])
    assert judgement.__doc__ is not None
