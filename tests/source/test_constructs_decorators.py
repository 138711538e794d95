"""Decorators from elsewhere: what stands behind one without source, or one of the standard library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "decorators without source": """
import enum
import reprlib
import weakref
import torch

KEPT = []

@reprlib.recursive_repr()
def level(self):
    return torch.cuda.get_device_name()

@enum.unique
class Kind(enum.Enum):
    A = 1

    def level(self):
        return torch.cuda.get_device_name()

def held(function):
    KEPT.append(function)
    return weakref.proxy(function)

@held
def weakly():
    return torch.cuda.get_device_name()

A = level(1)  # expect: device-init-at-import
B = Kind.A.level()  # expect: device-init-at-import
C = weakly()  # expect: device-init-at-import
""",
    "decorators that nobody can read": """
import elsewhere
import torch
from elsewhere import register, task

@task
def calling(function):
    return function()

@calling  # expect: device-init-at-import conditional
def called():
    return torch.cuda.get_device_name()

@task
def first():
    return torch.cuda.get_device_name()

@register("name", option=1)
def second():
    return torch.cuda.get_device_name()

@elsewhere.tools.wrap
class Third:
    def __init__(self):
        torch.cuda.get_device_name()

class Derived(Third):
    pass

class Holding:
    @elsewhere.checked
    def ask(self):
        return torch.cuda.get_device_name()

def own(function):
    return elsewhere.wrapped(function)

@own
def fourth():
    return torch.cuda.get_device_name()

@torch.no_grad()
def fifth():
    return torch.cuda.get_device_name()

A = first()  # expect: device-init-at-import conditional
B = second()  # expect: device-init-at-import conditional
C = Third()  # expect: device-init-at-import conditional
D = Holding().ask()  # expect: device-init-at-import conditional
E = fourth()  # expect: device-init-at-import conditional
F = fifth()  # expect: device-init-at-import
""",
    "a decorator that reads what it decorates": """
### m.py
import wrapper
import torch

@wrapper.decorator
def experimental(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)

@experimental
class Model:
    def __init__(self):
        torch.cuda.get_device_name()
### beside/wrapper.py
def decorator(wrapper):
    def decorate(wrapped):
        def call(*args, **kwargs):
            return wrapper(wrapped, None, args, kwargs)
        return call
    return decorate
""",
    "functions of the standard library that hand on what they are given": """
import abc
import atexit
import copy
import functools
import typing
import torch

def ask():
    return torch.cuda.get_device_name()

class Asking:
    def _ask(self, *more):
        return torch.cuda.get_device_name()

    ask = functools.partialmethod(_ask, 1)

A = functools.lru_cache(ask)()  # expect: device-init-at-import
B = functools.lru_cache(maxsize=2)(ask)()  # expect: device-init-at-import
C = functools.cache(ask)()  # expect: device-init-at-import
D = functools.singledispatch(lambda number: ask())(1)  # expect: device-init-at-import
E = Asking().ask()  # expect: device-init-at-import
F = functools.update_wrapper(lambda: ask(), int)()  # expect: device-init-at-import
G = functools.wraps(int)(lambda: ask())()  # expect: device-init-at-import
H = copy.copy(ask)()  # expect: device-init-at-import
I = copy.deepcopy(ask)()  # expect: device-init-at-import
J = typing.cast(int, ask)()  # expect: device-init-at-import
K = typing.final(ask)()  # expect: device-init-at-import
L = typing.no_type_check(ask)()  # expect: device-init-at-import
M = abc.abstractmethod(ask)()  # expect: device-init-at-import
N = atexit.register(ask)()  # expect: device-init-at-import
O = functools.total_ordering(Asking)
""",
    "a property with all its accessors, and a name bound in steps": """
import torch

ask = torch.cuda.get_device_name

class Backend:
    @property
    def kind(self):
        return "gpu"

    @kind.setter
    def kind(self, value):
        self.kept = value

    @kind.deleter
    def kind(self):
        pass

backend = Backend()
backend.kind == "gpu" and ask()  # expect: device-init-at-import
backend.kind = 7
backend.kept == 7 and ask()  # expect: device-init-at-import
number = 1
number = number + 1
number = number + 1
number == 3 and ask()  # expect: device-init-at-import
""",
    "the order of decorators, and what they make": """
import torch

ask = torch.cuda.get_device_name
ORDER = []

def named(name):
    ORDER.append(name)
    def apply(function):
        ORDER.append(name.upper())
        return function
    return apply

@named("a")
@named("b")
def kernel():
    return 1

ORDER == ["a", "b", "B", "A"] and ask()  # expect: device-init-at-import
ORDER[0] == "a" and ask()  # expect: device-init-at-import
ORDER[2] == "B" and ask()  # expect: device-init-at-import
ORDER[2] != "B" and ask()

class Wrapped:
    def __init__(self, function, level=0):
        self.function = function
        self.level = level

    def __call__(self, *rest):
        return self.function(*rest)

@Wrapped
def level(number=3):
    return number

level(4) == 4 and ask()  # expect: device-init-at-import
level.level == 0 and ask()  # expect: device-init-at-import

class Backend:
    @property
    def kind(self):
        return "gpu"

    @kind.setter
    def kind(self, value):
        self.kept = value

    @staticmethod
    def plain(number):
        return number

    @classmethod
    def made(cls):
        return cls

backend = Backend()
backend.kind == "gpu" and ask()  # expect: device-init-at-import
backend.kind = 7
backend.kept == 7 and ask()  # expect: device-init-at-import
backend.plain(3) == 3 and ask()  # expect: device-init-at-import
Backend.plain(3) == 3 and ask()  # expect: device-init-at-import
Backend.made() is Backend and ask()  # expect: device-init-at-import
backend.made() is Backend and ask()  # expect: device-init-at-import
""",
}


SETTINGS = {"decorators that nobody can read": Setting(runs=False)}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_what_a_decorator_returns_is_what_the_name_means(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


RECORDS = ("dataclasses.dataclass", "pydantic.dataclasses.dataclass", "attr.s", "attr.define", "attrs.define")


@pytest.mark.parametrize("arguments", ["", "()"])
@pytest.mark.parametrize("dotted", RECORDS)
def test_a_constructor_that_a_decorator_writes(dotted: str, arguments: str, tmp_path: Path) -> None:
    module, _, name = dotted.rpartition(".")
    hook = "__attrs_post_init__" if dotted.startswith("attr") else "__post_init__"
    text = f"""
import torch
from {module} import {name} as record

@record{arguments}
class Base:
    first: object = int

@record{arguments}
class Asked(Base):
    second: object = None

    def {hook}(self):
        self.first()

class Other(Asked):
    pass

Asked(torch.cuda.get_device_name)  # expect: device-init-at-import
Other(torch.cuda.get_device_name)  # expect: device-init-at-import
Other(second=int, first=torch.cuda.get_device_name)  # expect: device-init-at-import
Base(torch.cuda.get_device_name).first()  # expect: device-init-at-import
Asked()
Other(int, torch.cuda.get_device_name)
"""
    assert_as_expected(text, tmp_path, Setting(runs=dotted.startswith("dataclasses")))


@pytest.mark.parametrize("typed", [True, False])
def test_a_constructor_that_a_decorator_of_the_program_writes(typed: bool, tmp_path: Path) -> None:
    first, second = ("first: object =", "second: object =") if typed else ("first = ib", "second = ib")
    text = f"""
import torch

class ib:
    def __init__(self, default=None):
        self.default = default

def record(cls):
    fields = cls.__dict__.get("__annotations__", {{}}) or cls.__dict__
    names = [name for name in fields if not name.startswith("_")]
    defaults = {{name: getattr(cls.__dict__[name], "default", cls.__dict__[name]) for name in names}}
    def fill(self, given, named):
        self.__dict__.update({{**defaults, **dict(zip(names, given)), **named}})
    body = {{"__init__": lambda self, *given, **named: fill(self, given, named)}}
    return eval("type(name, (), body)", {{"name": cls.__name__, "body": body}})

@record
class Asked:
    {first} (int)
    {second} (None)

Asked(torch.cuda.get_device_name).first()  # expect: device-init-at-import
Asked(second=torch.cuda.get_device_name).second()  # expect: device-init-at-import
Asked(second="given").second is None and torch.cuda.get_device_name()
Asked(int, "given").second or torch.cuda.get_device_name()
"""
    assert_as_expected(text, tmp_path)
