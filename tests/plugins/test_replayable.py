"""The fixture with which a suite asks about its graphs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.plugins.conftest import Run

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="graphs are torch's")

ENGINE = """
    import torch

    x = torch.zeros(4)
    plans = {}


    def planned(key):
        if key not in plans:
            plans[key] = x.cumsum(0)
        return plans[key]


    def create(key_of):
        def create_forward(descriptor, phase):
            return (lambda mode: x + planned(key_of(phase))), None

        return create_forward
"""

TEST = """
    from coldfork.graphs import BatchDescriptor, Mode
    from engine import create, x

    SIZES = [BatchDescriptor(Mode.FULL, 4)]


    def test_own_state(assert_replayable):
        assert_replayable(lambda descriptor, phase: ((lambda mode: x + x.cumsum(0)), None), SIZES,
                          inputs=lambda one: {"x": x})


    def test_shared_state(assert_replayable):
        assert_replayable(create(lambda phase: 0), SIZES, inputs=lambda one: {"x": x})
"""


def test_a_suite_fails_where_a_graph_takes_over_its_warm_up(suite: Run) -> None:
    ended = suite({"engine.py": ENGINE, "test_it.py": TEST})
    assert (ended.status, ended.outcomes) == (1, "1 failed, 1 passed"), ended.text
    assert "not replayable: FULL tokens=4: a replay would not do what an eager run does" in ended.text
    assert "engine.py" in ended.text
