"""The page about the virtual device shows what is printed, and names the devices there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coldfork.virtual.profiles import PROFILES
from tests.virtual.conftest import Run

pytest.importorskip("torch")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "virtual-device.md").read_text("utf-8")


def test_the_example_prints_what_the_page_says(run: Run) -> None:
    source, printed = re.findall(r"```\w+\n(.*?)```", PAGE, re.DOTALL)[:2]
    assert run(source).printed == printed


def test_the_page_names_every_device() -> None:
    assert {name.removesuffix("-without-nvml") for name in PROFILES} <= set(re.findall(r"`(\w+)`", PAGE))
