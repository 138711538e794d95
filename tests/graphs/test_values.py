"""The values that a forward function can reach, by path, and the changes that a run makes there."""

from __future__ import annotations

import asyncio
import inspect
import logging
import multiprocessing
import sys
import threading
from collections import UserDict
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from coldfork.graphs.leaks.reachable_values import is_leaf, roots_of, spots
from coldfork.graphs.leaks.value_changes import Calls, Snapshot
from tests.graphs.engine import torch


class Pair(NamedTuple):
    left: Any
    right: Any


class Slotted:
    __slots__ = ("__weakref__", "empty", "shown")

    def __init__(self) -> None:
        self.shown = 1
        self.empty = None


class Derived(Slotted):
    __slots__ = "own"  # noqa: PLC0205 (a slot by itself)

    def __init__(self) -> None:
        super().__init__()
        self.own = 2


class Layer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("scale", torch.ones(2))
        self.register_parameter("bias", None)
        self.inner = torch.nn.Identity()
        self.ready = False


SEEN_GLOBALLY = {"layers": 2}


class Runner:
    def __init__(self) -> None:
        self.scale = 2

    def method(self) -> Any:
        return SEEN_GLOBALLY, len, torch

    def __call__(self) -> Any:
        return SEEN_GLOBALLY


RUNNER = Runner()


def of(state: Any) -> list[str]:
    return [spot.path for spot in spots({"": state})]


def closed_over(value: Any) -> Callable[..., Any]:
    def function() -> Any:
        return value

    return function


def unbound() -> Callable[[], Any]:
    later = 1

    def function() -> Any:
        return later  # noqa: F821 (asked before it is bound, as in a recursive definition)

    del later
    return function


@pytest.mark.parametrize(
    ("state", "paths"),
    [
        ({"a": 1, 2: "b"}, ["['a']", "[2]"]),
        (UserDict(a=1), ["['a']"]),
        ([5, (6,)], ["[0]", "[1]", "[1][0]"]),
        (Pair(1, [2]), ["left", "right", "right[0]"]),
        (SimpleNamespace(a=SimpleNamespace(b=[1])), ["a", "a.b", "a.b[0]"]),
        (SimpleNamespace(_backward_hooks=1, forward_hooks=1, hooks_of=1), ["hooks_of"]),
        (Slotted(), ["shown"]),
        (Derived(), ["own", "shown"]),
        ([closed_over(3)], ["[0]", "[0].value"]),
        ([partial(closed_over(3), 4, word=5)], ["[0]", "[0].value", "[0].argument 0", "[0].word"]),
        (
            [RUNNER.method],
            ["[0]", "[0].self", "[0].SEEN_GLOBALLY", "[0].self.scale", "[0].SEEN_GLOBALLY['layers']"],
        ),
        ([unbound()], ["[0]", "[0].later"]),
        (
            [int, len, sys, None, 1.5, 2j, b"b", torch.ones(1), torch.ones],
            [f"[{number}]" for number in range(9)],
        ),
        ([logging.getLogger("a"), threading.Event(), asyncio.Event()], ["[0]", "[1]", "[2]"]),
        ([multiprocessing.get_context("spawn"), threading.local()], ["[0]", "[1]"]),
        ([torch.Generator(), torch.get_default_dtype()], ["[0]", "[1]"]),
    ],
)
def test_each_kind_of_holder_shows_its_parts(state: Any, paths: list[str]) -> None:
    assert of(state) == paths


def test_what_belongs_to_others_is_not_looked_into() -> None:
    local = threading.local()
    local.value = 1
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    assert of([local, ours]) == ["[0]", "[1]"]
    ours.close()
    theirs.close()
    assert not is_leaf(SimpleNamespace())
    assert not is_leaf(Layer())
    assert not is_leaf(torch.nn.ParameterDict())
    assert is_leaf(torch.device("cpu"))


def test_a_module_shows_what_it_keeps_as_its_own() -> None:
    layer = Layer()
    holders = {spot.path: spot.holder for spot in spots({"": layer})}
    assert {"weight", "scale", "inner", "ready", "training", "inner.training"} <= holders.keys()
    assert holders["weight"] is holders["scale"] is layer
    assert not [path for path in holders if path.startswith(("bias", "_parameters", "_buffers", "_modules"))]
    assert not [path for path in holders if path.endswith("_hooks")]


def test_each_holder_is_shown_once_and_a_circle_ends() -> None:
    state = SimpleNamespace(a=[])
    state.b = state.a
    state.a.append(state)
    assert of(state) == ["a", "b", "a[0]"]


def test_what_lies_too_deep_is_not_looked_for() -> None:
    deep: list[Any] = []
    for _ in range(20):
        deep = [deep]
    assert of(deep)[-1] == "[0]" * 13


def test_a_large_state_is_looked_at_in_part_and_the_near_part_first() -> None:
    large = [[0] * 30_000, [[1]], [0] * 30_000, [2]]
    found = of(large)
    assert len(found) == 4 + 30_000 + 1 + 30_000
    assert found[-1].startswith("[2]")


def around(function: Callable[[], Any], value: int) -> Callable[[], Any]:
    def outer() -> Any:
        return function(), value

    return outer


def recursive() -> Callable[[], Any]:
    state = [1]

    def function() -> Any:
        return function, state

    return function


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (closed_over(3), {"value": 3}),
        (lambda: SEEN_GLOBALLY, {"SEEN_GLOBALLY": SEEN_GLOBALLY}),
        (lambda: (len, torch, sys, Runner), {}),
        (RUNNER.method, {"self": RUNNER, "SEEN_GLOBALLY": SEEN_GLOBALLY}),
        (RUNNER, {"self": RUNNER, "SEEN_GLOBALLY": SEEN_GLOBALLY}),
        (len, {"self": len}),
        (partial(closed_over(3), 4, 5, word=6), {"value": 3, "argument 0": 4, "argument 1": 5, "word": 6}),
        (around(closed_over(3), 4), {"function": None, "value": 3}),
        (around(partial(closed_over(3), 5), 4), {"function": None, "value": 3, "argument 0": 5}),
        (
            around(RUNNER.method, 4),
            {"function": None, "self": RUNNER, "SEEN_GLOBALLY": SEEN_GLOBALLY, "value": 4},
        ),
        (recursive(), {"state": [1]}),
        (unbound(), {"later": None}),
    ],
)
def test_what_a_function_works_on_is_named_as_its_author_named_it(
    function: Any, names: dict[str, Any]
) -> None:
    state = object()
    assert roots_of(function, state) == {"": state, **names}


def test_a_name_of_a_closure_counts_before_one_further_in() -> None:
    first = around(around(closed_over(1), 2), 3)
    assert list(roots_of(first, None)) == ["", "function", "value"]


# --- what changes -------------------------------------------------------------------------------------


class WithDefault:
    ready = False


def changed(state: Any, change: Callable[[], object]) -> list[tuple[str, str, str]]:
    before = Snapshot({"": state})
    change()
    return [(one.path, one.before, one.after) for one in before.changes(Snapshot({"": state}))]


def put(name: Any, value: Any) -> Callable[[Any], object]:
    return lambda state: state.__setitem__(name, value)


def later_than_something_new(state: dict[str, Any]) -> None:
    kept = state.pop("b")
    state.update(a=[1], b=kept)
    kept.append(2)


LONG = "x" * 80


@pytest.mark.parametrize(
    ("state", "change", "found"),
    [
        ({"a": 1}, put("a", 1), []),
        ({"a": 1}, put("a", 2), [("['a']", "1", "2")]),
        ({"a": 1}, put("a", True), [("['a']", "1", "True")]),
        ({"a": 0.0}, put("a", -0.0), [("['a']", "0.0", "-0.0")]),
        ({"a": float("nan")}, put("a", float("nan")), []),
        ({"a": b"x"}, put("a", None), [("['a']", "b'x'", "None")]),
        ({"a": 1j}, put("a", 1j), []),
        ({}, put("a", 1), [("['a']", "nothing", "1")]),
        ({}, put(7, 1), [("[7]", "nothing", "1")]),
        (WithDefault(), lambda state: setattr(state, "ready", True), [("ready", "False", "True")]),
        ({"a": "x"}, put("a", "y" * 58), [("['a']", "'x'", repr("y" * 58))]),
        ({"a": "x"}, put("a", LONG), [("['a']", "'x'", "'" + "x" * 56 + "...")]),
        ({"a": []}, put("a", []), [("['a']", "list", "list")]),
        ({"a": None}, put("a", torch.zeros(2, 3)), [("['a']", "None", "a tensor (2, 3) of torch.float32")]),
        ({"a": [[]]}, lambda state: state["a"][0].append(5), [("['a'][0][0]", "nothing", "5")]),
        ({"b": []}, later_than_something_new, [("['a']", "nothing", "list"), ("['b'][0]", "nothing", "2")]),
        # What is new in something new is told by the new thing itself.
        ({}, put("a", [1, 2]), [("['a']", "nothing", "list")]),
    ],
)
def test_what_a_run_changed(
    state: Any, change: Callable[[Any], object], found: list[tuple[str, str, str]]
) -> None:
    assert changed(state, lambda: change(state)) == found


TENSOR = torch.arange(6.0)


@pytest.mark.parametrize(
    ("other", "is_other"),
    [
        (lambda tensor: tensor, False),
        (lambda tensor: tensor.add_(1), False),
        (lambda tensor: tensor.clone(), True),
        (lambda tensor: tensor.resize_(3), True),
        (lambda tensor: tensor.set_(tensor.untyped_storage(), 1, (6,)), True),
        (lambda tensor: tensor.set_(torch.ones(6)), True),
    ],
)
def test_a_tensor_is_another_one_with_other_memory_and_not_with_other_contents(
    other: Callable[[Any], Any], is_other: bool
) -> None:
    tensor = torch.arange(8.0)[:6]
    state = {"a": tensor}
    assert bool(changed(state, lambda: state.update(a=other(tensor)))) is is_other


def test_a_tensor_without_memory_can_be_told_from_another_one() -> None:
    sparse = torch.ones(2).to_sparse()
    state = {"a": sparse}
    assert changed(state, lambda: None) == []
    assert len(changed(state, lambda: state.update(a=torch.ones(2).to_sparse()))) == 1


def test_only_what_was_there_counts_and_it_is_kept_alive() -> None:
    outer: dict[str, Any] = {"a": {}}
    before = Snapshot({"": outer})
    assert before.holds(outer)
    assert before.holds(outer["a"])
    outer["a"]["b"] = 1
    (change,) = before.changes(Snapshot({"": outer}))
    assert (change.holder is outer["a"], change.key) == (True, "b")
    assert not before.holds({})
    assert not before.holds(1)
    numbers = {id(outer["a"])}
    del outer["a"]
    assert numbers.isdisjoint(id({}) for _ in range(100))


# --- who changed it -----------------------------------------------------------------------------------


def attribute(state: Any) -> None:
    state.other = 1
    state.ready = True


def key(state: Any) -> None:
    other = {}
    other["ready"] = True


def twice(state: Any) -> None:
    state.ready = False
    state.ready = True


def unrelated(state: Any) -> None: ...


def first(state: Any) -> None:
    values = [1]
    values[0] = 2


def reads(state: Any) -> Any:
    return state.ready, "ready"


def line(function: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, one in enumerate(lines) if text in one)


@pytest.mark.parametrize(
    ("functions", "name", "where"),
    [
        ((attribute,), "ready", (attribute, "state.ready = True")),
        ((attribute, reads), "ready", (attribute, "state.ready = True")),
        ((attribute,), "other", (attribute, "state.other = 1")),
        ((key,), "ready", (key, 'other["ready"]')),
        ((twice,), "ready", None),
        ((attribute, key), "ready", None),
        ((reads,), "ready", None),
        ((unrelated, attribute), "ready", (attribute, "state.ready = True")),
        ((first,), 0, None),
        ((attribute,), "missing", None),
        ((), "ready", None),
    ],
)
def test_the_line_that_set_a_value_is_found_where_there_is_one(
    functions: tuple[Callable[[Any], Any], ...], name: Any, where: tuple[Any, str] | None
) -> None:
    state, calls = SimpleNamespace(ready=False), Calls()
    with calls:
        for function in functions:
            function(state)
    twice(state)  # after it
    found = calls.setter_of(name)
    if where is None:
        assert found is None
    else:
        assert found is not None
        assert (found.path, found.line) == (__file__, line(*where))
        assert found.function == where[0].__qualname__


def test_a_profiler_of_the_programs_own_is_on_again_afterwards() -> None:
    def own(frame: Any, event: str, argument: Any) -> None: ...

    before = sys.getprofile()
    sys.setprofile(own)
    try:
        with Calls():
            assert sys.getprofile() is not own
        assert sys.getprofile() is own
    finally:
        sys.setprofile(before)
