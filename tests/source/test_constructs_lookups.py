"""Lookups from another module: names under guards, modules asked for by name, environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "tables that a function fills, for every module that asks": """
### pkg/__init__.py
### pkg/tools.py
import torch

def build():
    table = dict()
    for name in ("run", "walk"):
        table[name] = torch.cuda.get_device_name
    return table

class Register:
    def __init__(self):
        self.known = []
        self.known.append(torch.cuda.get_device_name)
        self.last = None

    def ask(self):
        for one in self.known:
            one()
        if self.last is not None:
            torch.cuda.get_device_capability()

TABLE = build()
REGISTER = Register()
### pkg/a.py
from pkg.tools import TABLE
SEEN = []

def mark():
    SEEN.append(1)

mark()
TABLE["run"]()  # expect: device-init-at-import
### pkg/b.py
from pkg.tools import TABLE
TABLE["run"]()  # expect: device-init-at-import
### pkg/c.py
from pkg.tools import REGISTER
REGISTER.ask()  # expect: device-init-at-import
### pkg/d.py
from pkg.tools import REGISTER
REGISTER.ask()  # expect: device-init-at-import
### pkg/e.py
from pkg.tools import build
build()["walk"]()  # expect: device-init-at-import
### pkg/f.py
from pkg.tools import build
build()["walk"]()  # expect: device-init-at-import
""",
    "names that mean what they did at their line": """
### pkg/__init__.py
### pkg/a.py
import torch

kind = None
taken = kind
kind = torch.cuda.get_device_name
later = kind
if taken is not None:
    taken()
### pkg/b.py
from pkg.a import later, taken
if taken is not None:
    taken()
later()  # expect: device-init-at-import
### pkg/c.py
import torch

class Chosen:
    kind = None
    taken = kind
    kind = torch.cuda.get_device_name
    if taken is not None:
        taken()

class Taken:
    kind = torch.cuda.get_device_name
    taken = kind
    kind = None

def start():
    Taken.taken()

start()  # expect: device-init-at-import
### pkg/d.py
import torch

kind = "cold"
if kind == "warm":
    ask = torch.cuda.get_device_name
else:
    ask = len
kind = "warm"
ask("hello")
### pkg/e.py
from pkg.d import ask
ask("hello")
### pkg/f.py
import torch

first, second = len, torch.cuda.get_device_name
first, second = second, first
### pkg/g.py
from pkg.f import first, second
second("hello")
first()  # expect: device-init-at-import
""",
    "names that a module binds under guards": """
### pkg/__init__.py
### pkg/names.py
import os
import sys

if sys.version_info >= (3, 8):
    NEW = 1
else:
    NEW = None

if sys.version_info < (3, 8):
    OLD = 1

if os.listdir("..") == 1:
    if sys.version_info < (3, 8):
        NESTED = 1

try:
    import json
except ImportError:
    json = None

try:
    import there_is_no_such_module as gone
except ImportError:
    gone = None

try:
    raise KeyError("x")
except ValueError:
    WRONG = 1
except KeyError:
    RIGHT = 1

try:
    SAME = NEW
except NameError:
    SAME = "other"

try:
    raise KeyError
except (ValueError, LookupError):
    LOOKED = 1

try:
    raise SystemExit
except Exception:
    STAYED = 1
except BaseException:
    LEFT = 1

try:
    raise ValueError
except:
    ANY = 1

try:
    if len(os.listdir("..")) > 100000:
        raise ValueError
    PERHAPS = 1
except ValueError:
    PERHAPS = 2

try:
    if os.environ.get("COLDFORK_NOWHERE"):
        raise ValueError
    USUAL = 1
except ValueError:
    USUAL = 2

if len(os.listdir("..")) > 100000:
    MANY = 1
else:
    MANY = None

GIVEN = 2
if os.environ.get("COLDFORK_NOWHERE"):
    GIVEN = 1

TWICE = 2
if os.environ.get("COLDFORK_NOWHERE"):
    if os.listdir(".."):
        TWICE = 1

class Options:
    if sys.version_info >= (3, 8):
        new = 1
    else:
        new = None
    kind = 1
    try:
        other = kind
    except NameError:
        other = 2
### pkg/user.py
import torch
import pkg.names as other
from pkg import names
from pkg.names import ANY, GIVEN, LEFT, LOOKED, MANY, NEW, PERHAPS, RIGHT, SAME, TWICE, USUAL, Options

ask = torch.cuda.get_device_name
if NEW == 1: ask()  # expect: device-init-at-import
if NEW is None: ask()
if hasattr(names, "OLD"): ask()  # expect: device-init-at-import conditional
if hasattr(names, "NESTED"): ask()  # expect: device-init-at-import conditional
if hasattr(names, "NEW"): ask()  # expect: device-init-at-import
if hasattr(names, "WRONG"): ask()  # expect: device-init-at-import conditional
if hasattr(names, "STAYED"): ask()  # expect: device-init-at-import conditional
if hasattr(names, "RIGHT"): ask()  # expect: device-init-at-import
if not hasattr(names, "RIGHT"): ask()
if other.json is not None: ask()  # expect: device-init-at-import
if names.gone is None: ask()  # expect: device-init-at-import conditional
if names.gone is not None: ask()  # expect: device-init-at-import conditional
if RIGHT == 1: ask()  # expect: device-init-at-import
if SAME == 1: ask()  # expect: device-init-at-import
if SAME == "other": ask()
if LOOKED == 1: ask()  # expect: device-init-at-import
if LEFT == 1: ask()  # expect: device-init-at-import
if ANY == 1: ask()  # expect: device-init-at-import
if PERHAPS == 1: ask()  # expect: device-init-at-import conditional
if PERHAPS == 2: ask()  # expect: device-init-at-import conditional
if USUAL == 1: ask()  # expect: device-init-at-import
if USUAL == 2: ask()  # expect: device-init-at-import conditional
if USUAL == 3: ask()
if MANY: ask()  # expect: device-init-at-import conditional
if not MANY: ask()  # expect: device-init-at-import conditional
if MANY == 2: ask()
if GIVEN == 1: ask()  # expect: device-init-at-import conditional
if GIVEN == 2: ask()  # expect: device-init-at-import
if GIVEN == 3: ask()
if TWICE == 1: ask()  # expect: device-init-at-import conditional
if TWICE == 2: ask()  # expect: device-init-at-import
if Options.new == 1: ask()  # expect: device-init-at-import
if Options.new is None: ask()
if Options.other == 1: ask()  # expect: device-init-at-import
if Options.other == 2: ask()
""",
    "names that are taken apart": """
### pkg/__init__.py
### pkg/lists.py
one, two = 1, 2
[three, (four, *five)] = 3, (4, 5)
six, *seven = 6, 7
### pkg/user.py
import torch
from pkg import lists
from pkg.lists import one, six, three, two

ask = torch.cuda.get_device_name
if one == 1: ask()  # expect: device-init-at-import
if two == 2: ask()  # expect: device-init-at-import
if two == 1: ask()
if three == 3: ask()  # expect: device-init-at-import
if lists.four == 4: ask()  # expect: device-init-at-import
if six == 6: ask()  # expect: device-init-at-import
if six == 7: ask()
if lists.seven == [7]: ask()  # expect: device-init-at-import
""",
    "modules that are asked for by name": """
### pkg/__init__.py
### pkg/sub/__init__.py
here = "sub"
### pkg/sub/leaf.py
here = "leaf"
### pkg/deep.py
here = "deep"
### pkg/user.py
import importlib.util
import torch
from importlib import import_module

ask = torch.cuda.get_device_name
if import_module("pkg.sub.leaf").here == "leaf": ask()  # expect: device-init-at-import
if import_module(".sub", "pkg").here == "sub": ask()  # expect: device-init-at-import
if import_module(".sub.leaf", package="pkg").here == "leaf": ask()  # expect: device-init-at-import
if import_module(name=".leaf", package="pkg.sub").here == "leaf": ask()  # expect: device-init-at-import
if import_module("..deep", "pkg.sub").here == "deep": ask()  # expect: device-init-at-import
if import_module("..", "pkg.sub").sub.here == "sub": ask()  # expect: device-init-at-import
if import_module("..deep", "pkg.sub").here == "sub": ask()
if import_module(".deep", __package__).here == "deep": ask()  # expect: device-init-at-import
if __import__("pkg.sub.leaf").sub.leaf.here == "leaf": ask()  # expect: device-init-at-import
if __import__("pkg.sub.leaf", fromlist=["here"]).here == "leaf": ask()  # expect: device-init-at-import
if __import__("pkg.sub.leaf", None, None, ["here"]).here == "leaf": ask()  # expect: device-init-at-import
if __import__("pkg.sub", {}, {}).__name__ == "pkg": ask()  # expect: device-init-at-import
if __import__("pkg.sub", {}, {}).__name__ == "pkg.sub": ask()
if importlib.util.find_spec("json") is None: ask()
if importlib.util.find_spec("json"): ask()  # expect: device-init-at-import
if importlib.util.find_spec("pkg.deep") is not None: ask()  # expect: device-init-at-import
if importlib.util.find_spec("pkg.nowhere") is not None: ask()  # expect: device-init-at-import conditional
if importlib.util.find_spec("no_such_module") is None: ask()  # expect: device-init-at-import conditional
""",
    "a submodule that is looked for": """
### pkg/__init__.py
### pkg/user.py
import importlib.util
importlib.util.find_spec("waking.leaf")  # expect: waking-import
importlib.util.find_spec("waking")
### pkg/by_name.py
import importlib
importlib.import_module(".leaf", "waking")  # expect: waking-import
### pkg/by_builtin.py
__import__("waking.leaf")  # expect: waking-import
### beside/waking/__init__.py
import torch
torch.cuda.get_device_name()
### beside/waking/leaf.py
""",
    "variables of the environment": """
import os
import torch

ask = torch.cuda.get_device_name
if os.getenv("COLDFORK_NOWHERE") is None: ask()  # expect: device-init-at-import
if os.getenv("COLDFORK_NOWHERE") is not None: ask()  # expect: device-init-at-import conditional
if os.getenv("COLDFORK_NOWHERE", "x") == "x": ask()  # expect: device-init-at-import
if os.getenv("COLDFORK_NOWHERE", default="y") == "y": ask()  # expect: device-init-at-import
if os.environ.get("COLDFORK_NOWHERE", "x") == "y": ask()  # expect: device-init-at-import conditional
if os.getenv("COLDFORK_A", os.getenv("COLDFORK_B")) is None: ask()  # expect: device-init-at-import
os.environ.setdefault("COLDFORK_SET", "1")
if os.getenv("COLDFORK_SET") == "1": ask()  # expect: device-init-at-import
os.environ.setdefault("COLDFORK_SET", "2")
if os.getenv("COLDFORK_SET") == "1": ask()  # expect: device-init-at-import
if os.getenv("COLDFORK_SET") == "2": ask()
os.environ["COLDFORK_SET"] = "3"
if os.environ.get("COLDFORK_SET", "z") == "3": ask()  # expect: device-init-at-import
if os.environ.get("COLDFORK_SET", "z") == "z": ask()
os.environ["COLDFORK_PUT"] = "1"
os.putenv("COLDFORK_PUT", "2")  # sees to what other programs are given
if os.getenv("COLDFORK_PUT") == "1": ask()  # expect: device-init-at-import
os.putenv("COLDFORK_UNSET", "1")
if os.getenv("COLDFORK_UNSET") is None: ask()  # expect: device-init-at-import
if os.getenv("COLDFORK_UNSET") == "2": ask()  # expect: device-init-at-import conditional
""",
    "contexts that are awaited": """
import asyncio
import contextlib
import torch

ask = torch.cuda.get_device_name

class Waking:
    async def __aenter__(self):
        return "async"

    async def __aexit__(self, *problem):
        ask()

class Quiet:
    async def __aenter__(self):
        return "async"

    async def __aexit__(self, *problem):
        return False

class Plain:
    def __enter__(self):
        return "plain"

    def __exit__(self, kind, problem, trace):
        pass

@contextlib.asynccontextmanager
async def opened():
    yield "opened"

async def leaving():
    async with Waking():
        pass

async def entering(wanted):
    async with Quiet() as entered:
        if entered == wanted:
            ask()

async def through(wanted):
    async with opened() as entered:
        if entered == wanted:
            ask()

def straight(wanted):
    with Plain() as entered:
        if entered == wanted:
            ask()

asyncio.run(leaving())  # expect: device-init-at-import
asyncio.run(entering("async"))  # expect: device-init-at-import
asyncio.run(entering("other"))
asyncio.run(through("opened"))  # expect: device-init-at-import
asyncio.run(through("other"))
straight("plain")  # expect: device-init-at-import
straight("other")
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS))
def test_what_is_looked_up_is_what_cpython_finds(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
