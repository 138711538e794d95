"""`torch.compile` where it stands: some versions of torch ask for the GPU before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected

PROGRAM = """
### m.py
import torch
from torch import compile as compiled

fuser = torch.jit.script
if torch.__version__ >= "2":
    fuser = torch.compile

@torch.compile  #
def plainly(x):
    return x

@compiled(dynamic=True)  #
def by_a_factory(x):
    return x

@torch.compile(backend="inductor", mode="max-autotune")  #
def by_name(x):
    return x

@fuser  #
def fused(x):
    return x

A = torch.compile(plainly)  #
B = torch.compile(model=torch.nn.Linear(2, 2))  #
KEPT = torch.compile(dynamic=True)

@torch.compile(fullgraph=True)
def whole(x):
    return x

@torch.compile(backend="eager")
def elsewhere(x):
    return x

@torch.compile(disable=True)
def never(x):
    return x

def lazily(function):
    def call(*arguments):
        return torch.compile(function)(*arguments)
    return call

@lazily
def later(x):
    return x
### beside/torch-{version}.dist-info/METADATA
Metadata-Version: 2.1
Name: torch
Version: {version}
"""

SAID = {
    "2.0.1": "",
    "2.1.2": " expect: device-init-at-import",
    "2.3.1": " expect: device-init-at-import",
    "2.4.1": "",
    "2.6.0": "",
    "2.7.1": " expect: driver-init-at-import",
    "2.12.0": " expect: driver-init-at-import",
    "2.13.0": "",
}
COLD = Setting(runs=False)


@pytest.mark.parametrize(("version", "said"), SAID.items(), ids=SAID)
def test_a_decorated_function_wakes_what_its_torch_wakes(version: str, said: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("{version}", version).replace("  #\n", f"  #{said}\n")
    assert_as_expected(text, tmp_path, COLD)


def test_without_a_version_it_depends_on_the_version(tmp_path: Path) -> None:
    text = PROGRAM.partition("### beside")[0]
    text = text.replace("  #\n", "  # expect: driver-init-at-import conditional\n")
    findings = assert_as_expected(text, tmp_path, COLD)
    assert {finding.condition for finding in findings} >= {"torch 2.7 to 2.12 is installed"}


@pytest.mark.parametrize("version", ["2.8.0", None])
def test_the_variable_that_lets_nvml_answer_silences_it(version: str | None, tmp_path: Path) -> None:
    sets = 'import os\nos.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"\n'
    text = PROGRAM.replace("### m.py\n", f"### m.py\n{sets}")
    text = text.replace("{version}", version) if version else text.partition("### beside")[0]
    assert_as_expected(text, tmp_path, COLD)


DEVICES = """
### m.py
import dataclasses
import torch

@dataclasses.dataclass
class Context:
    stream: torch.get_device_module().Stream  # expect: driver-init-at-import
    named: torch.get_device_module("cuda").Stream

A = torch.get_device_module(None)  # expect: driver-init-at-import
B = torch.device("cuda:0")
C = torch.device(0)  #
### beside/torch-{version}.dist-info/METADATA
Metadata-Version: 2.1
Name: torch
Version: {version}
"""


@pytest.mark.parametrize(
    ("version", "said"), [("2.4.1", ""), ("2.5.1", " expect: driver-init-at-import"), ("2.7.0", "")]
)
def test_the_current_accelerator_is_asked_for(version: str, said: str, tmp_path: Path) -> None:
    text = DEVICES.replace("{version}", version).replace("  #\n", f"  #{said}\n")
    assert_as_expected(text, tmp_path, Setting(runs=False, target_version=(3, 12)))


def test_quoted_and_postponed_annotations_ask_for_nothing(tmp_path: Path) -> None:
    text = "from __future__ import annotations\n" + DEVICES.replace("### m.py\n", "").partition("\nA =")[0]
    text = text.replace("  # expect: driver-init-at-import", "")
    assert_as_expected(text, tmp_path, COLD)
