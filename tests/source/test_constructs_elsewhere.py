"""Objects and modules that are not at hand: their classes, and where modules are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "objects of Python's own are of no class of a library": """
import elsewhere
import numpy as np
import torch

def keep(data, kinds):
    if isinstance(data, kinds):
        return torch.cuda.get_device_name()
    return data

A = keep([1, 2], np.ma.MaskedArray)
B = keep("a", (elsewhere.Table, elsewhere.frames.Frame))
C = keep((), torch.Tensor)
D = keep(keep, elsewhere.Table)
E = keep([1], elsewhere.Sequence)  # expect: device-init-at-import conditional
F = keep([1], elsewhere.ArrayLike)  # expect: device-init-at-import conditional
G = keep([1], elsewhere.kinds)  # expect: device-init-at-import conditional
H = keep(elsewhere.made(), elsewhere.Table)  # expect: device-init-at-import conditional
""",
    "torch, found among the modules that are loaded": """
import sys
import torch

def by_get():
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded.cuda.is_initialized():
        return torch.cuda.get_device_name()

def by_item():
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
        return torch.cuda.get_device_name()

def by_name():
    if getattr(sys.modules.get("torch.cuda"), "is_initialized", bool)():
        return torch.cuda.get_device_name()

A = by_get()
B = by_item()
C = by_name()
D = sys.modules.get("torch").cuda.get_device_name()  # expect: device-init-at-import
""",
    "an attribute that None does not have": """
import os
import torch

class Asking:
    def ask(self):
        return torch.cuda.get_device_name()

chosen = Asking() if os.environ.get("X") else None
kept = None if os.path.exists("x") else Asking()
kept.ask()  # expect: device-init-at-import
""",
    "flags of another accelerator": """
import torch
import triton
from torch.utils.cpp_extension import ROCM_HOME  # expect: waking-import conditional

if ROCM_HOME is not None:
    torch.cuda.get_device_name()
if "rocm" in torch.__version__:
    torch.cuda.get_device_name()

def is_hip():
    return triton.runtime.driver.active.get_current_target().backend == "hip"

if is_hip():  # expect: device-init-at-import
    torch.cuda.get_device_properties(0)
if "cu12" in torch.__version__:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a name that is only annotated, and a module that computes it": """
### pkg/__init__.py
### pkg/platforms.py
import torch
from typing import TYPE_CHECKING

current: str

if TYPE_CHECKING:
    other: int

def __getattr__(name):
    if name in ("current", "other"):
        return torch.cuda.get_device_name()
    raise AttributeError(name)
### pkg/first.py
from .platforms import current  # expect: device-init-at-import
### pkg/second.py
from pkg.platforms import other as mine  # expect: device-init-at-import
### pkg/third.py
from pkg import platforms

platforms.current  # expect: device-init-at-import
""",
}
ELSEWHERE = Setting(runs=False)
SETTINGS = {
    "objects of Python's own are of no class of a library": ELSEWHERE,
    "torch, found among the modules that are loaded": ELSEWHERE,
    "flags of another accelerator": ELSEWHERE,
    "an attribute that None does not have": ELSEWHERE,
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_what_is_not_at_hand(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
