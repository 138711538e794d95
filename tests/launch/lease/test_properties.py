"""For any devices a caller sees and asks for: a worker sees a part of them, and none is given away twice."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.launch.devices.choice import DevicesWanted, FreeDevices
from coldfork.launch.devices.leases import take_of
from coldfork.launch.devices.management import Device, Instance, Management
from coldfork.launch.devices.sight import sight
from coldfork.model.errors import ColdforkError
from coldfork.model.visibility import visible

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="devices are leased on Linux"),
]
CUDA = "CUDA_VISIBLE_DEVICES"
UUIDS = [f"GPU-{number}{'ab'[number % 2]}-5eed" for number in range(4)]
ENTRIES = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "3",
        "7",
        "-1",
        "",
        " 2",
        "+1",
        "1gpu",
        "none",
        *UUIDS,
        "GPU-1",
        "GPU-",
        "GPU-9",
        "MIG-a",
        "MIG-b",
        "MIG-x",
    ]
)
WISHES: st.SearchStrategy[DevicesWanted] = st.one_of(
    st.integers(1, 5),
    st.just("auto"),
    st.lists(st.one_of(st.integers(-1, 4), st.sampled_from([*UUIDS, "GPU-1", "MIG-a"])), max_size=3),
    st.builds(FreeDevices, st.integers(0, 60), st.one_of(st.none(), st.integers(1, 4))),
)


@st.composite
def hosts(draw: st.DrawFn) -> Management:
    """Four devices, of which one may be divided, or none that NVML knows of."""
    if draw(st.integers(0, 5)) == 0:
        return Management(nvml_error="none")
    apart = draw(st.sampled_from([None, None, 0, 3]))
    parts = (Instance("MIG-a", (1, 0), 50, 40), Instance("MIG-b", (2, 0), 50, 10))
    return Management(
        devices=tuple(
            Device(
                number,
                "H100",
                uuid,
                mig=number == apart,
                instances=parts if number == apart else None,
                memory_total=100,
                memory_free=draw(st.integers(0, 100)),
            )
            for number, uuid in enumerate(UUIDS)
        )
    )


def read(setting: str | None, asked: Management) -> set[str]:
    """The devices that a process sees under a setting, by the rules of the driver alone."""
    if setting is not None and not asked.devices:
        return {entry.strip() for entry in setting.split(",")}
    parts = [part.uuid for device in asked.devices for part in device.instances or ()]
    if setting is not None and setting.startswith("MIG-"):
        return {entry for entry in setting.split(",") if entry in parts}
    ordinals = visible(setting, UUIDS)
    return {UUIDS[ordinal] for ordinal in ordinals} | (set(parts) if setting is None else set())


@pytest.mark.must_hold
@given(
    asked=hosts(),
    setting=st.one_of(st.none(), st.lists(ENTRIES, min_size=1, max_size=5).map(",".join)),
    wishes=st.lists(st.tuples(WISHES, st.integers(1, 5), st.integers(1, 3)), min_size=1, max_size=4),
)
def test_a_worker_sees_a_part_of_what_its_caller_sees(
    asked: Management, setting: str | None, wishes: list[tuple[DevicesWanted, int, int]]
) -> None:
    environment = {} if setting is None else {CUDA: setting}
    held = []
    crowds: dict[str, list[int]] = {}
    with TemporaryDirectory() as folder:
        environment["COLDFORK_STATE_DIR"] = str(Path(folder) / "state")
        for wanted, workers, share in wishes:
            try:
                leases = take_of(sight(environment, asked), wanted, workers, environment, share=share)
            except ColdforkError:
                continue
            assert len(leases) == workers
            of_this: set[str] = set()
            for lease in leases:
                shown = lease.variables[CUDA]
                assert shown not in ("", "-1")
                seen = read(shown, asked)
                assert seen
                assert len(seen) == len(shown.split(","))
                assert seen <= read(setting, asked)
                of_this |= seen
                if share > 1:
                    for name in seen:
                        crowds.setdefault(name, []).append(share)
            if share == 1:
                for name in of_this:
                    assert name not in crowds, "it was held already"
                    crowds[name] = [1]
            held += leases
        for name, shares in crowds.items():
            assert shares == [1] or (1 not in shares and len(shares) <= max(shares)), (name, shares)
        for lease in held:
            lease.release()
        there = sight(environment, asked) if held else None
        if there is not None:
            for lease in take_of(there, len(there.devices), len(there.devices), environment):
                lease.release()
