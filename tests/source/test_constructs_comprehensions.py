"""Comprehensions and generators: what they see, which items they take, and whether those are all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "a generator expression in a function sees what encloses it": """
import torch

def outer(ask):
    def inner():
        return any(ask() for _ in (1,))
    return inner()

A = outer(torch.cuda.get_device_name)  # expect: device-init-at-import
B = outer(int)
""",
    "a generator whose loop is complete": """
import torch

def steps():
    for step in (int, torch.cuda.get_device_name):
        yield step

A = list(steps())[1]()  # expect: device-init-at-import
B = list(steps())[0]()
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS))
def test_comprehensions_and_generators(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
