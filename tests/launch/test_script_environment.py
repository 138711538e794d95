"""The environment of an isolated script: the table, what overrides it, and devices that are never more."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.launch.devices.choice import listed
from coldfork.launch.script.environment import KEPT, TABLE, ScriptEnvironment, build
from coldfork.model.errors import UsageError

CUDA = "CUDA_VISIBLE_DEVICES"


def built(base: Mapping[str, str] | None = None, method: str = "spawn", **how: Any) -> ScriptEnvironment:
    return build(method, base=base or {}, **how)


def test_the_table_sets_what_it_says() -> None:
    processors = str(len(os.sched_getaffinity(0)))
    assert built().variables == {
        "MULTIPROCESSING_START_METHOD": "spawn",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "TOKENIZERS_PARALLELISM": "false",
        "COLDFORK_GUARD": "raise",
        "OMP_NUM_THREADS": processors,
    }


@pytest.mark.parametrize(("method", "vllm"), [("spawn", "spawn"), ("forkserver", "spawn"), ("fork", "fork")])
def test_vllm_is_told_a_method_that_it_knows(method: str, vllm: str) -> None:
    variables = built(method=method).variables
    assert variables["MULTIPROCESSING_START_METHOD"] == method
    assert variables["VLLM_WORKER_MULTIPROC_METHOD"] == vllm


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
@pytest.mark.parametrize("inherit", [True, False])
def test_every_row_can_be_overridden_and_taken_away(row: Any, inherit: bool) -> None:
    other = "forkserver" if row.name == "MULTIPROCESSING_START_METHOD" else "9"
    base = {row.name: "fork"}
    assert built(base, env={row.name: other}, inherit=inherit).variables[row.name] == other
    without = built(base, env={row.name: None}, inherit=inherit)
    assert row.name not in without.variables
    assert without.removed == (row.name,)
    assert row.name not in without.changed


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_what_the_caller_has_set_is_left_alone_where_the_row_says_so(row: Any) -> None:
    found = built({row.name: "7"}).variables[row.name]
    assert (found == "7") is row.keeps_inherited
    assert built({row.name: "7"}, inherit=False).variables[row.name] != "7"


def test_an_overridden_start_method_is_the_one_that_counts() -> None:
    one = built(env={"MULTIPROCESSING_START_METHOD": "forkserver"})
    assert one.start_method == "forkserver"
    assert one.variables["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"


@pytest.mark.parametrize(
    ("method", "hint"),
    [("spwan", "did you mean 'spawn'?"), ("thread", "it is 'spawn', 'forkserver' or 'fork'"), ("", "it is")],
)
def test_a_start_method_that_is_none_is_refused(method: str, hint: str) -> None:
    with pytest.raises(UsageError, match="there is no start method") as caught:
        built(method=method)
    assert hint in str(caught.value)


def test_without_the_callers_environment_programs_can_still_start() -> None:
    base = dict.fromkeys(KEPT, "/x") | {"DB_URL": "y", CUDA: "1"}
    found = built(base, inherit=False).variables
    assert set(found) - {row.name for row in TABLE} == set(KEPT)
    assert found[CUDA] == "1"


@pytest.mark.parametrize(
    ("callers", "devices", "shown"),
    [
        (None, None, None),
        ("2,3", None, "2,3"),
        (None, [0, 1], "0,1"),
        (None, "0,1", "0,1"),
        ("4,6,7", [0, 2], "4,7"),
        ("4,6,7", "2,0", "7,4"),
        ("4, 6", [1], "6"),
        ("4,-1,6", [0], "4"),
        ("GPU-aa11,GPU-bb22", [1], "GPU-bb22"),
        ("GPU-aa11,GPU-bb22", ["GPU-bb22"], "GPU-bb22"),
        ("GPU-aa11", ["GPU-aa11-ff"], "GPU-aa11-ff"),
        ("MIG-aa,MIG-bb", "1", "MIG-bb"),
        (None, "GPU-aa11", "GPU-aa11"),
        ("0,1", [], "-1"),
        ("0,1", "", "-1"),
        ("0,1", "none", "-1"),
    ],
)
def test_devices_are_places_in_the_callers_list(callers: str | None, devices: Any, shown: str | None) -> None:
    base = {} if callers is None else {CUDA: callers}
    assert built(base, devices=devices).variables.get(CUDA) == shown


@pytest.mark.parametrize(
    ("callers", "devices", "said"),
    [
        (
            "4",
            [1],
            "there is no device 1 among those of this process: CUDA_VISIBLE_DEVICES shows 1 device (4)",
        ),
        ("", [0], "shows 0 devices (none)"),
        ("-1", [0], "shows 0 devices (none)"),
        ("4,-1,6", [1], "shows 1 device (4)"),
        ("GPU-aa", ["GPU-bb"], "device GPU-bb is not among those of this process"),
        ("GPU-aa11", ["GPU-aa"], "device GPU-aa is not among those"),
        (None, [0, 0], "names 0 twice"),
        (None, [-1], "there is no device -1"),
        (None, 1, "could mean one device or that many"),
    ],
)
def test_devices_that_cannot_be_had_are_refused(callers: str | None, devices: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        built({} if callers is None else {CUDA: callers}, devices=devices)
    assert said in str(caught.value)


@pytest.mark.parametrize("given", ["5", "1,5", "GPU-xx", None])
def test_an_override_cannot_show_more_either(given: str | None) -> None:
    with pytest.raises(UsageError, match=r"but this process sees no device|that this process does not"):
        built({CUDA: "0,1"}, env={CUDA: given})


@pytest.mark.parametrize("given", ["1", "", "-1", "1,0"])
def test_an_override_may_show_less(given: str) -> None:
    assert built({CUDA: "0,1"}, env={CUDA: given}).variables[CUDA] == given


def test_an_override_and_devices_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="both choose devices"):
        built(devices=[0], env={CUDA: "0"})


def test_on_rocm_the_callers_own_list_counts() -> None:
    found = built({"HIP_VISIBLE_DEVICES": "3,5"}, devices=[1]).variables
    assert found["HIP_VISIBLE_DEVICES"] == "5"
    assert CUDA not in found


@given(
    st.none() | st.lists(st.integers(0, 9).map(str) | st.just("-1"), max_size=4),
    st.none() | st.lists(st.integers(-1, 5), max_size=4),
)
def test_a_script_never_sees_more_than_its_caller(
    callers: list[str] | None, devices: list[int] | None
) -> None:
    base = {} if callers is None else {CUDA: ",".join(callers)}
    try:
        shown = built(base, devices=devices).variables.get(CUDA)
    except UsageError:
        return
    if callers is not None:
        # CUDA reads a list up to the first entry that is none.
        seen = list(itertools.takewhile(lambda device: device != "-1", callers))
        assert shown is not None
        assert set(listed(shown)) <= set(seen)


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": 1}, {"A": "x\0"}])
def test_variables_that_cannot_be_are_refused(env: Any) -> None:
    with pytest.raises(UsageError, match="environment variable"):
        built(env=env)
