"""tools/derive_torch.py follows torch's own code; here a small torch with the shapes that matter."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parent.parent.parent / "tools"

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not TOOLS.exists(), reason="the tools are not part of an installed package"),
]

CUDA = """
import contextlib
import os
import threading
import torch
from torch import device as _device
from ._utils import _get_device_index

_initialized = False
_tls = threading.local()
_is_in_bad_fork = getattr(torch._C, "_cuda_isInBadFork", lambda: False)


def is_initialized():
    return _initialized and not _is_in_bad_fork()


def _lazy_init():
    if is_initialized() or hasattr(_tls, "is_initializing"):
        return
    if not hasattr(torch._C, "_cuda_getDeviceCount"):
        raise AssertionError("not compiled")
    torch._C._cuda_init()


def _device_count_nvml():
    return -1


def device_count():
    count = _device_count_nvml()
    return torch._C._cuda_getDeviceCount() if count < 0 else count


def is_available():
    if os.getenv("PYTORCH_NVML_BASED_CUDA_CHECK") == "1":
        return device_count() > 0
    return torch._C._cuda_getDeviceCount() > 0


def current_device():
    _lazy_init()
    return torch._C._cuda_getDevice()


def guarded(device=None):
    if not is_initialized():
        return {}
    return current_device()


def only_without_a_device(device=None):
    return _get_device_index(device, True)


def sometimes(flag):
    if flag.is_set:
        _lazy_init()


def on_rocm_only():
    if torch.version.hip:
        return current_device()
    return None


def through_a_block():
    with switched(0):
        pass


def over_all_devices():
    for index in range(device_count()):
        current_device()


def asks_an_undescribed_function():
    return torch._C._cuda_mystery()


def only_without_a_device_by_position(device=None, /):
    return _get_device_index(device, True)


def only_with_a_name(name, device=None):
    if name is not None:
        return current_device()


def asks_an_unknown_object(owner):
    return owner.current_device()


def in_a_build_for_xpu():
    if hasattr(torch._C, "_xpu_init"):
        return current_device()


def after_gathering(jobs):
    failed = []
    for job in jobs:
        failed.append(job)
    if failed:
        raise RuntimeError
    return current_device()


@contextlib.contextmanager
def entered():
    current_device()
    yield


def of_no_tensor(device=None):
    if isinstance(device, torch.device):
        return None
    return current_device()


class Lazily:
    default = None

    def __init__(self):
        if self.__class__.default is None:
            self.__class__.default = current_device()


class switched:
    limit = 8

    def __init__(self, index):
        self.index = index

    def __enter__(self):
        if self.index is None:
            return
        torch._C._cuda_exchangeDevice(self.index)

    def __exit__(self, *exc):
        return False


class Stream(torch._C._CudaStreamBase):
    def __new__(cls, device=None):
        return super().__new__(cls)


class Numbered(torch._C._CudaStreamBase):
    def __new__(cls):
        return super().__new__(cls)

    def __init__(self):
        self.number = 0


class Event(torch._C._CudaEventBase):
    def record(self):
        super().record()

    def query(self):
        return super().query()


from .memory import *
"""

UTILS = """
import torch


def _get_device_index(device, optional=False):
    if isinstance(device, int):
        return device
    if device is None and optional:
        return torch.cuda.current_device()
    raise ValueError(device)
"""

MEMORY = """
from . import is_initialized, current_device

__all__ = ["empty_cache", "mem_get_info"]


def empty_cache():
    if is_initialized():
        current_device()


def mem_get_info(device=None):
    return current_device()
"""


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Derive the facts from two versions; the second one's is_available asks nothing but NVML."""
    root = tmp_path_factory.mktemp("torch")
    newer = CUDA.replace('os.getenv("PYTORCH_NVML_BASED_CUDA_CHECK") == "1"', "True")
    sources = [_version(root, "2.1.0", CUDA), _version(root, "2.2.0", newer)]
    target = root / "out.toml"
    done = subprocess.run(
        [sys.executable, str(TOOLS / "derive_torch.py"), "--output", str(target), *map(str, sources)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return tomllib.loads(target.read_text("utf-8"))


def _version(root: Path, number: str, cuda: str) -> Path:
    """The sources of one version of the small torch."""
    package = root / number / "torch"
    (package / "cuda").mkdir(parents=True)
    (package / "__init__.py").write_text("from torch._C import *\n", "utf-8")
    (package / "version.py").write_text(f"__version__ = '{number}+cu128'\n", "utf-8")
    for name, text in (("__init__", cuda), ("_utils", UTILS), ("memory", MEMORY)):
        (package / "cuda" / f"{name}.py").write_text(textwrap.dedent(text), "utf-8")
    return root / number


def _about(derived: dict[str, Any], symbol: str) -> list[tuple[str, str, str, str]]:
    """Accelerators, effect, versions and what softens it, of every entry about a symbol."""
    return [
        (
            " ".join(entry["accelerator"]),
            entry["does"],
            entry.get("versions", ""),
            " ".join(key for key in ("only_if", "unless_env", "unless_argument") if key in entry),
        )
        for entry in derived["effect"]
        if symbol in entry.get("calls", ())
        or any(
            symbol == f"{receiver}@{name}"
            for name in entry.get("methods", ())
            for receiver in entry["receivers"]
        )
    ]


BOTH = "cuda rocm"


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("torch.cuda.current_device", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda._lazy_init", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.device_count", [(BOTH, "initialises-driver", "", "only_if")]),
        (
            "torch.cuda.is_available",
            [
                (BOTH, "initialises-driver", "<2.2.0", "unless_env"),
                (BOTH, "initialises-driver", ">=2.2.0", "only_if"),
            ],
        ),
        ("torch.cuda.only_without_a_device", [(BOTH, "creates-context", "", "unless_argument")]),
        ("torch.cuda.only_without_a_device_by_position", [(BOTH, "creates-context", "", "unless_argument")]),
        ("torch.cuda.only_with_a_name", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.in_a_build_for_xpu", []),
        ("torch.cuda.after_gathering", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.Lazily", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.Numbered", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.entered", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.of_no_tensor", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.Event", []),
        ("torch.cuda.Event@record", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.Event@query", []),
        ("torch.cuda.on_rocm_only", [("rocm", "creates-context", "", "")]),
        ("torch.cuda.through_a_block", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.over_all_devices", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.Stream", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.switched", []),
        ("torch.cuda.switched@__enter__", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.mem_get_info", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.memory.mem_get_info", [(BOTH, "creates-context", "", "")]),
        ("torch.cuda.guarded", []),
        ("torch.cuda.empty_cache", []),
        ("torch.cuda.sometimes", []),
        ("torch.cuda.asks_an_undescribed_function", []),
    ],
)
def test_what_a_function_reaches(
    derived: dict[str, Any], symbol: str, expected: list[tuple[str, str, str, str]]
) -> None:
    assert sorted(_about(derived, symbol)) == sorted(expected)


@pytest.mark.parametrize(
    ("symbol", "harmless"),
    [
        ("torch.cuda.guarded", True),
        ("torch.cuda.is_initialized", True),
        ("torch.cuda.memory.empty_cache", True),
        ("torch.cuda.empty_cache", True),
        ("torch.cuda.sometimes", False),
        ("torch.cuda.asks_an_undescribed_function", False),
        ("torch.cuda.asks_an_unknown_object", False),
        ("torch.cuda.in_a_build_for_xpu", True),
        ("torch.cuda.switched", False),
        ("torch.cuda.current_device", False),
    ],
)
def test_what_is_called_harmless(derived: dict[str, Any], symbol: str, harmless: bool) -> None:
    assert any(symbol in entry["prefixes"] for entry in derived.get("harmless", ())) is harmless


def test_the_versions_read_are_named(derived: dict[str, Any]) -> None:
    assert derived["summary"] == "Derived from the Python sources of torch 2.1.0, 2.2.0."
