"""What captured code finds in an object, a class or an enumeration, and which calls are first runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.capturing import check
from tests.source.test_captured_calls import reported

pytestmark = pytest.mark.once

ENGINE = """import enum

import torch

class Model:
    pass

class Engine:
    flag = False

    def __init__(self, model: Model, own=False):
        self.model = model
        self.y = torch.zeros(4)
        self.twice = torch.cuda.Event()
        self.twice = make()
        self.changed = torch.cuda.Event()
        self.ready = torch.cuda.Event()
        if own:
            self.event = torch.cuda.Event()

    def change(self):
        self.changed = None

    def capture(self):
        made = Engine(Model())
        wait = torch.cuda.synchronize
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            {statement}

class Plain(torch.nn.Module):
    OFF = 0
    ON = 1

class Mode(enum.Enum):
    OFF = 0
    ON = 1


"""
STATEMENT = 1 + ENGINE[: ENGINE.index("{statement}")].count("\n")


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("self.y.item()", "conditional"),
        ("self.unheard.item()", "possible"),
        ("self.ready.synchronize()", "conditional"),
        ("self.twice.synchronize()", None),
        ("self.changed.synchronize()", None),
        ("self.unheard.synchronize()", None),
        ("self.model.item()", None),
        ("made.ready.synchronize()", "conditional"),
        ("made.event.synchronize()", None),
        ("made.y.item()", "conditional"),
        ("if self.flag: wait()", "conditional"),
        ("if made.flag: wait()", None),
        ("if not made.flag: wait()", "certain"),
    ],
)
def test_what_a_constructor_leaves_in_an_attribute(
    statement: str, wanted: str | None, tmp_path: Path
) -> None:
    told = reported(ENGINE.format(statement=statement), tmp_path)
    assert told == ({STATEMENT: wanted} if wanted is not None else {})


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("Plain.OFF", None),
        ("Plain.ON", "certain"),
        ("Plain.OFF == 0", "certain"),
        ("Mode.OFF", "conditional"),
        ("Mode.ON", "conditional"),
        ("Mode.OFF == 0", "conditional"),
        ("Mode.OFF is Mode.OFF", "certain"),
        ("Mode.OFF is Mode.ON", None),
    ],
)
def test_members_of_an_enumeration_are_not_their_values(
    test: str, wanted: str | None, tmp_path: Path
) -> None:
    told = reported(ENGINE.format(statement=f"if {test}: wait()"), tmp_path)
    assert told == ({STATEMENT: wanted} if wanted is not None else {})


COLD = "# expect: capture-before-warmup"

#: What runs before the capture of `inner(x)`, and whether that warms `inner` up.
WARM_UPS = {
    "inner(x)": True,
    "outer(x)": True,
    "pass": False,
    "other(x)": False,
    "elsewhere(x)": False,
    "print(other)": False,
    "print(inner)": False,
    "warm_up(inner)": True,
    "warm_up(other)": False,
}


@pytest.mark.parametrize("before", WARM_UPS)
def test_a_function_is_warm_when_it_ran_itself(before: str, tmp_path: Path) -> None:
    comment = "" if WARM_UPS[before] else COLD
    check(
        f"""
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def elsewhere(x):
    return x + 1

def capture(x: torch.Tensor):
    model = Model()

    def inner(x):
        return model(x)

    def other(x):
        return x * 3

    def outer(x):
        return inner(x)

    {before}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):  {comment}
        inner(x)
""",
        tmp_path,
    )
