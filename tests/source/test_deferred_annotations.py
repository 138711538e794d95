"""From Python 3.14 on annotations wait for who reads them: that Python is asked where it runs the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import RUNNING, Setting, assert_as_expected

SETTING = Setting(target_version=(3, 14), runs=RUNNING >= (3, 14))
CASES = {
    "nobody reads them": """
import torch
class A:
    level: torch.cuda.get_device_capability()
    def f(self, level: torch.cuda.get_device_capability()) -> torch.cuda.get_device_name(): ...
level: torch.cuda.get_device_capability() = 1
def f[T: torch.cuda.get_device_capability()](x: T = None): ...
type Level = torch.cuda.get_device_capability()
""",
    "a dataclass": """
import dataclasses
from dataclasses import dataclass, field
import torch
@dataclass  # expect: device-init-at-import
class A:
    level: torch.cuda.get_device_capability()
@dataclasses.dataclass(frozen=True)  # expect: device-init-at-import
class B:
    text: str
    level: int | torch.cuda.get_device_capability() = 1
@dataclass
class C:
    level: "torch.cuda.get_device_capability()"
    other: int
""",
    "what is made out of annotations": """
from typing import Generic, NamedTuple, Protocol, TypedDict, TypeVar
import torch
T = TypeVar("T")
class A(NamedTuple):  # expect: device-init-at-import
    level: type(torch.cuda.get_device_name())
class B(TypedDict):  # expect: device-init-at-import
    level: type(torch.cuda.get_device_name())
class C(Protocol):  # expect: device-init-at-import
    level: type(torch.cuda.get_device_name())
class D(Generic[T]):
    level: type(torch.cuda.get_device_name())
""",
    "who asks for them": """
import inspect
import typing
import torch
class A:
    level: torch.cuda.get_device_capability()
class B(A):
    pass
def f(level: torch.cuda.get_device_capability()): ...
A.__annotations__  # expect: device-init-at-import
""",
    "who asks for hints": """
import typing
import torch
class A:
    level: typing.Optional[torch.cuda.get_device_capability.__class__] = None
    other: len(str(torch.cuda.get_device_capability())) and int = 1
class B(A):
    pass
typing.get_type_hints(B)  # expect: device-init-at-import
""",
    "who asks a function": """
import torch
def f(level: torch.cuda.get_device_capability()) -> None: ...
f.__annotations__  # expect: device-init-at-import
""",
    "annotations that are text": """
from __future__ import annotations
from dataclasses import dataclass
import torch
@dataclass
class A:
    level: torch.cuda.get_device_capability()
def f(level: torch.cuda.get_device_capability()) -> None: ...
f.__annotations__
""",
}


@pytest.mark.parametrize("text", CASES.values(), ids=[name.replace(" ", "-") for name in CASES])
def test_annotations_run_for_who_reads_them(text: str, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, SETTING)


def test_up_to_python_3_13_they_run_where_they_stand(tmp_path: Path) -> None:
    text = """
from dataclasses import dataclass
import torch
@dataclass
class A:
    level: torch.cuda.get_device_capability()  # expect: device-init-at-import
"""
    assert_as_expected(text, tmp_path, Setting(target_version=(3, 13), runs=RUNNING < (3, 14)))
