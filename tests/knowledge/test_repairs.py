"""The published faults: what the benchmark's table of cases says of them, and what is one of them."""

from __future__ import annotations

import pytest
from packaging.version import Version

from benchmarks import caselist
from coldfork.knowledge.repairs import REPAIRS, Repair, of_call
from coldfork.knowledge.troubles import TROUBLES

CASES = {case.id: case for case in caselist.load()}
FLASH = "/srv/lib/python3.12/site-packages/vllm/v1/attention/backends/flash_attn.py"


def test_every_case_of_the_benchmark_is_known() -> None:
    assert sorted(name for repair in REPAIRS for name in repair.cases) == sorted(CASES)


@pytest.mark.parametrize("repair", REPAIRS, ids=lambda repair: repair.cases[0])
def test_a_repair_says_what_its_case_says(repair: Repair) -> None:
    case = CASES[repair.cases[0]]
    assert repair.distribution == case.package
    assert {wanted.version for wanted in case.buggy} <= set(repair.buggy)
    assert {place.path for culprit in case.culprits for place in culprit.places} & {
        fault.path for fault in repair.faults
    }
    if repair.fixed is not None:
        assert case.fixed is not None
        assert repair.fixed == case.fixed.version
        assert all(Version(version) < Version(repair.fixed) for version in repair.buggy)
    assert repair.source
    assert {trouble.name for trouble in TROUBLES} >= set(repair.stories)


def test_a_fix_that_wakes_the_device_itself_is_none() -> None:
    warm = {case.id for case in CASES.values() if case.fix_is_warm}
    assert [repair.fixed for repair in REPAIRS if warm & set(repair.cases)] == [None]


def test_a_fault_is_its_file_its_function_and_what_stands_there() -> None:
    body, line = "FlashAttentionMetadataBuilder", "if get_flash_attn_version() == 3 else X"
    assert [repair.fixed for repair in of_call(FLASH, body, line)] == ["0.17.0"]
    assert [repair.fixed for repair in of_call(FLASH, body, "")] == ["0.17.0"]
    assert not list(of_call(FLASH, "FlashAttentionImpl", line))
    assert not list(of_call(FLASH, body, "reorder_batch_threshold: int = 1"))
    assert not list(of_call(FLASH.replace("vllm/", "myvllm_"), body, line))


def test_a_modules_own_line_is_no_fault_unless_it_is_known_what_stands_there() -> None:
    assert list(of_call("torch_scatter/__init__.py", "<module>", "if torch.cuda.is_available():"))
    assert not list(of_call("torch_scatter/__init__.py", "<module>", "import torch"))
    assert not list(of_call("torch_scatter/__init__.py", "<module>", ""))
