"""`match` on what is hardly known, and the ways on from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "a subject that is nominally something": """
### pyproject.toml
[project]
dependencies = ["triton"]
### m.py
import importlib.util
import torch

match importlib.util.find_spec("triton"):
    case None:
        torch.cuda.is_available()  # expect: driver-init-at-import conditional
    case _:
        torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a guard that raises, of a case that may match": """
import os
import torch

def fail():
    raise KeyError("x")

try:
    match len(os.listdir(".")):
        case 1000000 if fail():
            torch.cuda.get_device_capability()
        case _:
            torch.cuda.get_device_name()  # expect: device-init-at-import conditional
except KeyError:
    pass
""",
    "a mapping pattern for something unknown": """
import json
import torch

match json.loads("{}"):
    case {"kind": "x"}:
        torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "every case raises": """
import os
import torch

def fail(kind):
    match kind:
        case 1000000:
            raise KeyError(kind)
        case _:
            raise KeyError(kind)

try:
    fail(len(os.listdir(".")))
except ValueError:
    torch.cuda.is_available()
except KeyError:
    torch.cuda.get_device_name()  # expect: device-init-at-import
""",
}
SETTINGS = {
    "a subject that is nominally something": Setting(runs=False),
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_match_on_what_is_hardly_known(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
