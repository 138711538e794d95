"""`./dev bench warm`: what is measured is real, and each promise is judged by its own figure."""

from __future__ import annotations

import sys

import pytest

from benchmarks import warm
from benchmarks.measure import Spread

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="zygotes are for Linux only"),
]


def starts(method: str, answered: float, caller: float = 0.001) -> warm.Starts:
    spread = Spread.of([answered])
    return warm.Starts(method, spread, spread, Spread.of([caller]), spread)


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"zygote": 0.011}, False),
        ({"forkserver": 0.009}, False),
        ({"caller": 0.006}, False),
        ({"pss": 36.0}, False),
        ({"private": 6.5}, False),
        ({"left": 0.2}, False),
    ],
)
def test_each_promise_is_judged(changes: dict[str, float], kept: bool) -> None:
    figures = {
        "zygote": 0.010,
        "forkserver": 0.012,
        "caller": 0.001,
        "pss": 30.0,
        "private": 5.0,
        "left": 0.05,
    }
    figures |= changes
    methods = [
        starts("zygote", figures["zygote"], figures["caller"]),
        starts("forkserver", figures["forkserver"]),
        starts("spawn", 1.0),
    ]
    memory = warm.Memory("zygote", figures["pss"], figures["private"])
    assert warm.judged(methods, memory, Spread.of([figures["left"]])) is kept


def test_workers_of_each_method_are_measured() -> None:
    ready, measured, memory = warm.measured(1, ["decimal"])
    assert ready > 0
    assert [each.method for each in measured] == ["zygote", "forkserver", "spawn"]
    assert all(0 < each.returned.median <= each.answered.median for each in measured)
    assert [each.method for each in memory] == ["zygote", "forkserver"]
    assert all(0 < each.private <= each.pss for each in memory)
    assert warm.left_after_death(["decimal"]) > 0


def test_of_another_environment_the_starts_alone_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    methods = [starts("zygote", 0.01), starts("forkserver", 0.012), starts("spawn", 5.0)]
    assert warm.promised(warm.started(methods))
    assert not warm.promised(warm.started([starts("zygote", 0.06), *methods[1:]]))
    assert "500 times faster than spawn; promised: 100: kept" in capsys.readouterr().out
