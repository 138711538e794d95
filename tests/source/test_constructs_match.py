"""`match` at import: which cases can run, what their guards do, and what follows when none matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

ANY = Setting(runs=False)

MATCHES = {
    "a case that matches": """
import torch

match "x":
    case "y":
        torch.cuda.get_device_name()
    case "x":
        torch.cuda.get_device_capability()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_properties(0)
""",
    "a case that may match": """
import os
import torch

match len(os.listdir(".")):
    case 1000000:
        torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "a guard that is false, of an unknown subject": """
import os
import torch

KIND = os.environ.get("KIND", "x")

match KIND:
    case "x" if False:
        torch.cuda.get_device_capability()
""",
    "a guard that is false, of a case that matches": """
import torch

match "x":
    case "x" if False:
        torch.cuda.get_device_capability()
""",
    "a guard that is true, of a case that matches": """
import torch

match "x":
    case "x" if True:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_name()
""",
    "a guard that is true, of a case that does not match": """
import torch

match "x":
    case "y" if True:
        torch.cuda.get_device_capability()
    case _:
        torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a guard that nobody knows, and a wildcard that wakes too": """
import os
import torch

match "x":
    case "x" if len(os.listdir(".")) > 1000000:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a guard that nobody knows": """
import os
import torch

match "x":
    case "x" if len(os.listdir(".")) > 1000000:
        torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "a guard that wakes": """
import torch

match "x":
    case "x" if torch.cuda.get_device_capability() > (8, 0):  # expect: device-init-at-import
        pass
""",
    "a guard that wakes, of a case that may match": """
import os
import torch

match len(os.listdir(".")):
    case 1000000 if torch.cuda.get_device_capability() > (8, 0):  # expect: device-init-at-import conditional
        pass
""",
    "a guard that wakes, of a case that does not match": """
import torch

match "x":
    case "y" if torch.cuda.get_device_capability() > (8, 0):
        pass
""",
    "a guard that wakes, behind a case that matches": """
import torch

match "x":
    case "x":
        pass
    case _ if torch.cuda.get_device_capability() > (8, 0):
        pass
""",
    "a guard that wakes, of a wildcard": """
import torch

match "x":
    case "y":
        pass
    case _ if torch.cuda.get_device_capability() > (8, 0):  # expect: device-init-at-import
        pass
""",
    "a guard in a function": """
import torch

def level(kind):
    match kind:
        case "x" if torch.cuda.get_device_capability() > (8, 0):
            return 1
        case _:
            return 0

LEVEL = level("x")  # expect: device-init-at-import
NONE = level("y")
""",
    "a wildcard behind a guard that is false": """
import torch

match "x":
    case _ if False:
        torch.cuda.get_device_capability()
    case _:
        torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a name behind a guard that is false": """
import torch

match "x":
    case kind if False:
        torch.cuda.get_device_capability()
    case kind:
        torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "a guard on the name that the case binds": """
import torch

match True:
    case flag if flag:
        torch.cuda.get_device_name()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_capability()
""",
    "a name that the case binds": """
import torch

match torch.cuda:
    case cuda:
        cuda.get_device_capability()  # expect: device-init-at-import
""",
    "alternatives of which one matches": """
import torch

match "x":
    case "y" | "x":
        torch.cuda.get_device_name()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_capability()
""",
    "alternatives of which none matches": """
import torch

match "z":
    case "y" | "x":
        torch.cuda.get_device_name()
    case _:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a class that matches": """
import torch

match "x":
    case int():
        torch.cuda.get_device_name()
    case str():
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "what follows when no case matches": """
import torch

def level(kind):
    match kind:
        case "x":
            return 1
        case "y":
            return 2
    return torch.cuda.get_device_capability()

LEVEL = level("z")  # expect: device-init-at-import
ONE = level("x")
""",
    "True is not 1 to a case": """
import torch

match 1:
    case True:
        torch.cuda.get_device_name()
    case _:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "1 equals True to a case": """
import torch

match True:
    case 1:
        torch.cuda.get_device_name()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_capability()
""",
    "a sequence that matches": """
import torch

match ("x", 2):
    case [first]:
        torch.cuda.get_device_name()
    case ["x", count] if count > 1:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
    case _:
        torch.cuda.get_device_properties(0)
""",
    "a sequence with a rest": """
import torch

match [1, 2, 3]:
    case [1, *rest] if len(rest) == 1:
        torch.cuda.get_device_name()
    case [1, *_, 3]:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "text is no sequence": """
import torch

match "xy":
    case [first, second]:
        torch.cuda.get_device_name()
    case _:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a mapping that matches": """
import torch

match {"kind": "x", "level": 2}:
    case {"other": _}:
        torch.cuda.get_device_name()
    case {"kind": "x", "level": level} if level == 2:
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a class of ours with its attributes": """
import torch

class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

match Point(1, 2):
    case Point(2, _):
        torch.cuda.get_device_name()
    case Point(1, y=3):
        torch.cuda.get_device_properties(0)
    case Point(1, y=2):
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a base class in a diamond": """
import torch

class Base:
    pass

class Left(Base):
    pass

class Right(Base):
    pass

class Both(Left, Right):
    pass

match Both():
    case str():
        torch.cuda.get_device_name()
    case Right():
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a member of an enumeration": """
import enum
import torch

class Kind(enum.Enum):
    HOST = 1
    DEVICE = 2

def use(kind):
    match kind:
        case Kind.HOST:
            return 0
        case Kind.DEVICE:
            return torch.cuda.get_device_capability()

HOST = use(Kind.HOST)
DEVICE = use(Kind.DEVICE)  # expect: device-init-at-import
""",
    "None, and what is not None": """
import torch

def use(kind):
    match kind:
        case None:
            return 0
        case True | False:
            return 1
        case _:
            return torch.cuda.get_device_capability()

NONE = use(None)
YES = use(True)
ONE = use(1)  # expect: device-init-at-import
""",
    "as, around alternatives": """
import torch

match "y":
    case ("x" | "y") as kind if kind == "x":
        torch.cuda.get_device_name()
    case ("x" | "y") as kind if kind == "y":
        torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a name that a case binds in a function": """
import torch

def use(kind):
    match kind:
        case other:
            pass
    if other == "x":
        return torch.cuda.get_device_capability()
    return 0

X = use("x")  # expect: device-init-at-import
Y = use("y")
""",
    "a choice by the environment": """
import os
import torch

match os.environ.get("COLDFORK_TEST_KIND", "none"):
    case "none":
        pass
    case "all":
        torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
}
SETTINGS = {
    "a guard that nobody knows, and a wildcard that wakes too": ANY,
}


@pytest.mark.parametrize(("text", "setting"), cases(MATCHES, SETTINGS))
def test_match(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
