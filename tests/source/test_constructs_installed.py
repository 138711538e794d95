"""Installed packages: libraries that may be missing, runtimes of other hardware, known values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "find_spec of a library that the project requires": """
### pyproject.toml
[project]
dependencies = ["triton>=3", "numpy"]
### m.py
import importlib.util
import torch

if importlib.util.find_spec("triton"):
    torch.cuda.get_device_name()  # expect: device-init-at-import
if importlib.util.find_spec("triton") is None:
    torch.cuda.is_available()  # expect: driver-init-at-import conditional
""",
    "a known value of a library whose source is at hand": """
### pkg/__init__.py
### pkg/m.py
import torch

if torch.version.hip is None:
    torch.cuda.get_device_name()  # expect: device-init-at-import
### beside/torch/__init__.py
from . import version
### beside/torch/version.py
import os
hip = os.environ["HIP"]
""",
    "a context that the catalogue knows of, in a library's own source": """
### numba/__init__.py
### numba/cuda/__init__.py
### numba/cuda/cudadrv/__init__.py
### numba/cuda/cudadrv/devices.py
from cuda import cuda as driver

def get_context():
    driver.cuInit(0)
    return driver.through_a_table_that_nobody_can_read()
### numba/cuda/testing.py
from numba.cuda.cudadrv import devices

devices.get_context()  # expect: device-init-at-import
""",
}
SETTINGS = {
    "a context that the catalogue knows of, in a library's own source": Setting(runs=False),
    "find_spec of a library that the project requires": Setting(runs=False),
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_what_is_installed_decides(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


OTHER_RUNTIMES = (
    "habana_frameworks",
    "intel_extension_for_pytorch",
    "libtpu",
    "oneccl_bindings_for_pytorch",
    "torch_mlu",
    "torch_musa",
    "torch_neuronx",
    "torch_npu",
    "torch_xla",
)
ELSE = """
import torch

try:
    import {name}
except ImportError:
    torch.cuda.get_device_name()  # expect: device-init-at-import
"""


@pytest.mark.parametrize("name", OTHER_RUNTIMES)
def test_runtimes_of_other_hardware_are_taken_to_be_missing(name: str, tmp_path: Path) -> None:
    assert_as_expected(ELSE.format(name=name), tmp_path)


def test_the_runtime_of_the_profile_itself_may_be_there(tmp_path: Path) -> None:
    text = ELSE.format(name="intel_extension_for_pytorch").replace("torch.cuda", "torch.xpu")
    text = text.replace("at-import", "at-import conditional")
    assert_as_expected(text, tmp_path, Setting(profile="xpu", runs=False))
