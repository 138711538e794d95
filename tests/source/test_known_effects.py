"""The known effects of libraries: told by the arguments, under copied names, beside source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases, findings_of, lay_out

ARGUMENTS = {
    "a device that is given": "torch.zeros(1, device='cuda')  # expect: device-init-at-import",
    "a device with a number": "torch.zeros(1, device='cuda:1')  # expect: device-init-at-import",
    "a device that is a number": "torch.zeros(1, device=0)  # expect: device-init-at-import",
    "a device object": "torch.zeros(1, device=torch.device('cuda'))  # expect: device-init-at-import",
    "the processor": "torch.zeros(1, device='cpu')",
    "the processor as an object": "torch.zeros(1, device=torch.device('cpu'))",
    "no device": "torch.zeros(1)",
    "a device under another name": "torch.zeros(1, place='cuda')",
    "a device that is one of two": (
        "torch.zeros(1, device='cuda' if torch.backends.x else 'cpu')  # expect: device-init-at-import"
    ),
    "a position": "torch.load('a', 'cuda')  # expect: device-init-at-import",
    "another position": "torch.load('a', None, 'cuda')",
    "a method's position": "torch.zeros(1).to('cuda')  # expect: device-init-at-import",
    "a context manager that is entered": "with torch.cuda.device(0): pass  # expect: device-init-at-import",
    "a context manager that is made": "torch.cuda.device(0)",
    "a method's processor": "torch.zeros(1).to('cpu')",
}


@pytest.mark.parametrize("line", ARGUMENTS.values(), ids=ARGUMENTS)
def test_the_arguments_tell_what_a_call_does(line: str, tmp_path: Path) -> None:
    assert_as_expected(f"import torch\n{line}\n", tmp_path, Setting(runs=False))


@pytest.mark.parametrize("folder", ["third_party", "_vendor", "vendor", "_vendored"])
def test_a_copied_library_does_what_the_library_does(folder: str, tmp_path: Path) -> None:
    text = f"""
from elsewhere.{folder} import torch
torch.cuda.get_device_name()  # expect: device-init-at-import
"""
    assert_as_expected(text, tmp_path, Setting(runs=False))


SOURCES = {
    "a known function whose source is at hand": """
### pkg/__init__.py
### pkg/m.py
import torch

if torch.cuda.is_available():  # expect: driver-init-at-import
    torch.cuda.get_device_name()  # expect: device-init-at-import
### beside/torch/__init__.py
from . import cuda
### beside/torch/cuda.py
import os

def is_available():
    return len(os.environ) < 0

def get_device_name():
    return ""
""",
    "a method of what a known function returns, though its source does not tell": """
### pkg/__init__.py
### pkg/m.py
from triton.runtime.driver import _create_driver

driver = _create_driver()  # expect: driver-init-at-import
driver.get_current_target()  # expect: device-init-at-import
### beside/triton/__init__.py
### beside/triton/runtime/__init__.py
### beside/triton/runtime/driver.py
import importlib.metadata

def _create_driver():
    found = [one.load() for one in importlib.metadata.entry_points().select(group="triton.backends")]
    active = [one for one in found if one.is_active()]
    return active[0]()
""",
    "a function that goes through compiled code": """
### pkg/__init__.py
### pkg/m.py
import pynvml
from cuda.bindings import runtime

runtime.cudaFree(0)  # expect: device-init-at-import
runtime.other()
### beside/cuda/__init__.py
### beside/cuda/bindings/__init__.py
### beside/cuda/bindings/runtime.py
from . import _compiled

def cudaFree(pointer):
    return _compiled.free(pointer)

def other():
    return _compiled.other()
""",
    "a known function that a decorator wraps, or does not": """
### pkg/__init__.py
### pkg/m.py
import torch

torch.cuda.get_device_name()  # expect: device-init-at-import
torch.cuda.other()
### beside/torch/__init__.py
from . import cuda
### beside/torch/cuda.py
from ._names import get_device_name, other
### beside/torch/_names.py
from . import _compiled

def api(function):
    def wrapper(*given):
        return function(*given)
    return wrapper if _compiled.flag else function

@api
def get_device_name():
    return ""

@api
def other():
    return ""
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(SOURCES))
def test_source_at_hand_does_not_hide_what_is_known(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, Setting(runs=False))


CATALOGUED = """
### {0}/__init__.py
### {0}/compilation_context.py
import torch

class CompilationContext:
    def __init__(self):
        {1}
### {0}/utils.py
import torch

def get_compute_capability(device):
    {2}
### {0}/m.py
from .compilation_context import CompilationContext
from .utils import get_compute_capability

current = CompilationContext()
current.get_nvcc_flags_list()
level = get_compute_capability("cuda:0")
"""
ASKS = "self.level = torch.cuda.get_device_capability(0)", "return torch.cuda.get_device_capability(device)"


def _told(folder: Path, package: str, *bodies: str) -> list[tuple[int | None, str, list[str]]]:
    """Line, verdict and way of what is found in the module that calls."""
    lay_out(CATALOGUED.format(package, *bodies), folder)
    found = [one for one in findings_of(folder, Setting(paths=(package,))) if one.module == f"{package}.m"]
    ways = [[f"{step.symbol}:{step.line}" for step in one.chain.steps] for one in found]
    lines = [one.line for one in found]
    verdicts = [one.verdict.value for one in found]
    return [
        (line, verdict, [step.replace(package, "package") for step in way])
        for line, verdict, way in zip(lines, verdicts, ways, strict=True)
    ]


def test_checked_code_is_followed_whatever_is_known_of_its_name(tmp_path: Path) -> None:
    known, unknown = (_told(tmp_path / name, name, *ASKS) for name in ("flashinfer", "flashless"))
    assert known == unknown
    assert [(line, verdict) for line, verdict, _ in known] == [(4, "certain"), (6, "certain")]
    assert {way[-1] for _, _, way in known} == {"torch.cuda.get_device_capability:None"}


def test_what_checked_code_does_not_show_is_known_all_the_same(tmp_path: Path) -> None:
    told = _told(tmp_path, "flashinfer", "self.level = open('level')", "return device.level")
    assert [(line, verdict, way[-1]) for line, verdict, way in told] == [
        (4, "certain", "package.compilation_context.CompilationContext:None"),
        (6, "certain", "package.utils.get_compute_capability:None"),
    ]


def test_a_library_that_is_presumed_to_answer_may_fail_all_the_same(tmp_path: Path) -> None:
    text = """
import pynvml
import torch

try:
    pynvml.nvmlInit()
except pynvml.NVMLError:
    torch.cuda.is_available()  # expect: driver-init-at-import possible
"""
    assert_as_expected(text, tmp_path, Setting(runs=False))


def test_what_needs_another_kind_of_gpu_raises_and_its_handler_goes_on(tmp_path: Path) -> None:
    """As DeepSpeed 0.19.8 looks for an accelerator."""
    text = """
import torch

def found():
    name = None
    try:
        torch.mps.current_allocated_memory()
        name = "mps"
    except (RuntimeError, ImportError):
        pass
    if name is None and torch.cuda.is_available():
        name = "cuda"
    return name

NAME = found()  # expect: driver-init-at-import

try:
    torch.mps.synchronize()
except ImportError:
    pass
torch.cuda.init()
"""
    assert_as_expected(text, tmp_path, Setting(runs=False))


def test_to_apply_what_a_call_returned_is_not_to_make_the_call_again(tmp_path: Path) -> None:
    text = """
import torch

@torch.cuda.amp.autocast(enabled=False)
def without(x):
    return x

@torch.cuda.amp.autocast()  # expect: driver-init-at-import
def within(x):
    return x
"""
    assert_as_expected(text, tmp_path, Setting(runs=False))
