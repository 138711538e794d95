"""Functions are values: passed, returned, kept in containers and attributes, followed to their calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

WAKES = {
    "the second of two generators over the same items": """
import torch

def quiet(item):
    return item

def loud(item):
    return torch.cuda.get_device_capability(item)

def both(items):
    any(quiet(item) for item in items)
    any(loud(item) for item in items)

both([1, 2])  # expect: device-init-at-import
""",
    "an object in an f-string, by its format, its text or its representation": """
import torch

class Formatted:
    def __format__(self, wanted):
        return str(torch.cuda.get_device_capability())

class Written:
    def __str__(self):
        return str(torch.cuda.get_device_capability())

class Shown:
    def __repr__(self):
        return str(torch.cuda.get_device_capability())

A = f"{Formatted()}"  # expect: device-init-at-import
B = f"{Written()}"  # expect: device-init-at-import
C = f"{Written()!s:>9}"  # expect: device-init-at-import
D = f"{Shown()!r}"  # expect: device-init-at-import
E = f"{Shown()}"  # expect: device-init-at-import
F = f"{1:{torch.cuda.get_device_capability()[0]}}"  # expect: device-init-at-import
""",
    "a function that is called until it returns a sentinel": """
import torch

def level():
    return torch.cuda.get_device_capability()

for found in iter(level, None):  # expect: device-init-at-import
    break
""",
    "a function passed by position, by keyword and starred": """
import torch

def level():
    return torch.cuda.get_device_capability()

def run(function, *rest):
    return function()

def run_named(*, function):
    return function()

def run_all(*functions):
    return [function() for function in functions]

def run_words(**words):
    return words["function"]()

def hand_on(*args, **words):
    return run(*args, **words)

A = run(level)  # expect: device-init-at-import
B = run_named(function=level)  # expect: device-init-at-import
C = run_all(*[level, level])  # expect: device-init-at-import
D = run_words(function=level)  # expect: device-init-at-import
E = hand_on(level, 1)  # expect: device-init-at-import
F = run(**{"function": level})  # expect: device-init-at-import
G = run(torch.cuda.get_device_capability)  # expect: device-init-at-import
""",
    "a function returned": """
import torch

def level():
    return torch.cuda.get_device_capability()

def choose(name):
    return level

def choose_lambda():
    return lambda: level()

A = choose("a")()  # expect: device-init-at-import
B = choose_lambda()()  # expect: device-init-at-import
""",
    "a nested function with what it closes over": """
import torch

def make(function):
    def inner():
        return function()
    return inner

ask = make(torch.cuda.get_device_capability)
cold = make(int)
A = ask()  # expect: device-init-at-import
B = cold()
""",
    "functions in tuples, lists and dictionaries": """
import torch

def level():
    return torch.cuda.get_device_capability()

def cold():
    return 1

PAIR = (cold, level)
LIST = [level, cold]
TABLE = {"cold": cold, "warm": level}
A = PAIR[1]()  # expect: device-init-at-import
B = PAIR[0]()
C = LIST[0]()  # expect: device-init-at-import
D = LIST[-1]()
E = TABLE["warm"]()  # expect: device-init-at-import
F = TABLE["cold"]()
G = TABLE.get("warm")()  # expect: device-init-at-import
first, second = PAIR
H = second()  # expect: device-init-at-import
I = first()
J, (K, *L) = (cold, (level, level, cold))
M = K()  # expect: device-init-at-import
N = L[0]()  # expect: device-init-at-import
""",
    "loops over functions": """
import torch

def level():
    return torch.cuda.get_device_capability()

def cold():
    return 1

for function in (cold, level):
    function()  # expect: device-init-at-import
for name, function in {"a": cold, "b": level}.items():
    function()  # expect: device-init-at-import
for index, function in enumerate([level]):
    function()  # expect: device-init-at-import
for one, other in zip([cold], [level]):
    one()
    other()  # expect: device-init-at-import
for function in (cold, cold):
    function()
SEEN = [function() for function in (cold, level)]  # expect: device-init-at-import
MAPPED = list(map(lambda function: function(), [level]))  # expect: device-init-at-import
SORTED = sorted([2, 1], key=lambda number: level())  # expect: device-init-at-import
LARGEST = max([1, 2], key=lambda number: level())  # expect: device-init-at-import
KEPT = list(filter(lambda number: level(), [1]))  # expect: device-init-at-import
""",
    "functions in attributes": """
import torch

def level():
    return torch.cuda.get_device_capability()

class Holder:
    ask = staticmethod(level)
    table = {"warm": level}

    def __init__(self, function):
        self.function = function

    def run(self):
        return self.function()

A = Holder.ask()  # expect: device-init-at-import
B = Holder(level).run()  # expect: device-init-at-import
C = Holder(int).run()
D = Holder.table["warm"]()  # expect: device-init-at-import
holder = Holder(int)
holder.function = level
E = holder.run()  # expect: device-init-at-import
""",
    "a registry filled by a decorator": """
import torch

REGISTRY = {}

def register(name):
    def apply(function):
        REGISTRY[name] = function
        return function
    return apply

@register("warm")
def warm():
    return torch.cuda.get_device_capability()

@register("cold")
def cold():
    return 1

A = REGISTRY["warm"]()  # expect: device-init-at-import
""",
    "a registry filled in the module": """
import torch

REGISTRY = {}
HOOKS = []

def warm():
    return torch.cuda.get_device_capability()

REGISTRY["warm"] = warm
HOOKS.append(warm)
A = REGISTRY["warm"]()  # expect: device-init-at-import
for hook in HOOKS:
    hook()  # expect: device-init-at-import
""",
    "functools.partial": """
import functools
from functools import partial
import torch

def level(device, fast=False):
    if fast:
        return torch.cuda.get_device_capability(device)

ask = partial(level, 0, fast=True)
cold = functools.partial(level, 0)
A = ask()  # expect: device-init-at-import
B = cold()
C = partial(torch.cuda.get_device_capability, 0)()  # expect: device-init-at-import
""",
    "functools.reduce and singledispatch": """
import functools
import torch

@functools.singledispatch
def level(thing):
    return torch.cuda.get_device_capability()

A = functools.reduce(lambda a, b: torch.cuda.get_device_capability(), [1, 2])  # expect: device-init-at-import
B = level(1)  # expect: device-init-at-import
""",
    "a memoised function that is called": """
import functools
import torch

@functools.cache
def level():
    return torch.cuda.get_device_capability()

@functools.lru_cache(maxsize=1)
def fast():
    return torch.cuda.is_available()

LEVEL = level()  # expect: device-init-at-import
FAST = fast()  # expect: driver-init-at-import
""",
    "lambdas": """
import torch
level = lambda: torch.cuda.get_device_capability()
A = level()  # expect: device-init-at-import
B = (lambda ask: ask())(level)  # expect: device-init-at-import
TABLE = {"warm": lambda: level()}
C = TABLE["warm"]()  # expect: device-init-at-import
""",
    "lambdas that share a line": """
import torch

def start():
    return [function() for function in (lambda: "a", lambda: torch.cuda.get_device_name())]

def one(pick):
    pair = (lambda: 1, lambda: torch.cuda.get_device_name())
    return pair[0]() if pick else pair[1]()

(lambda: (lambda: (lambda: torch.cuda.get_device_capability())())())()  # expect: device-init-at-import
start()  # expect: device-init-at-import
one(True)
one(False)  # expect: device-init-at-import
""",
    "wrappers around wrappers": """
import torch

class Holder:
    def __init__(self, function):
        self.function = function

    def run(self):
        return self.function()

def later(function):
    return lambda: function()

Holder(Holder(Holder(torch.cuda.get_device_name).run).run).run()  # expect: device-init-at-import
later(later(later(torch.cuda.get_device_name)))()  # expect: device-init-at-import
later(later(later(int)))()
""",
    "what two ways write into one object": """
import os
import torch

class Holder:
    def __init__(self, function):
        self.function = function

    def run(self):
        return self.function()

either = int if len(os.listdir(".")) >= 0 else torch.cuda.get_device_name
Holder(either).run()  # expect: device-init-at-import conditional
holder = Holder(int)
if len(os.listdir(".")) < 0:
    holder.function = torch.cuda.get_device_name
holder.run()  # expect: device-init-at-import conditional
""",
    "a global that a function sets under a condition": """
import os
import torch

ask = int

def change():
    global ask
    if len(os.listdir(".")) < 0:
        ask = torch.cuda.get_device_name

change()
ask()  # expect: device-init-at-import conditional
""",
    "setattr": """
import torch

class Plain:
    pass

class Checked:
    @property
    def field(self):
        return 1

    @field.setter
    def field(self, value):
        torch.cuda.get_device_name()

plain = Plain()
setattr(plain, "ask", torch.cuda.get_device_name)
plain.ask()  # expect: device-init-at-import
setattr(Checked(), "field", 1)  # expect: device-init-at-import
""",
    "an attribute set on a class from outside": """
import torch

class Backend:
    ask = int

Backend.ask = torch.cuda.get_device_name
Backend.level = lambda self: torch.cuda.get_device_name()
Backend.ask()  # expect: device-init-at-import
Backend().level()  # expect: device-init-at-import
""",
    "an f-string as a default argument": """
import torch

def kernel(flag=None, name=f"{torch.cuda.get_device_name()}"):  # expect: device-init-at-import
    pass
""",
    "next runs a generator to its first value": """
import torch

def steps(function):
    yield function
    yield function()

def first():
    yield torch.cuda.get_device_name()

A = next(steps(torch.cuda.get_device_capability))
B = next(first())  # expect: device-init-at-import
""",
    "aliases of a function": """
import torch
from torch import cuda
from torch.cuda import get_device_capability as ask
import torch.cuda as gpu

level = ask
A = level()  # expect: device-init-at-import
B = gpu.get_device_capability()  # expect: device-init-at-import
C = cuda.get_device_capability()  # expect: device-init-at-import
D = getattr(torch, "cuda").get_device_capability()  # expect: device-init-at-import
E = getattr(torch.cuda, "get_" + "device_capability")()  # expect: device-init-at-import
F = torch.cuda.__getattr__("get_device_capability") and 1
""",
    "a constant argument selects a branch": """
import torch

def level(version):
    if version == 2:
        return torch.cuda.get_device_capability()
    if version == 3:
        return torch.cuda.is_available()
    return None

A = level(2)  # expect: device-init-at-import
B = level(3)  # expect: driver-init-at-import
C = level(4)
D = level(version=2)  # expect: device-init-at-import
""",
    "a default argument selects a branch": """
import torch

def level(eager=False, name="cuda"):
    if eager and name != "cpu":
        return torch.cuda.get_device_capability()

A = level()
B = level(True)  # expect: device-init-at-import
C = level(eager=True, name="cpu")
D = level(name="cuda")
""",
    "a constant is handed down": """
import torch

def inner(kind):
    return torch.cuda.get_device_capability() if kind == "warm" else None

def outer(kind, prefix=""):
    return inner(prefix + kind)

A = outer("warm")  # expect: device-init-at-import
B = outer("cold")
C = outer("arm", prefix="w")  # expect: device-init-at-import
""",
    "what a function returns selects a branch": """
import torch

def kind(name):
    if name.startswith("w"):
        return "warm"
    return "cold"

def level(name):
    if kind(name) == "warm":
        torch.cuda.get_device_capability()

A = level("w")  # expect: device-init-at-import
B = level("c")
""",
    "recursion": """
import torch

def down(number):
    if number == 0:
        return torch.cuda.get_device_capability()
    return down(number - 1)

A = down(1)  # expect: device-init-at-import
""",
    "mutual recursion that never ends well is left alone": """
def ping(number):
    return pong(number)

def pong(number):
    return ping(number)

try:
    A = ping(1)
except RecursionError:
    pass
""",
    "a global that a function sets": """
import torch

_level = None

def level():
    global _level
    if _level is None:
        _level = torch.cuda.get_device_capability()
    return _level

A = level()  # expect: device-init-at-import
""",
    "nonlocal": """
import torch

def make():
    ask = int
    def choose():
        nonlocal ask
        ask = torch.cuda.get_device_capability
    choose()
    return ask()

A = make()  # expect: device-init-at-import
""",
    "a function that is replaced": """
import torch

def level():
    return torch.cuda.get_device_capability()

def level():
    return 1

A = level()
""",
    "a name that is rebound between two calls": """
import torch

def ask():
    return 1

A = ask()

def ask():
    return torch.cuda.get_device_capability()

B = ask()  # expect: device-init-at-import
ask = int
C = ask()
""",
    "functions by getattr, globals and vars": """
import torch

def level():
    return torch.cuda.get_device_capability()

class Backend:
    def level(self):
        return torch.cuda.get_device_capability()

A = globals()["level"]()  # expect: device-init-at-import
B = getattr(Backend(), "level")()  # expect: device-init-at-import
""",
    "a function handed to a class and called by a method of another": """
import torch

class Runner:
    def __init__(self, steps):
        self.steps = steps

    def run(self):
        for step in self.steps:
            step()

class Pipeline:
    def __init__(self):
        self.runner = Runner([torch.cuda.get_device_capability])

    def start(self):
        self.runner.run()

Pipeline().start()  # expect: device-init-at-import
""",
    "callbacks of the standard library": """
import contextlib
import torch

with contextlib.suppress(RuntimeError):
    torch.cuda.get_device_capability()  # expect: device-init-at-import
with contextlib.ExitStack() as stack:
    stack.callback(int)
with open(__file__) as file:
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "asyncio.run": """
import asyncio
import torch

async def inner():
    return torch.cuda.get_device_capability()

async def level():
    return await inner()

A = asyncio.run(level())  # expect: device-init-at-import
""",
    "a for loop's else and a while loop": """
import torch

number = 0
while number < 2:
    number += 1
    torch.cuda.get_device_capability()  # expect: device-init-at-import
for one in (1, 2):
    pass
else:
    torch.cuda.is_available()  # expect: driver-init-at-import
""",
    "a break leaves the loop": """
import torch

for number in (1, 2):
    if number == 1:
        break
    torch.cuda.get_device_capability()
else:
    torch.cuda.is_available()

for number in (1, 2):
    if number == 1:
        continue
    torch.cuda.get_device_capability()  # expect: device-init-at-import
""",
    "match": """
import torch

KIND = "warm"
match KIND:
    case "cold":
        torch.cuda.is_available()
    case "warm":
        torch.cuda.get_device_capability()  # expect: device-init-at-import
    case _:
        torch.cuda.is_available()
""",
    "exec-like things are not followed": """
import torch
TEXT = "torch.cuda.get_device_capability()"
compile(TEXT, "x", "eval")
""",
    "dispatch by an annotated class is possible": """
### pkg/__init__.py
### pkg/platforms.py
import torch

class Platform:
    def level(self):
        return None

class Cuda(Platform):
    def level(self):
        return torch.cuda.get_device_capability()

def resolve(name) -> Platform:
    return globals()[name]()
### pkg/user.py
import os
from .platforms import Platform, resolve

current: Platform = resolve(os.listdir(".")[0])
LEVEL = current.level()  # expect: device-init-at-import possible
""",
    "dispatch by a parameter's annotation is possible": """
import os
import torch

class Platform:
    def level(self):
        return None

class Cuda(Platform):
    def level(self):
        return torch.cuda.get_device_capability()

def ask(platform: Platform):
    return platform.level()

def make() -> Platform:
    return eval(os.environ.get("PLATFORM", "Platform") + "()")

LEVEL = ask(make())  # expect: device-init-at-import possible
""",
}

#: No file of this name is there for CPython to dispatch by.
SETTINGS = {
    "dispatch by an annotated class is possible": Setting(runs=False),
}

SILENT = {
    "functions that are only kept": """
import functools
import torch

def level():
    return torch.cuda.get_device_capability()

TABLE = {"level": level}
PAIR = (level, torch.cuda.is_available)
ask = functools.partial(level)

class Holder:
    def __init__(self, function):
        self.function = function

HOLDER = Holder(level)
HOLDER.other = level

def take(function, *rest, **words):
    return function

TAKEN = take(level, level, other=level)
MAPPED = map(lambda number: level(), [1, 2])
FILTERED = filter(lambda number: level(), [1, 2])
ALIAS = torch.cuda.get_device_capability
""",
    "a registry nobody reads": """
import torch

REGISTRY = {}

def register(function):
    REGISTRY[function.__name__] = function
    return function

@register
def warm():
    return torch.cuda.get_device_capability()

@register
class Backend:
    def __init__(self):
        torch.cuda.get_device_capability()
""",
    "handlers for later": """
import atexit
import signal
import threading
import torch

def level():
    return torch.cuda.get_device_capability()

thread = threading.Thread(target=level)
lock = threading.Lock()
with lock:
    LOCKED = True
""",
    "a constant argument that selects the cold branch": """
import torch

def level(version, fast=False):
    if fast:
        return torch.cuda.get_device_capability()
    if version in (2, 3):
        return torch.cuda.get_device_capability()
    elif version is None:
        return torch.cuda.get_device_capability()
    return version

A = level(1)
B = level(4, fast=False)
C = level(version=0)
""",
    "an early return": """
import torch

def level(ready=True):
    if ready:
        return None
    return torch.cuda.get_device_capability()

def always():
    return None
    torch.cuda.get_device_capability()

A = level()
B = always()
""",
    "an object in an f-string that does not ask for the method that wakes": """
import torch

class Level:
    def __str__(self):
        return str(torch.cuda.get_device_capability())

    def __repr__(self):
        return "a level"

A = f"{Level()!r:>9}"
""",
}

NUMBERS = """
import torch

def whole(value):
    try:
        return int(value)
    except (OverflowError, ValueError):
        return None

NEVER = whole(float("inf"))
LONG = whole("9" * 5000)
NO_NUMBER = whole(float("nan"))
A = torch.cuda.get_device_capability()  # expect: device-init-at-import
"""


@pytest.mark.parametrize(("text", "setting"), cases(WAKES, SETTINGS))
def test_values_are_followed(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


def test_numbers_that_there_are_not_do_not_stop_the_reading(tmp_path: Path) -> None:
    assert_as_expected(NUMBERS, tmp_path)


@pytest.mark.parametrize(("text", "setting"), cases(SILENT))
def test_what_is_only_kept_stays_silent(text: str, setting: Setting, tmp_path: Path) -> None:
    assert "expect" not in text
    assert_as_expected(text, tmp_path, setting)
