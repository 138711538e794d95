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
    "a name bound in steps, seen from another module": """
### pkg/__init__.py
### pkg/a.py
import torch
from pkg.steps import number
if number == 3:
    torch.cuda.get_device_name()  # expect: device-init-at-import
### pkg/steps.py
for number in (1,):
    pass
number = number + 1
number = number + 1
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
    "a star that brings a submodule": """
### pkg/__init__.py
### pkg/a.py
from pkg.deep import *
A = leaf.level()  # expect: device-init-at-import
### pkg/b.py
from pkg.open import *
B = leaf.level() if "leaf" in globals() else 1
### pkg/deep/__init__.py
__all__ = ["leaf"]
### pkg/deep/leaf.py
import torch

def level():
    return torch.cuda.get_device_name()
### pkg/open/__init__.py
### pkg/open/leaf.py
import torch

def level():
    return torch.cuda.get_device_name()
""",
    "names from stars, from submodules and inside functions": """
### pkg/__init__.py
### pkg/a_user.py
from pkg.public import *
A = given()  # expect: device-init-at-import
B = _hidden() if "_hidden" in globals() else 1
### pkg/b_func.py
def start():
    from pkg.lazy import level as ask, other
    other()
    return ask()

A = start()  # expect: device-init-at-import
### pkg/c_sub.py
import pkg.deep.leaf
import pkg.deep.leaf as leaf
from pkg.deep import leaf as renamed
from pkg import deep

A = pkg.deep.leaf.level()  # expect: device-init-at-import
B = leaf.level()  # expect: device-init-at-import
C = renamed.level()  # expect: device-init-at-import
D = deep.leaf.level()  # expect: device-init-at-import
### pkg/e_late.py
from pkg.public import *
from pkg.lazy import *
A = given()
### pkg/f_shadow.py
from pkg.public import *

def given():
    return 1

A = given()
### pkg/deep/__init__.py
__all__ = ["leaf"]
### pkg/deep/leaf.py
import torch

def level():
    return torch.cuda.get_device_name()
### pkg/lazy.py
import torch

def level():
    return torch.cuda.get_device_name()

def other():
    return 1

def given():
    return 1
### pkg/public.py
import torch

def given():
    return torch.cuda.get_device_name()

def _hidden():
    return torch.cuda.get_device_name()
""",
    "names that a module lacks": """
### pkg/__init__.py
### pkg/plain.py
present = 1
### pkg/dynamic.py
globals()["made"] = 1
### pkg/a.py
import torch
try:
    from pkg.plain import absent
except ImportError:
    torch.cuda.get_device_name()  # expect: device-init-at-import
try:
    from pkg.plain import present
except ImportError:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
try:
    from pkg.dynamic import made
except ImportError:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
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
