"""Names: which of several bindings counts, seen from inside, from other modules, and from functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "names that are rebound, seen from another module": """
### pkg/__init__.py
### pkg/user.py
from pkg.versions import ask, level
ask()
level()  # expect: device-init-at-import
### pkg/versions.py
import torch

def ask():
    return torch.cuda.get_device_name()

def ask():
    return 1

level = int
level = torch.cuda.get_device_name
""",
    "a class inside a class, seen from another module": """
### pkg/__init__.py
### pkg/a.py
from pkg.nested import Outer
Outer.Inner().level()  # expect: device-init-at-import
### pkg/nested.py
import torch

class Outer:
    class Base:
        def level(self):
            return torch.cuda.get_device_name()

    class Inner(Base):
        pass
""",
    "imports in functions and in branches": """
### pkg/__init__.py
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_name()
### pkg/a.py
def plainly():
    import pkg.ask
    return pkg.ask.level()

def renamed():
    import pkg.ask as asking
    return asking.level()

A = plainly()  # expect: device-init-at-import
B = renamed()  # expect: device-init-at-import
### pkg/b.py
import os

if len(os.listdir(".")) >= 0:
    import pkg.ask as asking
else:
    import pkg as asking

C = asking.level()  # expect: device-init-at-import conditional
""",
    "modules by their names": """
### pkg/__init__.py
### pkg/ask.py
import sys
import torch

def level():
    return torch.cuda.get_device_name()

A = sys.modules[__name__].level()  # expect: device-init-at-import
### pkg/user.py
import sys
import pkg.ask

B = sys.modules["pkg.ask"].level()  # expect: device-init-at-import
C = sys.path["pkg.ask".find("p")]
""",
    "an attribute that a class body binds twice": """
import torch

class Field:
    def __set_name__(self, owner, name):
        torch.cuda.get_device_name()

class Backend:  # expect: device-init-at-import
    level = None
    level = Field()
""",
    "hasattr": """
import torch

class Plain:
    field = 1

if hasattr(Plain(), "__dict__"):
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if hasattr(Plain(), "absent"):
    torch.cuda.get_device_name()
if hasattr(Plain(), "field"):
    torch.cuda.get_device_name()  # expect: device-init-at-import
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS))
def test_a_name_means_what_was_bound_last(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
