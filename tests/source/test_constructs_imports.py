"""Imports: parents' `__init__`, stars, re-exports, relative imports, lazy modules, guards on an import."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

ASK = """
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
"""

WAKES = {
    "a function of another module": f"""
### pkg/__init__.py{ASK}
### pkg/a.py
from pkg.ask import level
A = level()  # expect: device-init-at-import
### pkg/b.py
import pkg.ask
B = pkg.ask.level()  # expect: device-init-at-import
### pkg/c.py
import pkg.ask as asking
C = asking.level()  # expect: device-init-at-import
### pkg/d.py
from . import ask
D = ask.level()  # expect: device-init-at-import
### pkg/e.py
from .ask import level as ask_level
E = ask_level()  # expect: device-init-at-import
### pkg/f.py
from pkg import ask as asking
F = asking.level()  # expect: device-init-at-import
""",
    "relative imports across folders": f"""
### pkg/__init__.py{ASK}
### pkg/sub/__init__.py
### pkg/sub/deep/__init__.py
### pkg/sub/deep/a.py
from ...ask import level
from ... import ask
A = level()  # expect: device-init-at-import
B = ask.level()  # expect: device-init-at-import
### pkg/sub/b.py
from .. import ask
from ..ask import *
A = ask.level()  # expect: device-init-at-import
B = level()  # expect: device-init-at-import
""",
    "star imports": """
### pkg/__init__.py
### pkg/all.py
import torch

__all__ = ["given"]

def given():
    return torch.cuda.get_device_capability()

def hidden():
    return torch.cuda.get_device_capability()
### pkg/public.py
import torch

def given():
    return torch.cuda.is_available()

def _hidden():
    return torch.cuda.get_device_capability()
### pkg/middle.py
from .all import *
### pkg/a.py
from pkg.all import *
A = given()  # expect: device-init-at-import
### pkg/b.py
from pkg.public import *
B = given()  # expect: driver-init-at-import
### pkg/c.py
from pkg.middle import *
C = given()  # expect: device-init-at-import
### pkg/d.py
from torch.cuda import *
""",
    "re-exports": f"""
### pkg/__init__.py
from .ask import level
from .ask import level as other
from . import ask as asking{ASK}
### pkg/a.py
from pkg import level, other, asking
A = level()  # expect: device-init-at-import
B = other()  # expect: device-init-at-import
C = asking.level()  # expect: device-init-at-import
### pkg/b.py
import pkg
A = pkg.level()  # expect: device-init-at-import
B = pkg.ask.level()  # expect: device-init-at-import
""",
    "a package's root that pulls in a waking module": """
### pkg/__init__.py
from .level import LEVEL  # expect: waking-import
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/other.py
import pkg
""",
    "a package that re-exports a waking module": """
### pkg/__init__.py
### pkg/ops/__init__.py
from .gather import gather  # expect: eager-reexport
from .shapes import round_up
### pkg/ops/gather.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import

def gather(): ...
### pkg/ops/shapes.py
def round_up(): ...
### pkg/user.py
from pkg.ops.shapes import round_up
""",
    "a re-export through two packages": """
### pkg/__init__.py
from pkg.ops import gather  # expect: waking-import
### pkg/ops/__init__.py
from pkg.ops.inner import gather  # expect: eager-reexport
### pkg/ops/inner/__init__.py
from pkg.ops.inner.gather import gather  # expect: eager-reexport
### pkg/ops/inner/gather.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
gather = 1
""",
    "importing a submodule runs its parents": """
### pkg/__init__.py
import pkg.ops.shapes  # expect: waking-import
### pkg/ops/__init__.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/ops/shapes.py
SHAPE = 1
""",
    "an import inside a function that is called": """
### pkg/__init__.py
from .lazy import start
start()  # expect: waking-import
### pkg/lazy.py
def start():
    from . import level
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "an import in a class body": """
### pkg/__init__.py
class Backend:
    from .level import LEVEL  # expect: waking-import
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a guard on an import": """
### pkg/__init__.py
import os
if len(os.listdir(".")) > 1000000:
    from . import level  # expect: waking-import conditional
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a gate of the author's in a plain module": """
### pkg/__init__.py
### pkg/user.py
import os
if len(os.listdir(".")) > 1000000:
    from pkg import level  # expect: waking-import conditional
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "importlib.import_module with a constant": """
### pkg/__init__.py
import importlib
importlib.import_module("pkg.level")  # expect: waking-import
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import

def ask():
    return torch.cuda.get_device_capability()
### pkg/a.py
from importlib import import_module
ask = import_module(".level", package="pkg").ask
A = ask()  # expect: device-init-at-import
B = getattr(import_module("pkg.level"), "ask")()  # expect: device-init-at-import
C = __import__("pkg.level").level.ask()  # expect: device-init-at-import
D = import_module(".level", __package__).ask()  # expect: device-init-at-import
""",
    "a registry of names": """
### pkg/__init__.py
### pkg/registry.py
import importlib

NAMES = {"warm": "pkg.warm:Backend", "cold": "pkg.cold:Backend"}

def resolve(name):
    module, _, attribute = NAMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
### pkg/warm.py
import torch

class Backend:
    def __init__(self):
        torch.cuda.get_device_capability()
### pkg/cold.py
class Backend:
    pass
### pkg/user.py
from pkg.registry import resolve
A = resolve("warm")()  # expect: device-init-at-import
B = resolve("cold")()
""",
    "a registry of names whose import wakes": """
### pkg/__init__.py
import importlib

for name in ("cold", "warm"):
    importlib.import_module(f"pkg.{name}")  # expect: waking-import
### pkg/warm.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/cold.py
""",
    "a module's __getattr__": """
### pkg/__init__.py
### pkg/lazy.py
import torch

present = 1

def __getattr__(name):
    if name == "level":
        return torch.cuda.get_device_capability()
    raise AttributeError(name)
### pkg/a.py
from pkg.lazy import level  # expect: device-init-at-import
### pkg/b.py
from pkg.lazy import present
### pkg/c.py
from pkg import lazy
A = lazy.level  # expect: device-init-at-import
B = lazy.present
C = getattr(lazy, "level")  # expect: device-init-at-import
D = getattr(lazy, "other", None)
""",
    "a lazy package whose name somebody reads": """
### pkg/__init__.py
### pkg/ops/__init__.py
def __getattr__(name):
    if name == "gather":
        from .warm import gather
        return gather
    if name == "shape":
        from .cold import shape
        return shape
    raise AttributeError(name)
### pkg/ops/warm.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
gather = 1
### pkg/ops/cold.py
shape = 1
### pkg/a.py
from pkg.ops import gather
### pkg/b/__init__.py
from pkg.ops import gather  # expect: eager-reexport
### pkg/c/__init__.py
from pkg.ops import shape
""",
    "a package that replaces itself by a lazy one": """
### pkg/__init__.py
### pkg/kit/__init__.py
import importlib
import sys
import types
from typing import TYPE_CHECKING

class Lazy(types.ModuleType):
    def __init__(self, name, path, where):
        super().__init__(name)
        self.__path__ = path
        self._where = where

    def __getattr__(self, name):
        if name not in self._where:
            raise AttributeError(name)
        return getattr(importlib.import_module(f"{self.__name__}.{self._where[name]}"), name)

if TYPE_CHECKING:
    from .cold import Shape
    from .warm import Thing
else:
    sys.modules[__name__] = Lazy(__name__, __path__, {"Thing": "warm", "Shape": "cold"})
### pkg/kit/warm.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
class Thing: ...
### pkg/kit/cold.py
class Shape: ...
### pkg/a/__init__.py
from pkg.kit import Thing  # expect: eager-reexport
### pkg/b/__init__.py
from pkg.kit import Shape
### pkg/c/__init__.py
import pkg.kit
### pkg/d/__init__.py
def thing():
    from pkg.kit import Thing
    return Thing
### pkg/e/__init__.py
def thing():
    from pkg.kit import Thing
    return Thing
KEPT = thing()  # expect: eager-reexport
""",
    "circular imports": """
### pkg/__init__.py
### pkg/a.py
from . import b

def level():
    return b.level()

A = level()  # expect: device-init-at-import
### pkg/b.py
import torch

def level():
    return torch.cuda.get_device_capability()

from . import a
""",
    "the same name in a module and a submodule": """
### pkg/__init__.py
from .level import level
### pkg/level.py
import torch

def level():
    return torch.cuda.get_device_capability()
### pkg/user.py
from pkg import level
LEVEL = level()  # expect: device-init-at-import
""",
    "an import that rebinds a name": """
### pkg/__init__.py
### pkg/warm.py
import torch

def ask():
    return torch.cuda.get_device_capability()
### pkg/cold.py
def ask():
    return 1
### pkg/user.py
from pkg.warm import ask
from pkg.cold import ask
A = ask()
from pkg.warm import ask
B = ask()  # expect: device-init-at-import
""",
    "both arms of a try with imports": """
### pkg/__init__.py
### pkg/warm.py
import torch

def ask():
    return torch.cuda.get_device_capability()
### pkg/cold.py
def ask():
    return 1
### pkg/a.py
try:
    from pkg.warm import ask
except ImportError:
    from pkg.cold import ask
A = ask()  # expect: device-init-at-import
### pkg/b.py
try:
    from there_is_no_such_module_anywhere import ask
except ImportError:
    from pkg.warm import ask
B = ask()  # expect: device-init-at-import conditional
""",
    "an optional package that is not here": """
### pkg/__init__.py
from pkg import tried  # expect: waking-import conditional
### pkg/tried.py
try:
    import bitsandbytes  # expect: waking-import conditional
except ImportError:
    bitsandbytes = None
### pkg/found.py
from importlib.util import find_spec

def is_there():
    return find_spec("bitsandbytes") is not None

if is_there():
    import bitsandbytes  # expect: waking-import conditional
### pkg/inside.py
from importlib.util import find_spec

def start():
    if find_spec("bitsandbytes") is not None:
        import bitsandbytes
        return bitsandbytes
    return None

start()  # expect: waking-import conditional
### pkg/needed.py
import bitsandbytes  # expect: waking-import
""",
    "a name that a module does not have": """
### pkg/__init__.py
### pkg/thin.py
import torch
### pkg/user.py
import torch
try:
    from pkg.thin import fast
except ImportError:
    fast = None
if fast is None:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "sys.modules and __all__ of a package": """
### pkg/__init__.py
__all__ = ["warm"]
### pkg/warm.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/sub/__init__.py
from pkg import *  # expect: eager-reexport
""",
    "tests inside a package": """
### pkg/__init__.py
### pkg/tests/__init__.py
### pkg/tests/test_level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/test_other.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/level.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### conftest.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
}

SILENT = {
    "imports inside functions": """
### pkg/__init__.py
def start():
    from pkg import cold
    import pkg.cold
    return cold
### pkg/cold.py
VALUE = 1
""",
    "an import under TYPE_CHECKING": """
### pkg/__init__.py
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from pkg.ask import level
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
""",
    "a lazy package": """
### pkg/__init__.py
__all__ = ["level"]

def __getattr__(name):
    if name == "level":
        import torch
        return torch.cuda.get_device_capability()
    raise AttributeError(name)
### pkg/user.py
import pkg
from pkg import other
### pkg/other.py
""",
    "find_spec looks only": """
### pkg/__init__.py
import importlib.util
FOUND = importlib.util.find_spec("pkg.ask") is not None
### pkg/ask.py
import torch

def level():
    return torch.cuda.get_device_capability()
""",
    "stubs": """
### pkg/__init__.py
from .level import level
### pkg/level.py
def level():
    return 1
### pkg/level.pyi
import torch
LEVEL = torch.cuda.get_device_capability()
def level() -> int: ...
""",
}


#: What CPython does with a package that is not installed here says nothing.
MISSING = {"an optional package that is not here": Setting(runs=False)}


@pytest.mark.parametrize(("text", "setting"), cases(WAKES, MISSING))
def test_imports_are_followed(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


@pytest.mark.parametrize(("text", "setting"), cases(SILENT))
def test_lazy_imports_stay_silent(text: str, setting: Setting, tmp_path: Path) -> None:
    assert "expect" not in text
    assert_as_expected(text, tmp_path, setting)


CIRCLE = """
### pkg/__init__.py
### pkg/core.py
from pkg import tree
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/tree.py
from pkg import core
"""


IN_ITS_PACKAGE = """
### pkg/__init__.py
import torch
LEVEL = torch.cuda.get_device_capability()
### pkg/core.py
from pkg import tree
### pkg/tree.py
import other
### other.py
import pkg
"""
CALLED_BACK = """
### pkg/__init__.py
### pkg/core.py
import torch

def level():
    return torch.cuda.get_device_capability()

from pkg import tree  # expect: waking-import
### pkg/tree.py
from pkg import core
core.level()
"""


@pytest.mark.parametrize("text", [CIRCLE, IN_ITS_PACKAGE, CALLED_BACK], ids=["circle", "package", "call"])
def test_a_part_of_a_package_is_blamed_for_no_body_that_is_running_already(text: str, tmp_path: Path) -> None:
    """Whoever imports such a module gets what there is of it; its functions do what they do."""
    assert_as_expected(text, tmp_path, Setting(paths=("pkg/core.py",), runs=False))


def test_tests_are_told_apart(tmp_path: Path) -> None:
    findings = assert_as_expected(WAKES["tests inside a package"], tmp_path)
    assert {one.path: one.test for one in findings} == {
        "pkg/tests/test_level.py": True,
        "pkg/test_other.py": True,
        "pkg/level.py": False,
        "conftest.py": True,
    }


def test_the_chain_of_a_reexport_names_every_module(tmp_path: Path) -> None:
    findings = assert_as_expected(WAKES["a re-export through two packages"], tmp_path)
    (root,) = (one for one in findings if one.rule == "waking-import")
    assert [(step.kind.value, step.path, step.line) for step in root.chain.steps] == [
        ("import", "pkg/__init__.py", 1),
        ("import", "pkg/ops/__init__.py", 1),
        ("import", "pkg/ops/inner/__init__.py", 1),
        ("import", "pkg/ops/inner/gather.py", 2),
        ("sink", None, None),
    ]


def test_who_imports_the_package_is_counted(tmp_path: Path) -> None:
    findings = assert_as_expected(WAKES["a package that re-exports a waking module"], tmp_path)
    (reexport,) = (one for one in findings if one.rule == "eager-reexport")
    assert "1 module imports this package" in reexport.message


ENTRY = """
### pkg/__init__.py
### pkg/main.py
import os
import pkg.near
if len(os.listdir(".")) > 1000000:
    import pkg.guarded  # expect: waking-import conditional
### pkg/near.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
### pkg/guarded.py
import torch
LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
### pkg/far.py
import torch
LEVEL = torch.cuda.get_device_capability()
"""


def test_an_entry_shows_only_what_importing_it_runs(tmp_path: Path) -> None:
    assert_as_expected(ENTRY, tmp_path, Setting(entries=("pkg.main",), runs=False))
