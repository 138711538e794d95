"""Requests for devices, what is granted, and the words of a refusal; NVML is really asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import coldfork
from coldfork.launch.devices.choice import FreeDevices, Lease
from coldfork.launch.devices.leases import take
from coldfork.model.errors import LeaseError, UsageError
from coldfork.virtual.management import GIB, VirtualBoard, VirtualInstance, boards
from tests.launch.lease.conftest import Host

pytestmark = pytest.mark.once

CUDA = "CUDA_VISIBLE_DEVICES"
LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"


def numbers(host: Host, leases: list[Lease]) -> list[list[int]]:
    """The devices of each worker, by their place on the host."""
    uuids = [board.uuid for board in host.boards]
    return [[uuids.index(name) for name in one.variables[CUDA].split(",")] for one in leases]


@pytest.fixture
def loaded(host: Host) -> Host:
    """The later a device comes, the more of it is free."""
    host.show([replace(one, used=(70 - 10 * at) * GIB) for at, one in enumerate(boards(8))])
    return host


@pytest.mark.parametrize(
    ("devices", "workers", "got"),
    [
        ("auto", 3, [[7], [6], [5]]),
        ("free", 1, [[7]]),
        (2, 2, [[7], [6]]),
        (2, 5, [[7], [6], [7], [6], [7]]),
        (5, 2, [[7, 6, 5], [4, 3]]),
        ([1, 3], 2, [[1], [3]]),
        ("3,1", 2, [[3], [1]]),
        ([0], 3, [[0], [0], [0]]),
        (["GPU-c01df002"], 1, [[2]]),
        (FreeDevices("60 GiB"), 2, [[7], [6]]),
        (FreeDevices(50 * GIB, count=2), 2, [[7], [6]]),
        (FreeDevices(count=1), 2, [[7], [7]]),
    ],
)
def test_devices_are_spread_over_the_workers(loaded: Host, devices: Any, workers: int, got: Any) -> None:
    leases = take(devices, workers, loaded.environment)
    assert numbers(loaded, leases) == got
    for lease in leases:
        lease.release()
    again = take(devices, workers, loaded.environment)
    assert numbers(loaded, again) == got
    for lease in again:
        lease.release()


def test_nothing_wanted_is_nothing_leased(host: Host) -> None:
    assert take(None, 4, {}) == []


def test_a_lease_without_a_block_lasts_until_it_is_released(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    held = coldfork.lease(8)
    with pytest.raises(LeaseError):
        coldfork.lease()
    held.release()
    with coldfork.lease(8) as again:
        assert again.variables == held.variables
    coldfork.lease().release()


def test_a_device_is_kept_until_its_last_worker_has_given_it_back(host: Host) -> None:
    first, second = take([0], 2, host.environment)
    assert first.device == f"{host.boards[0].uuid} (place 0), shared by 2 workers"
    first.release()
    first.release()
    with pytest.raises(LeaseError):
        take([0], 1, host.environment)
    second.release()
    (third,) = take([0], 1, host.environment)
    third.release()


def test_places_are_those_of_the_callers_list(host: Host) -> None:
    callers = host.sees(CUDA_VISIBLE_DEVICES="5,2,7")
    (one,) = take([2], 1, callers)
    assert numbers(host, [one]) == [[7]]
    assert one.device == f"{host.boards[7].uuid} (place 2)"
    others = take(2, 2, callers)
    assert sorted(numbers(host, others)) == [[2], [5]]
    with pytest.raises(LeaseError, match=r"^1 device is wanted, 3 are visible, and 0 can be leased: "):
        take("auto", 1, callers)
    for lease in (one, *others):
        lease.release()


@pytest.mark.parametrize(
    ("callers", "devices", "said"),
    [
        ("", "auto", "this process sees no device (CUDA_VISIBLE_DEVICES='')"),
        ("-1", 1, "this process sees no device (CUDA_VISIBLE_DEVICES='-1')"),
        ("0,0", [0], "this process sees no device (CUDA_VISIBLE_DEVICES='0,0')"),
        (
            "4",
            [1],
            "there is no device 1 among those of this process: CUDA_VISIBLE_DEVICES shows 1 device (4)",
        ),
        (
            "4,9",
            [1],
            "there is no device 1 among those of this process: CUDA_VISIBLE_DEVICES shows 1 device (4)",
        ),
        ("4", [-1], "there is no device -1: devices are counted from 0"),
        (
            "4",
            ["GPU-c01df002"],
            "device GPU-c01df002 is not among those of this process: it sees GPU-c01df004",
        ),
        (None, ["GPU-c01df0"], "device GPU-c01df0 is not among those of this process"),
        (None, [9], "there is no device 9"),
        (None, [0, "GPU-c01df000"], "names a device twice"),
        (None, [0, 0], "names 0 twice"),
        (None, [], "names no device"),
        (None, True, "has to be a number or a list of devices"),
        (None, 0, "cannot lease 0 devices"),
        (None, 9, "9 devices are wanted, 8 are visible, and 8 can be leased; to let several workers use one"),
        (None, FreeDevices("much"), "is not a size"),
    ],
)
def test_what_cannot_be_had_is_refused_and_never_widened(
    host: Host, callers: str | None, devices: Any, said: str
) -> None:
    environment = host.environment if callers is None else host.sees(CUDA_VISIBLE_DEVICES=callers)
    with pytest.raises((LeaseError, UsageError)) as caught:
        take(devices, 1 if devices != 9 else 9, environment)
    assert said in str(caught.value)
    for lease in take(8, 1, host.environment):
        lease.release()


def test_a_device_without_room_is_named_with_what_is_free_and_who_uses_it(host: Host) -> None:
    host.show([VirtualBoard("GPU-full", used=79 * GIB, processes=((4711, 79 * GIB),))])
    with pytest.raises(LeaseError) as caught:
        take(FreeDevices("20 GiB"), 1, host.environment)
    assert str(caught.value) == (
        "1 device is wanted, 1 are visible, and 0 can be leased: GPU-full (place 0) has 1.0 GiB free "
        "of 80.0 GiB, used by pid 4711, but 20.0 GiB are wanted; wait until one is free, or ask for fewer"
    )


def test_several_of_all_processes_share_a_device_where_that_is_asked(host: Host) -> None:
    host.show(boards(2))
    four = take("auto", 4, host.environment, share=2)
    assert numbers(host, four) == [[0], [1], [0], [1]]
    with pytest.raises(LeaseError, match=r"is leased by pid \d+"):
        take("auto", 1, host.environment, share=2)
    four[1].release()
    (one,) = take("auto", 1, host.environment, share=2)
    assert numbers(host, [one]) == [[1]]
    with pytest.raises(
        LeaseError, match="3 workers on 1 devices put 3 on one device, but only 2 may share one"
    ):
        take(1, 3, host.environment, share=2)
    for lease in (*four, one):
        lease.release()


def test_each_worker_gets_one_instance_of_a_divided_device(host: Host) -> None:
    parts = tuple(
        VirtualInstance(f"MIG-{letter}", used=at * GIB, numbers=(at + 1, 0))
        for at, letter in enumerate("abc")
    )
    host.show([VirtualBoard("GPU-divided", instances=parts), VirtualBoard("GPU-whole", memory=5 * GIB)])
    leases = take("auto", 4, host.environment)
    assert [one.variables[CUDA] for one in leases] == ["MIG-a", "MIG-b", "MIG-c", "GPU-whole"]
    with pytest.raises(LeaseError, match=r"MIG-GPU-divided/1/0 \(place 0\) is leased by pid \d+"):
        take("auto", 1, host.sees(CUDA_VISIBLE_DEVICES="MIG-GPU-divided/1/0"))
    for lease in leases:
        lease.release()
    with pytest.raises(LeaseError, match="and CUDA shows a process only one"):
        take(2, 1, host.environment)
    (old,) = take("auto", 1, host.sees(CUDA_VISIBLE_DEVICES="MIG-GPU-divided/3/0"))
    assert old.variables[CUDA] == "MIG-GPU-divided/3/0"
    old.release()


@pytest.mark.parametrize(
    ("limit", "devices", "told"),
    [
        ("3=2G", [3], "3=2G,0=2G"),
        ("0=8G,3=2G", [3], "0=2G,3=2G"),
        ("0=1G,3=2G", [3], None),
        ("0=1G", [0], None),
        ("0=1G", [3], None),
        ("nonsense", [3], None),
    ],
)
def test_the_share_of_memory_that_mps_gives_the_caller_follows_the_device(
    host: Host, limit: str, devices: list[int], told: str | None
) -> None:
    (lease,) = take(devices, 1, host.sees(**{LIMIT: limit}))
    assert lease.variables.get(LIMIT) == told
    lease.release()
