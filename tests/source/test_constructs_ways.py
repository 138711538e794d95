"""Ways that part and join again: handlers, negations, long chains, globals that one way rebinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

ANY = Setting(runs=False)

PROGRAMS = {
    "conversions ask the object": """
import torch

class Asked:
    def __str__(self):
        torch.cuda.get_device_name()
        return ""

    def __repr__(self):
        torch.cuda.get_device_name()
        return ""

    def __int__(self):
        return len(torch.cuda.get_device_name())

    def __float__(self):
        return float(len(torch.cuda.get_device_name()))

    def __bool__(self):
        return torch.cuda.get_device_name() == ""

    def __hash__(self):
        return len(torch.cuda.get_device_name())

str(Asked())  # expect: device-init-at-import
repr(Asked())  # expect: device-init-at-import
int(Asked())  # expect: device-init-at-import
float(Asked())  # expect: device-init-at-import
bool(Asked())  # expect: device-init-at-import
hash(Asked())  # expect: device-init-at-import
if float("0") or repr("a") == "a" or repr("a") != "'a'" or float():
    torch.cuda.get_device_name()
if float("2.5") == 2.5:
    torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "which clause an exception goes to": """
### pkg/__init__.py
### pkg/errors.py
class Broken(Exception):
    pass
### pkg/m.py
import torch
from pkg.errors import Broken

ask = torch.cuda.get_device_name

def fails(kind):
    raise kind("x")

def leaves():
    raise SystemExit

try:
    fails(KeyError)
except KeyError:
    ask()  # expect: device-init-at-import
try:
    fails(KeyError)
except (ValueError, LookupError):
    ask()  # expect: device-init-at-import
try:
    fails(KeyError)
except ValueError:
    ask()
except Exception:
    ask()  # expect: device-init-at-import
try:
    leaves()
except Exception:
    ask()
except BaseException:
    ask()  # expect: device-init-at-import
try:
    leaves()
except (SystemExit, ValueError):
    ask()  # expect: device-init-at-import
try:
    fails(Broken)
except Broken:
    ask()  # expect: device-init-at-import
try:
    raise Broken
except BaseException:
    ask()  # expect: device-init-at-import
try:
    raise Broken
except (ValueError, Broken):
    ask()  # expect: device-init-at-import
try:
    raise Broken
except ValueError:
    ask()
except:
    ask()  # expect: device-init-at-import
try:
    raise KeyboardInterrupt
except (KeyError, Exception):
    ask()
except KeyboardInterrupt:
    ask()  # expect: device-init-at-import
""",
    "a handler that is as likely as not": """
import os
import torch

def run():
    ask = torch.cuda.get_device_name
    try:
        if len(os.listdir(".")) > 1000000:
            raise ValueError
    except ValueError:
        ask = int
    ask()

run()  # expect: device-init-at-import conditional
""",
    "a handler's name holds the exception": """
import torch

def run():
    problem = None
    try:
        raise ValueError
    except ValueError as problem:
        if problem is not None:
            torch.cuda.get_device_name()

def other():
    problem = None
    try:
        len(problem)
        raise ValueError
    except (TypeError, ValueError) as problem:
        return (lambda: torch.cuda.get_device_name() if problem is not None else None)()

run()  # expect: device-init-at-import conditional
other()  # expect: device-init-at-import conditional
""",
    "a global that one way rebinds": """
import os
import torch

ask = torch.cuda.get_device_name
many = len(os.listdir(".")) > 1000000

def rebound():
    global ask
    if many:
        ask = int
    ask()

def kept():
    global other
    other = torch.cuda.get_device_name
    if many:
        other = int
    other()

rebound()  # expect: device-init-at-import conditional
kept()  # expect: device-init-at-import conditional
""",
    "negations of what is not so by default": """
import os
import torch

fast = os.environ.get("FAST") == "1"
slow = os.environ.get("SLOW") != "1"

if not fast:
    torch.cuda.get_device_name()  # expect: device-init-at-import
negated = not fast
if not negated:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if negated:
    torch.cuda.get_device_name()  # expect: device-init-at-import
negated = not slow
if negated:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if not negated:
    torch.cuda.get_device_name()  # expect: device-init-at-import
if not (not None):
    torch.cuda.get_device_name()
if not (not 1):
    torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "items that are taken apart without being counted": """
import os
import torch

def some(ask):
    return [ask for _ in range(min(len(os.listdir("/")), 2))]

def run(ask):
    first = second = int
    first, second = some(ask)
    second()

def rest(ask):
    first, *more = some(ask)
    more[0]()

run(torch.cuda.get_device_name)  # expect: device-init-at-import
rest(torch.cuda.get_device_name)  # expect: device-init-at-import conditional
run(int)
rest(int)
""",
    "arguments that are one of two, by name": """
import os
import torch

def run(number, *, ask):
    ask()

many = len(os.listdir(".")) > 1000000
some = torch.cuda.get_device_name if many else int
either = torch.cuda.get_device_name if many else torch.cuda.get_device_properties
run(1, ask=some)  # expect: device-init-at-import conditional
run(1, ask=either)  # expect: device-init-at-import
""",
    "a call inside a call may raise before it wakes": """
import os
import torch

def check():
    if len(os.listdir(".")) > 1000000:
        raise ValueError("too many")

def before():
    check()
    torch.cuda.get_device_name()

def behind():
    torch.cuda.get_device_name()
    check()

def both():
    torch.cuda.get_device_name()
    before()

def outer():
    before()

try:
    before()  # expect: device-init-at-import conditional
except ValueError:
    pass
try:
    behind()  # expect: device-init-at-import
except ValueError:
    pass
try:
    both()  # expect: device-init-at-import
except ValueError:
    pass
try:
    outer()  # expect: device-init-at-import conditional
except ValueError:
    pass
before()  # expect: device-init-at-import
""",
    "an annotation says less than the object": """
import torch

class Base:
    def ask(self):
        return None

class Sub(Base):
    def ask(self):
        return torch.cuda.get_device_name()

def made() -> Base:
    return Sub()

def function() -> object:
    return torch.cuda.get_device_name

def constant() -> Base:
    return None

made().ask()  # expect: device-init-at-import
function()()  # expect: device-init-at-import
if constant():
    torch.cuda.get_device_name()
""",
    "a number that is known not to be zero": """
import torch

COUNT = torch.cuda.device_count()  # expect: device-query-at-import conditional
if COUNT == 0:
    torch.cuda.get_device_name()
if COUNT != 0:
    torch.cuda.get_device_name()  # expect: device-init-at-import
if COUNT > 0:
    torch.cuda.get_device_name()  # expect: device-init-at-import
if COUNT == 1:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if COUNT > 1:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
if COUNT < 0:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "a try of another module that fails, and what it would have set": """
### pkg/__init__.py
### pkg/other.py
import os
import torch

try:
    number = int("x")
    os.environ["FLAG"] = "1"
except ValueError:
    ask = torch.cuda.get_device_name
### pkg/m.py
import os
import torch
from pkg.other import ask

ask()  # expect: device-init-at-import
if os.environ.get("FLAG"):
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
""",
    "names of a library by a star": """
from torch.cuda import *

get_device_name()  # expect: device-init-at-import
int()
""",
    "a context's run": """
import contextvars
import torch

class Asked:
    def ask(self, function):
        return function()

contextvars.copy_context().run(torch.cuda.get_device_name)  # expect: device-init-at-import
contextvars.Context().run(Asked().ask, torch.cuda.get_device_name)  # expect: device-init-at-import
contextvars.Context().run(Asked().ask, function=torch.cuda.get_device_name)  # expect: device-init-at-import
contextvars.Context().run(Asked().ask, int)
""",
    "a loop that may be left before": """
import os
import torch

some = os.listdir(".")

def until(found):
    while True:
        if found:
            break
        torch.cuda.get_device_name()

def each(found):
    for number in (1, 2):
        if found:
            continue
        torch.cuda.get_device_name()

def first():
    while True:
        torch.cuda.get_device_name()
        if some:
            break

until(some)  # expect: device-init-at-import conditional
each(some)  # expect: device-init-at-import conditional
first()  # expect: device-init-at-import
""",
}
SETTINGS = {
    "names of a library by a star": ANY,
    "arguments that are one of two, by name": ANY,
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_ways_are_joined(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


@pytest.mark.parametrize("at", [0, 37, 38, 39, 40, 44])
@pytest.mark.parametrize(("word", "operand"), [("or", "0"), ("and", "1")])
def test_every_operand_of_a_long_chain_is_evaluated(at: int, word: str, operand: str, tmp_path: Path) -> None:
    operands = [operand] * at + ["torch.cuda.get_device_name()"] + [operand] * (44 - at)
    text = f"import torch\n\nA = {f' {word} '.join(operands)}  # expect: device-init-at-import\n"
    assert_as_expected(text, tmp_path)


def test_the_likeliest_failure_is_told(tmp_path: Path) -> None:
    text = """
import os
import torch

try:
    import triton
    if len(os.listdir(".")) > 1000000:
        raise ImportError
except ImportError:
    torch.cuda.get_device_name()  # expect: device-init-at-import conditional
"""
    (finding,) = assert_as_expected(text, tmp_path, ANY)
    assert finding.condition == 'triton does not import or len(os.listdir(".")) > 1000000'


def test_the_shortest_of_several_ways_is_told(tmp_path: Path) -> None:
    text = """
import os
import torch

def deeper():
    return torch.cuda.get_device_name()

def deep():
    return deeper()

def level():
    if os.path.exists("a"):
        deep()
    if os.path.exists("b"):
        torch.cuda.get_device_name()
    if os.path.exists("c"):
        deeper()

level()  # expect: device-init-at-import conditional
"""
    (finding,) = assert_as_expected(text, tmp_path, ANY)
    assert finding.condition == 'os.path.exists("b") or os.path.exists("a") or os.path.exists("c")'
