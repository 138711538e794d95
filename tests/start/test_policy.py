"""The policy by itself: every combination of what may speak against the three methods."""

from __future__ import annotations

import itertools

import pytest

from coldfork.model.decisions import EVERY, Reason, Weight
from coldfork.start.policy import decided

NONE, CIRCUMSTANCE, DOUBT, HARM = None, Weight.CIRCUMSTANCE, Weight.DOUBT, Weight.HARM
ANY = (NONE, CIRCUMSTANCE, DOUBT, HARM)

# What speaks against fork, spawn and forkserver, and what is chosen. The first row that fits counts.
TABLE: tuple[
    tuple[tuple[Weight | None, ...], tuple[Weight | None, ...], tuple[Weight | None, ...], str], ...
] = (
    ((NONE,), ANY, ANY, "fork"),
    ((CIRCUMSTANCE,), (HARM,), (HARM,), "fork"),
    (ANY, ANY, (NONE,), "forkserver"),
    (ANY, ANY, ANY, "spawn"),
)


def reason(method: str, weight: Weight | None) -> tuple[Reason, ...]:
    return () if weight is None else (Reason(f"some-{method}", f"of {method}", method, weight),)


def expected(*weights: Weight | None) -> str:
    for *row, method in TABLE:
        if all(weight in allowed for weight, allowed in zip(weights, row, strict=True)):
            return str(method)
    raise AssertionError(weights)


@pytest.mark.must_hold
@pytest.mark.parametrize("others", [(), (Reason("daemon", "of all", EVERY, HARM),)], ids=["", "daemon"])
def test_every_combination_of_weights(others: tuple[Reason, ...]) -> None:
    seen = set()
    for fork, spawn, forkserver in itertools.product(ANY, repeat=3):
        reasons = (*reason("fork", fork), *reason("spawn", spawn), *reason("forkserver", forkserver), *others)
        decision = decided(reasons)
        assert decision.method == expected(fork, spawn, forkserver), (fork, spawn, forkserver)
        assert decision.reasons == reasons
        seen.add(decision.method)
    assert seen == {"fork", "spawn", "forkserver"}


def test_two_reasons_weigh_as_much_as_the_heavier() -> None:
    light, heavy = Reason("a", "a", weight=CIRCUMSTANCE), Reason("b", "b", weight=DOUBT)
    unreachable = tuple(Reason("c", "c", method, HARM) for method in ("spawn", "forkserver"))
    assert decided((light, *unreachable)).method == "fork"
    assert decided((light, heavy, *unreachable)).method == "spawn"


def test_the_line_says_what_was_chosen_and_why() -> None:
    against = (Reason("a", "cuda is awake"), Reason("b", "cuda is awake"), Reason("c", "this is WSL"))
    cannot = tuple(Reason("d", "it is a lambda", method, HARM) for method in ("spawn", "forkserver"))
    server = Reason("e", "its server is old", "forkserver", CIRCUMSTANCE)
    said = {
        "nothing": decided(()),
        "target": decided((), target="package.work"),
        "spawn": decided((*against, server)),
        "forkserver": decided(against),
        "reluctant": decided((Reason("c", "this is WSL", weight=CIRCUMSTANCE), *cannot)),
    }
    assert {name: str(decision) for name, decision in said.items()} == {
        "nothing": "fork, because nothing speaks against it",
        "target": "fork for package.work, because nothing speaks against it",
        "spawn": "spawn, because cuda is awake; this is WSL",
        "forkserver": "forkserver, because cuda is awake; this is WSL",
        "reluctant": "fork, because the other methods cannot work, although this is WSL",
    }
