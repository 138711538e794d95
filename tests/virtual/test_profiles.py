"""The devices that can be had, and how they are named."""

from __future__ import annotations

import pytest

from coldfork.model.errors import ColdforkError, UsageError
from coldfork.virtual import PROFILES, UnknownDeviceError, parse
from coldfork.virtual.profiles import setup


def test_there_is_a_device_of_each_kind_that_was_promised() -> None:
    models = {"a100", "h100", "h200", "b200", "rtx4090"}
    assert set(PROFILES) == models | {f"{model}-without-nvml" for model in models} | {"mi300x"}
    assert {name: PROFILES[name].capability for name in sorted(models)} == {
        "a100": (8, 0),
        "b200": (10, 0),
        "h100": (9, 0),
        "h200": (9, 0),
        "rtx4090": (8, 9),
    }
    assert {name for name in PROFILES if PROFILES[name].nvml} == models
    assert {name for name in PROFILES if PROFILES[name].accelerator == "rocm"} == {"mi300x"}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_no_device_offers_more_memory_than_its_board_has(profile: object) -> None:
    assert 0 < profile.memory <= profile.board_memory  # type: ignore[attr-defined]
    assert profile.shared_memory_opt_in <= profile.shared_memory_per_processor  # type: ignore[attr-defined]
    assert len(profile.product) < 64  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("h100", ("h100", 1)), ("h100:2", ("h100", 2)), ("a100-without-nvml:64", ("a100-without-nvml", 64))],
)
def test_a_name_may_bring_a_number(text: str, meaning: tuple[str, int]) -> None:
    assert parse(text) == meaning


@pytest.mark.parametrize(
    "text", ["", "h101", "H100", "h100:", "h100:two", "h100:-1", "h100:1:1", ":2", "h100: 2"]
)
def test_what_is_no_device_is_an_error_that_lists_those_there_are(text: str) -> None:
    with pytest.raises(UnknownDeviceError, match=r"h100"):
        parse(text)


@pytest.mark.parametrize("count", [0, -1, 65, 999])
def test_a_machine_has_one_to_sixty_four_devices(count: int) -> None:
    with pytest.raises(UnknownDeviceError, match=f"cannot have {count} devices"):
        setup("h100", count)


def test_the_error_is_one_of_coldforks_and_one_of_usage() -> None:
    assert issubclass(UnknownDeviceError, ColdforkError)
    assert issubclass(UnknownDeviceError, UsageError)
    assert issubclass(UnknownDeviceError, RuntimeError)


def test_without_nvml_is_another_name_for_the_same_device() -> None:
    assert setup("h100", 1, nvml=False) == setup("h100-without-nvml", 1)
    assert str(setup("h100", 2, nvml=False)) == "virtual:h100-without-nvml:2"
    assert setup("mi300x", 1, nvml=False) == setup("mi300x", 1)
