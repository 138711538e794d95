"""Conditions: three values, guards before and around, sibling branches, `try`, and what follows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

ANY = Setting(runs=False)

WAKES = {
    "a condition that nobody can know": """
import os
import torch

if os.environ.get("LEVEL_FILE"):
    pass
if len(os.listdir(".")) > 1000000:
    torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "an environment variable that is unset by default": """
import os
import torch

if os.environ.get("FAST") == "1":
    torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
if os.environ.get("SLOW") != "1":
    torch.cuda.is_available()  # expect: driver-init-at-import
if os.getenv("OFF", "0") == "0":
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "sibling branches that all reach a sink are certain together": """
import os
import torch

if len(os.listdir(".")) > 1000000:
    LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
else:
    LEVEL = torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "sibling branches in a function join": """
import os
import torch

def level():
    if len(os.listdir(".")) > 1000000:
        return torch.cuda.get_device_capability()
    elif len(os.listdir(".")) > 100000:
        return torch.cuda.get_device_name()
    else:
        return torch.cuda.get_device_properties()

LEVEL = level()  # expect: device-init-at-import
""",
    "a branch without a sibling does not join": """
import os
import torch

def level():
    if len(os.listdir(".")) > 1000000:
        return torch.cuda.get_device_capability()
    elif len(os.listdir(".")) > 100000:
        return None
    else:
        return torch.cuda.get_device_properties()

LEVEL = level()  # expect: device-init-at-import conditional
""",
    "an early return guards what follows": """
import os
import torch

def level():
    if len(os.listdir(".")) > 1000000:
        return None
    return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import conditional
""",
    "an early raise guards what follows": """
import os
import torch

def level():
    if len(os.listdir(".")) > 1000000:
        raise ValueError("too many")
    return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import
""",
    "an early raise that the caller survives guards": """
import os
import torch

def level():
    if len(os.listdir(".")) > 1000000:
        raise ValueError("too many")
    return torch.cuda.get_device_capability()

try:
    LEVEL = level()  # expect: device-init-at-import conditional
except ValueError:
    LEVEL = None
""",
    "a guard in the caller": """
import os
import torch

def level():
    return torch.cuda.get_device_capability()

def outer():
    if len(os.listdir(".")) > 1000000:
        return level()

LEVEL = outer()  # expect: device-init-at-import conditional
""",
    "what comes before a guard is certain": """
import os
import torch

def level():
    torch.cuda.get_device_capability()
    if len(os.listdir(".")) > 1000000:
        return None
    return 1

LEVEL = level()  # expect: device-init-at-import
""",
    "and, or and conditional expressions": """
import os
import torch

many = len(os.listdir(".")) > 1000000
A = many and torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
B = many or torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
C = torch.cuda.get_device_capability() if many else None  # expect: device-init-at-import conditional
D = True and torch.cuda.get_device_capability()  # expect: device-init-at-import
E = False and torch.cuda.get_device_capability()
F = None or torch.cuda.get_device_capability()  # expect: device-init-at-import
G = 1 or torch.cuda.get_device_capability()
H = torch.cuda.get_device_capability() and many  # expect: device-init-at-import
I = 1 if False else torch.cuda.get_device_capability()  # expect: device-init-at-import
J = 1 < 0 < torch.cuda.get_device_capability()
""",
    "the test itself wakes": """
import torch

if torch.cuda.is_available():  # expect: driver-init-at-import
    LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
else:
    LEVEL = None
""",
    "the other machine's branch": """
import sys
import torch

if not torch.cuda.is_available():  # expect: driver-init-at-import
    torch.cuda.get_device_capability()
if torch.version.hip is not None:
    torch.cuda.get_device_capability()
if torch.version.cuda:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
if sys.platform == "win32":
    torch.cuda.get_device_capability()
if sys.platform.startswith("linux"):
    torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "the running Python's version": """
import sys
import torch

if sys.version_info >= (3, 8):
    torch.cuda.get_device_capability()  # expect: device-init-at-import
else:
    torch.cuda.is_available()
if sys.version_info < (3,):
    torch.cuda.is_available()
if sys.version_info[0] == 2:
    torch.cuda.is_available()
""",
    "TYPE_CHECKING": """
import typing
from typing import TYPE_CHECKING
import torch

if TYPE_CHECKING:
    torch.cuda.get_device_capability()
if typing.TYPE_CHECKING:
    torch.cuda.get_device_capability()
if not TYPE_CHECKING:
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "except runs only when something fails": """
import torch

try:
    import json
except ImportError:
    LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "except runs when the module is not there": """
import torch

try:
    import there_is_no_such_module_anywhere
except ImportError:
    torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "what woke before an import fails is awake in the handler": """
import torch

def levels():
    try:
        level = torch.cuda.get_device_capability()
        import there_is_no_such_module_anywhere
    except Exception:
        torch.cuda.is_available()

levels()  # expect: device-init-at-import
""",
    "what woke before a call fails is awake in the handler": """
import os
import torch

def name(level):
    if len(os.listdir(".")) > 1000000:
        raise RuntimeError("too many")
    return str(level)

def levels():
    try:
        name(torch.cuda.get_device_capability())
    except RuntimeError:
        torch.cuda.is_available()

levels()  # expect: device-init-at-import
""",
    "what wakes after an import that may fail is not awake in the handler": """
import torch

def levels():
    try:
        import there_is_no_such_module_anywhere
        level = torch.cuda.get_device_capability()
    except Exception:
        torch.cuda.is_available()

levels()  # expect: driver-init-at-import
""",
    "of two that may fail, the first is before what wakes": """
import torch

def levels():
    try:
        import there_is_no_such_module_anywhere
        level = torch.cuda.get_device_capability()
        import nor_is_there_this_one
    except Exception:
        torch.cuda.is_available()

levels()  # expect: driver-init-at-import
""",
    "what a callee wakes after it may fail is not awake in the handler": """
import torch

def level():
    import there_is_no_such_module_anywhere
    return torch.cuda.get_device_capability()

def levels():
    try:
        level()
    except Exception:
        torch.cuda.is_available()

levels()  # expect: driver-init-at-import
""",
    "the body of a try": """
import torch

try:
    LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import
except Exception:
    LEVEL = None
""",
    "except after a call that may fail": """
import torch

def guess():
    return int("12")

try:
    LEVEL = guess()
except ValueError:
    LEVEL = torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "what follows a try that normally returns": """
import torch

def level():
    try:
        return int("1")
    except ValueError:
        pass
    return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import conditional
""",
    "else and finally": """
import torch

try:
    number = 1
except ValueError:
    pass
else:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
finally:
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "finally after a return": """
import torch

def level():
    try:
        return 1
    finally:
        torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import
""",
    "an exception that is raised for sure": """
import torch

try:
    raise ValueError("no")
    torch.cuda.is_available()
except KeyError:
    torch.cuda.is_available()
except ValueError:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a function that raises for sure": """
import torch

def refuse():
    raise NotImplementedError

def level():
    try:
        refuse()
    except NotImplementedError:
        return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import
""",
    "nothing follows a raise": """
import torch

def refuse():
    raise ImportError("not here")

torch.cuda.is_available()  # expect: driver-init-at-import
refuse()
torch.cuda.get_device_capability()
""",
    "a table that another module fills does not end a module": """
### pkg/__init__.py
### pkg/names.py
NAMES = []

def checked(name):
    if name not in NAMES:
        raise ValueError(name)
    return name
### pkg/filled.py
from pkg import names
names.NAMES.append("fast")
### pkg/user.py
import pkg.filled
import torch
from pkg.names import checked

FAST = checked("fast")
torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a missing key is a KeyError": """
import torch

class Tables:
    def __init__(self):
        self.held = {}

    def find(self, name):
        try:
            found = self.held[name]
        except KeyError:
            found = self.held[name] = torch.cuda.get_device_name
        return found

Tables().find("a")()  # expect: device-init-at-import
""",
    "as many rounds as there are devices": """
import torch

def levels():
    return sorted(torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count()))

def names():
    found = []
    for i in range(torch.cuda.device_count()):
        found.append(torch.cuda.get_device_name(i))
    return found

LEVELS = levels()  # expect: device-init-at-import
NAMES = names()  # expect: device-init-at-import
COUNT = torch.cuda.device_count()  # expect: device-query-at-import conditional
ALL = [torch.cuda.get_device_name(i) for i in range(0, COUNT)]  # expect: device-init-at-import
if len(LEVELS) > 1:
    torch.cuda.get_device_properties()  # expect: device-init-at-import conditional
if len(ALL) != 1:
    torch.cuda.get_device_properties()  # expect: device-init-at-import conditional
""",
    "what is only filled perhaps may be empty": """
import os
import torch

def check(jobs):
    failed = []
    known = {}
    for job in jobs:
        if not job:
            failed.append(job)
            known[job] = True
    if failed:
        raise RuntimeError("failed")
    if not known:
        torch.cuda.get_device_name()
    torch.cuda.get_device_capability()

found = []
found.append(os.curdir)
more = []
more.extend(os.listdir("."))
if len(os.listdir(".")) > 1000000:
    found.append(os.pardir)
if not found:
    torch.cuda.get_device_capability()
if not more:
    torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
check(os.listdir("."))  # expect: device-init-at-import
""",
    "leaving the program passes handlers by": """
import sys
import torch

try:
    sys.exit(0)
except Exception:
    torch.cuda.get_device_name()
except SystemExit:
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "the else of a try that is sure to raise": """
import torch

class Held:
    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return None

try:
    raise ValueError
except ValueError:
    pass
else:
    torch.cuda.get_device_capability()

try:
    with Held():
        if True:
            raise ValueError
except ValueError:
    torch.cuda.is_available()  # expect: driver-init-at-import
else:
    torch.cuda.get_device_capability()
""",
    "a handler is no sibling of its try": """
import os
import torch

try:
    torch.cuda.get_device_name(1)  # expect: device-init-at-import
    if len(os.listdir(".")) < 0:
        raise ValueError
except ValueError:
    torch.cuda.get_device_name(2)  # expect: device-init-at-import conditional
""",
    "continue inside a try inside a try": """
import torch

for number in (1, 2):
    try:
        try:
            continue
        except ValueError:
            pass
    except ValueError:
        pass
    torch.cuda.get_device_name()
""",
    "a block that cannot fail keeps its handlers from running": """
import torch

def architecture():
    try:
        if torch.version.hip:
            return str(torch.cuda.get_device_properties())
        else:
            return "unknown"
    except Exception:
        return torch.cuda.get_device_name()

architecture()

try:
    LEVEL = None
except ValueError:
    torch.cuda.get_device_name()

try:
    unicode
except NameError:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "both arms of a try import": """
import torch

try:
    from json import loads

    def level():
        return torch.cuda.get_device_capability()
except ImportError:
    def level():
        return torch.cuda.get_device_name()

LEVEL = level()  # expect: device-init-at-import
""",
    "a flag that a try sets": """
import torch

try:
    import json
    HAS_JSON = True
except ImportError:
    HAS_JSON = False

if HAS_JSON:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
else:
    torch.cuda.is_available()  # expect: driver-init-at-import conditional
""",
    "a constant flag of the module": """
import torch

EAGER = True
LAZY = not EAGER
if EAGER:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
if LAZY:
    torch.cuda.get_device_capability()
if EAGER and not LAZY:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "a flag of another module": """
### pkg/__init__.py
### pkg/flags.py
EAGER = True
MODE = "cold"
### pkg/user.py
import torch
from pkg import flags
from pkg.flags import MODE

if flags.EAGER:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
if MODE == "warm":
    torch.cuda.get_device_capability()
""",
    "isinstance, hasattr and callable": """
import torch

class Cold:
    name = ""

if isinstance(Cold(), Cold):
    torch.cuda.get_device_capability()  # expect: device-init-at-import
if hasattr(Cold, "missing"):
    torch.cuda.get_device_capability()
if hasattr(Cold, "name"):
    torch.cuda.get_device_capability()  # expect: device-init-at-import
if callable(len):
    torch.cuda.get_device_capability()  # expect: device-init-at-import
if isinstance("a", int):
    torch.cuda.get_device_capability()
if issubclass(Cold, str):
    torch.cuda.get_device_capability()
""",
    "a loop that may not run": """
import os
import torch

for name in os.listdir("."):
    torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "a while loop on something unknown": """
import os
import torch

while len(os.listdir(".")) > 1000000:
    torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
""",
    "a while true loop": """
import torch

while True:
    torch.cuda.get_device_capability()  # expect: device-init-at-import
    break
""",
    "a match on something unknown": """
import os
import torch

match len(os.listdir(".")):
    case -1:
        torch.cuda.get_device_capability()  # expect: device-init-at-import conditional
    case _:
        pass
""",
    "a match of which every case wakes": """
import os
import torch

def level():
    match len(os.listdir(".")):
        case 0:
            return torch.cuda.get_device_capability()
        case _:
            return torch.cuda.get_device_name()

LEVEL = level()  # expect: device-init-at-import
""",
    "a function bound in one branch or another": """
import os
import torch

if len(os.listdir(".")) > 1000000:
    def level():
        return None
else:
    def level():
        return torch.cuda.get_device_capability()

LEVEL = level()  # expect: device-init-at-import conditional
""",
    "a function bound in a branch that is known": """
import sys
import torch

if sys.platform == "nowhere":
    def level():
        return torch.cuda.get_device_capability()
else:
    def level():
        return None

LEVEL = level()
""",
    "a memo that was filled before": """
import torch

_cache = {}

def level(key):
    if key not in _cache:
        _cache[key] = torch.cuda.get_device_capability()
    return _cache[key]

A = level("a")  # expect: device-init-at-import
""",
    "an assert narrows nothing away": """
import os
import torch

assert os.listdir(".") is not None
torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "suppressed problems": """
import contextlib
import torch

def ask():
    with contextlib.suppress(ValueError):
        int("a")
        torch.cuda.get_device_capability()

with contextlib.suppress(ImportError):
    import json
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
}

#: Where what is expected holds for every machine, and this one shows one of its ways only.
SETTINGS = {
    "sibling branches that all reach a sink are certain together": ANY,
    "except runs when the module is not there": ANY,
    "a loop that may not run": ANY,
}

GUARDS = {
    "len(os.listdir()) > 9": "if len(os.listdir()) > 9:\n    {call}\n",
    "not (ready())": "if ready():\n    pass\nelse:\n    {call}\n",
    "flag()": "VALUE = {call} if flag() else None\n",
    "not (flag())": "VALUE = flag() or {call}\n",
    "a(\n    1) == 2": "if a(\n    1) == 2:\n    {call}\n",
}


@pytest.mark.parametrize(("text", "setting"), cases(WAKES, SETTINGS))
def test_conditions_are_part_of_the_verdict(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


@pytest.mark.parametrize("guard", GUARDS)
def test_the_condition_is_quoted(guard: str, tmp_path: Path) -> None:
    call = "torch.cuda.get_device_capability()"
    text = "import os\nimport torch\nfrom elsewhere import a, flag, ready\n" + GUARDS[guard].format(call=call)
    lines = [
        f"{line}  # expect: device-init-at-import conditional" if call in line else line
        for line in text.splitlines()
    ]
    (finding,) = assert_as_expected("\n".join(lines) + "\n", tmp_path, ANY)
    assert finding.condition == " ".join(part.strip() for part in guard.split("\n"))


def test_conditions_of_all_steps_are_told(tmp_path: Path) -> None:
    text = """
import os
import torch

def inner(path):
    if os.path.exists(path):
        return torch.cuda.get_device_capability()

def outer(path):
    if path.startswith(os.sep):
        inner(path)

if os.getcwd():
    outer(os.getcwd())  # expect: device-init-at-import conditional
"""
    (finding,) = assert_as_expected(text, tmp_path, ANY)
    assert finding.condition == "os.getcwd() and path.startswith(os.sep) and os.path.exists(path)"
