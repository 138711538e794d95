"""Which devices a process sees, by its variables and by what NVML or the kernel says."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.launch.devices import management
from coldfork.launch.devices.management import Device, Instance, Management
from coldfork.launch.devices.sight import Seen, sight
from coldfork.model.errors import LeaseError

CUDA, HIP, ROCR = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
GIB = 1 << 30


def whole(index: int, name: str = "H100", free: int = 80) -> Device:
    return Device(index, name, f"GPU-{index}a-5eed", mig=False, memory_total=80 * GIB, memory_free=free * GIB)


def divided(index: int, *uuids: str) -> Device:
    instances = tuple(Instance(uuid, (number, 0), 10 * GIB, 9 * GIB) for number, uuid in enumerate(uuids, 1))
    return Device(index, "H100", f"GPU-{index}a-5eed", mig=True, instances=instances)


FOUR = Management(nvml_loaded=True, devices=tuple(map(whole, range(4))))
MIXED = Management(nvml_loaded=True, devices=(whole(0), whole(1, "A100")))
INSTANCES = Management(
    nvml_loaded=True, devices=(divided(0, "MIG-a", "MIG-b"), whole(1), divided(2, "MIG-c"))
)
NO_NVML = Management(nvml_error="libnvidia-ml.so.1: cannot open shared object file")


def names(asked: Management, **variables: str) -> list[str]:
    return [seen.name for seen in sight(variables, asked).devices]


@pytest.mark.parametrize(
    ("setting", "seen"),
    [
        ("2,0", ["GPU-2a-5eed", "GPU-0a-5eed"]),
        ("1, 3", ["GPU-1a-5eed", "GPU-3a-5eed"]),
        ("1,-1,3", ["GPU-1a-5eed"]),
        ("1,,3", ["GPU-1a-5eed"]),
        ("1,9,3", ["GPU-1a-5eed"]),
        ("1,GPU-2a-5eed", ["GPU-1a-5eed"]),
        ("GPU-2a,GPU-0", ["GPU-2a-5eed", "GPU-0a-5eed"]),
        ("GPU-2a-5eed,1", ["GPU-2a-5eed"]),
        ("GPU-", []),
        ("GPU-2a,GPU-2a", []),
        ("1,1", []),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("MIG-a", []),
    ],
)
def test_the_variable_is_read_as_the_driver_reads_it(setting: str, seen: list[str]) -> None:
    assert names(FOUR, **{CUDA: setting}) == seen


def test_without_the_variable_every_device_is_seen_with_its_memory() -> None:
    devices = sight({}, FOUR).devices
    assert [seen.place for seen in devices] == [0, 1, 2, 3]
    assert devices[3] == Seen(3, "GPU-3a-5eed", "gpu-3a-5eed", 80 * GIB, 80 * GIB)
    assert str(devices[3]) == "GPU-3a-5eed (place 3)"


def test_numbers_of_different_models_are_not_guessed() -> None:
    with pytest.raises(LeaseError, match=r"set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the devices by UUID"):
        names(MIXED, **{CUDA: "1"})
    assert names(MIXED, **{CUDA: "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == ["GPU-1a-5eed"]
    assert names(MIXED, **{CUDA: "GPU-1a"}) == ["GPU-1a-5eed"]
    assert names(MIXED) == ["GPU-0a-5eed", "GPU-1a-5eed"]


def test_instances_take_the_place_of_a_divided_device() -> None:
    devices = sight({}, INSTANCES).devices
    assert [(seen.place, seen.name, seen.divided) for seen in devices] == [
        (0, "MIG-a", True),
        (1, "MIG-b", True),
        (2, "GPU-1a-5eed", False),
        (3, "MIG-c", True),
    ]
    assert devices[0].free == 9 * GIB


@pytest.mark.parametrize(
    ("setting", "seen"),
    [
        ("MIG-c,MIG-a", ["MIG-c", "MIG-a"]),
        ("MIG-c,MIG-x,MIG-a", ["MIG-c"]),
        ("MIG-c,GPU-1a-5eed", ["MIG-c"]),
        ("MIG-c,MIG-c", []),
        ("MIG-GPU-0a-5eed/2/0,MIG-c", ["MIG-GPU-0a-5eed/2/0", "MIG-c"]),
        ("MIG-GPU-0a-5eed/2/0,MIG-b", []),
        ("MIG-GPU-0a-5eed/7/0", []),
    ],
)
def test_names_of_instances_are_kept_whole(setting: str, seen: list[str]) -> None:
    assert names(INSTANCES, **{CUDA: setting}) == seen


def test_both_names_of_an_instance_are_one_device() -> None:
    (old,) = sight({CUDA: "MIG-GPU-0a-5eed/2/0"}, INSTANCES).devices
    (new,) = sight({CUDA: "MIG-b"}, INSTANCES).devices
    assert old.identity == new.identity


@pytest.mark.parametrize("setting", ["0", "GPU-0a-5eed", "1,0"])
def test_a_divided_device_named_as_a_whole_is_not_widened_to_its_instances(setting: str) -> None:
    with pytest.raises(LeaseError, match=r"is divided \(MIG\).*name instances instead: MIG-a,MIG-b"):
        names(INSTANCES, **{CUDA: setting})


def test_without_nvml_the_variable_is_all_that_is_known() -> None:
    devices = sight({CUDA: "3,GPU-Ab"}, NO_NVML).devices
    assert [(seen.name, seen.identity, seen.free) for seen in devices] == [
        ("3", "cuda-3", None),
        ("GPU-Ab", "gpu-ab", None),
    ]
    assert names(NO_NVML, **{CUDA: "MIG-a,MIG-b"}) == ["MIG-a", "MIG-b"]
    assert names(NO_NVML, **{CUDA: "3,3"}) == []
    with pytest.raises(
        LeaseError,
        match=r"^cannot tell which devices there are, because CUDA_VISIBLE_DEVICES is not .* libnvidia-ml",
    ):
        names(NO_NVML)


def test_an_nvml_that_does_not_answer_is_not_taken_for_none() -> None:
    silent = Management(unanswered="the driver did not answer within 10 seconds")
    for variables in ({CUDA: "3"}, {CUDA: "GPU-Ab"}, {}):
        with pytest.raises(LeaseError, match="did not answer within 10 seconds"):
            names(silent, **variables)


AMD = ("gpu-aa", "gpu-bb", "gpu-cc")


@pytest.mark.parametrize(
    ("variables", "seen"),
    [
        ({}, [("0", "gpu-aa"), ("1", "gpu-bb"), ("2", "gpu-cc")]),
        ({HIP: "2,0"}, [("2", "gpu-cc"), ("0", "gpu-aa")]),
        ({HIP: "2,7,0"}, [("2", "gpu-cc")]),
        ({HIP: ""}, []),
        ({HIP: "1,1"}, []),
        ({ROCR: "2,1"}, [("0", "gpu-cc"), ("1", "gpu-bb")]),
        ({ROCR: "2,1", HIP: "1"}, [("1", "gpu-bb")]),
        ({ROCR: "2,1", HIP: "2"}, []),
        ({ROCR: "GPU-CC", HIP: "0"}, [("0", "gpu-cc")]),
        ({ROCR: "1,1"}, []),
        ({ROCR: ""}, []),
        ({ROCR: "2,1", CUDA: "1"}, [("1", "gpu-bb")]),
        ({CUDA: "1"}, [("1", "gpu-bb")]),
    ],
)
def test_rocm_counts_among_what_its_runtime_leaves(
    variables: dict[str, str], seen: list[tuple[str, str]]
) -> None:
    found = sight(variables, NO_NVML, AMD)
    assert [(one.name, one.identity) for one in found.devices] == seen
    assert found.variable == (CUDA if CUDA in variables else HIP)


def test_rocm_without_a_list_from_the_kernel_goes_by_the_variables() -> None:
    assert names(NO_NVML, **{HIP: "4,5"}) == ["4", "5"]
    assert [one.identity for one in sight({ROCR: "4,5", HIP: "1"}, NO_NVML).devices] == ["amd-5"]


def test_the_kernels_nodes_name_amds_devices(tmp_path: Path) -> None:
    for node, text in {
        "0": "cpu_cores_count 64\nsimd_count 0\n",
        "1": "simd_count 1216\nunique_id 11529215046068469760\n",
        "10": "simd_count 1216\nunique_id 0\nname\n",
        "2": "simd_count 1216\nunique_id 255\n",
    }.items():
        (tmp_path / node).mkdir()
        (tmp_path / node / "properties").write_text(text, encoding="ascii")
    assert management.amd_identities(tmp_path) == ("gpu-a000000000000000", "gpu-00000000000000ff", "amd-2")
    assert management.amd_identities(tmp_path / "none") == ()
