"""Which method captured code calls, with which arguments, and which case it takes: CPython is asked.

A program captures a graph on a stand-in for torch that remembers the lines where a tensor was read while the
graph was being captured. These programs have one way to go, so the analyser must name those lines and no
others, and be certain.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.source.expectations import findings_of, lay_out

#: Programs whose `run(y)` is captured, with a tensor on the GPU; those on the method that a call finds.
METHODS = {
    "a method of its own": """
class Model:
    def forward(self, y):
        return y.sum().item()

def run(y):
    Model().forward(y)
""",
    "a diamond whose second base overrides": """
class Base:
    def forward(self, y):
        return y * 2

class Left(Base):
    pass

class Right(Base):
    def forward(self, y):
        return y.sum().item()

class Model(Left, Right):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond whose first base overrides": """
class Base:
    def forward(self, y):
        return y * 2

class Left(Base):
    pass

class Right(Base):
    def forward(self, y):
        return y.sum().item()

class Model(Right, Left):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond whose root reads and whose second base does not": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Left(Base):
    pass

class Right(Base):
    def forward(self, y):
        return y * 2

class Model(Left, Right):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond of three levels": """
class Root:
    def forward(self, y):
        return y * 2

class Base(Root):
    pass

class Left(Base):
    pass

class Right(Base):
    pass

class Far(Root):
    def forward(self, y):
        return y.sum().item()

class Near(Left, Right):
    pass

class Model(Near, Far):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond walked by super": """
class Base:
    def forward(self, y):
        return y * 2

class Left(Base):
    def forward(self, y):
        return super().forward(y)

class Right(Base):
    def forward(self, y):
        return y.sum().item()

class Model(Left, Right):
    def forward(self, y):
        return super().forward(y)

def run(y):
    Model().forward(y)
""",
    "a diamond walked by super to its root": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Left(Base):
    def forward(self, y):
        return super().forward(y)

class Right(Base):
    def forward(self, y):
        return super().forward(y)

class Model(Left, Right):
    def forward(self, y):
        return super().forward(y)

def run(y):
    Model().forward(y)
""",
    "super finds the base's method, not the class's own": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Model(Base):
    def forward(self, y):
        return super().forward(y)

def run(y):
    Model().forward(y)
""",
    "super passes over the class that calls it": """
class Base:
    def finish(self, y):
        return y

class Model(Base):
    def forward(self, y):
        return super().finish(y)

    def finish(self, y):
        return y.sum().item()

def run(y):
    Model().forward(y)
""",
    "only the second base class has the method": """
class First:
    def other(self, y):
        return y

class Second:
    def forward(self, y):
        return y.sum().item()

class Model(First, Second):
    pass

def run(y):
    Model().forward(y)
""",
    "the first of two base classes wins": """
class First:
    def forward(self, y):
        return y

class Second:
    def forward(self, y):
        return y.sum().item()

class Model(First, Second):
    pass

def run(y):
    Model().forward(y)
""",
    "a class attribute of a diamond": """
class Base:
    eager = False

class Left(Base):
    pass

class Right(Base):
    eager = True

class Model(Left, Right):
    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a constructor of a diamond": """
class Base:
    def __init__(self):
        self.eager = False

class Left(Base):
    pass

class Right(Base):
    def __init__(self):
        self.eager = True

class Model(Left, Right):
    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a recursion that reads at its second turn": """
class Model:
    def forward(self, y, deep=True):
        if deep:
            return self.forward(y, False)
        return y.sum().item()

def run(y):
    Model().forward(y)
""",
    "a method that the class has from a base with brackets": """
from typing import Generic, TypeVar

T = TypeVar("T")

class Base(Generic[T]):
    def forward(self, y):
        return y.sum().item()

class Model(Base[int]):
    pass

def run(y):
    Model().forward(y)
""",
    "a diamond over a generic base": """
from typing import Generic, TypeVar

T = TypeVar("T")

class Base(Generic[T]):
    def forward(self, y):
        return y * 2

class Left(Base[int]):
    pass

class Right(Base[int]):
    def forward(self, y):
        return y.sum().item()

class Model(Left, Right):
    pass

def run(y):
    Model().forward(y)
""",
    "super with its arguments written out": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Model(Base):
    def forward(self, y):
        return super(Model, self).forward(y)

def run(y):
    Model().forward(y)
""",
    "super from further up": """
class Root:
    def forward(self, y):
        return y.sum().item()

class Base(Root):
    def forward(self, y):
        return y * 2

class Model(Base):
    def forward(self, y):
        return super(Base, self).forward(y)

def run(y):
    Model().forward(y)
""",
    "a constructor that super calls along a diamond": """
class Base:
    def __init__(self):
        self.eager = False

class Left(Base):
    def __init__(self):
        super().__init__()

class Right(Base):
    def __init__(self):
        super().__init__()
        self.eager = True

class Model(Left, Right):
    def __init__(self):
        super().__init__()

    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a property of a diamond": """
class Base:
    @property
    def eager(self):
        return False

class Left(Base):
    pass

class Right(Base):
    @property
    def eager(self):
        return True

class Model(Left, Right):
    def forward(self, y):
        if self.eager:
            return y.sum().item()
        return y

def run(y):
    Model().forward(y)
""",
    "a method called through a base class": """
class Base:
    def forward(self, y):
        return y.sum().item()

class Model(Base):
    def forward(self, y):
        return Base.forward(self, y)

def run(y):
    Model().forward(y)
""",
    "a static method, and a class method": """
class Model:
    @staticmethod
    def step(flag, y):
        if flag:
            return y.sum().item()
        return y

    @classmethod
    def build(cls, flag, y):
        if flag:
            return y.sum().item()
        return y

def run(y):
    Model.step(True, y)
    Model.build(False, y)
    Model().step(False, y)
""",
    "a method that is another name's": """
def helper(self, y):
    return y.sum().item()

class Model:
    forward = helper

def run(y):
    Model().forward(y)
    Model.forward(Model(), y)
""",
    "super in a class method": """
class Base:
    @classmethod
    def build(cls, y):
        return y.sum().item()

class Model(Base):
    @classmethod
    def build(cls, y):
        return super().build(y)

def run(y):
    Model.build(y)
""",
    "a nested class": """
class Model:
    class Inner:
        def forward(self, y):
            return y.sum().item()

def run(y):
    Model.Inner().forward(y)
""",
    "a class attribute called through a class method": """
class Model:
    eager = True

    @classmethod
    def step(cls, y):
        if cls.eager:
            return y.sum().item()
        return y

class Sub(Model):
    eager = False

def run(y):
    Model.step(y)
    Sub.step(y)
""",
}

#: Those on the arguments that a parameter gets.
ARGUMENTS = {
    "a flag, plain": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, y)
""",
    "a star": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(*(False, y))
""",
    "a star of a name": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    args = (False, y)
    step(*args)
""",
    "a star whose flag says no": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    args = (True, y)
    step(*args)
""",
    "a star of a method": """
class Model:
    def step(self, flag, y):
        if not flag:
            return y.sum().item()
        return y

def run(y):
    Model().step(*[False, y])
""",
    "a star in the middle": """
def step(first, flag, y, last):
    if flag and not last:
        return y.sum().item()
    return y

def run(y):
    step(1, *(True, y), False)
""",
    "a star in the middle that shifts what follows": """
def step(first, second, flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, *(False,), True, y)
""",
    "two stars": """
def step(first, second, y, flag):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(*(False, False), *(y, True))
""",
    "an empty star": """
def step(y, flag=True):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, *())
""",
    "a double star": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": False})
""",
    "a double star of a name": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    options = {"flag": False}
    step(y, **options)
""",
    "a double star that says what the default says": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": True})
""",
    "a double star that turns a default off": """
def step(y, flag=True):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": False})
""",
    "an empty double star": """
def step(y, flag=True):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{})
""",
    "a double star beside positional arguments": """
def step(first, y, *, flag=False, other=True):
    if first and flag and not other:
        return y.sum().item()
    return y

def run(y):
    step(True, y, **{"other": False}, flag=True)
""",
    "a double star that fills positional parameters": """
def step(first, y, flag):
    if first and not flag:
        return y.sum().item()
    return y

def run(y):
    step(True, **{"flag": False, "y": y})
""",
    "a star and a double star": """
def step(first, y, flag=True):
    if not first and not flag:
        return y.sum().item()
    return y

def run(y):
    step(*(False, y), **{"flag": False})
""",
    "what stars collect": """
def step(*args, **options):
    if not args[0] and options["flag"]:
        return args[1].sum().item()
    return None

def run(y):
    step(False, y, flag=True)
""",
    "what stars collect and hand on": """
def inner(flag, y, *, other=False):
    if not flag and other:
        return y.sum().item()
    return y

def step(*args, **options):
    return inner(*args, **options)

def run(y):
    step(False, y, other=True)
""",
    "what stars collect and hand on, with a flag that says no": """
def inner(flag, y, *, other=False):
    if not flag and other:
        return y.sum().item()
    return y

def step(*args, **options):
    return inner(*args, **options)

def run(y):
    step(True, y, other=True)
""",
    "a constructor with stars": """
class Model:
    def __init__(self, eager, other=True):
        self.eager = eager
        self.other = other

    def forward(self, y):
        if self.eager and not self.other:
            return y.sum().item()
        return y

def run(y):
    Model(*(True,), **{"other": False}).forward(y)
""",
    "keyword-only arguments": """
def step(y, *, flag, other=True):
    if flag and other:
        return y.sum().item()
    return y

def run(y):
    step(y, flag=True)
    step(y, flag=False)
""",
    "a positional-only parameter whose name is a keyword too": """
def step(flag, y, /, **options):
    if options["flag"] and not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, y, flag=True)
""",
    "a positional-only parameter that keeps its default": """
def step(y, flag=False, /, **options):
    if flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **{"flag": True})
""",
    "a default": """
def step(y, flag=False, other=True):
    if other and not flag:
        return y.sum().item()
    return y

def run(y):
    step(y)
""",
    "a star in the middle that collects": """
def step(first, *rest, last):
    if rest[1] and not last:
        return rest[0].sum().item()
    return first

def run(y):
    step(1, *(y, True), last=False)
""",
    "a star behind a named parameter": """
def step(flag, y, *rest):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(False, *(y, True, True))
""",
    "a list that grows": """
def step(*flags, y):
    if len(flags) == 3:
        return y
    return y

def inner(y, first, second=False):
    if second:
        return y.sum().item()
    return y

def run(y):
    flags = [y, True]
    flags.append(True)
    inner(*flags)
""",
    "a dictionary that is filled": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    options = {}
    options["flag"] = False
    step(y, **options)
""",
    "a dictionary made by dict": """
def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, **dict(flag=False))
""",
    "a dictionary out of two": """
def step(y, flag=True, other=True):
    if not flag and other:
        return y.sum().item()
    return y

def run(y):
    options = {"flag": False}
    step(y, **{**options, "other": True})
""",
    "a tuple out of two": """
def step(flag, other, y):
    if not flag and other:
        return y.sum().item()
    return y

def run(y):
    args = (False, True)
    step(*(*args, y))
""",
    "what stars collect, empty": """
def step(y, *rest, **options):
    if not rest:
        return y.sum().item()
    return y

def run(y):
    step(y)
""",
    "what stars collect, asked with get": """
def step(y, **options):
    if options.get("flag", True):
        return y.sum().item()
    return y

def run(y):
    step(y)
    step(y, flag=False)
""",
    "a partial function": """
from functools import partial

def step(flag, y, other=False):
    if not flag and other:
        return y.sum().item()
    return y

def run(y):
    partial(step, False, other=True)(y)
""",
    "a partial function whose keyword is given again": """
from functools import partial

def step(y, flag=False):
    if flag:
        return y.sum().item()
    return y

def run(y):
    partial(step, flag=True)(y, flag=False)
""",
    "arguments handed on through a method": """
class Model:
    def step(self, flag, y, *, other=True):
        if not flag and not other:
            return y.sum().item()
        return y

    def forward(self, *args, **options):
        return self.step(*args, **options)

def run(y):
    Model().forward(False, y, other=False)
""",
    "a lambda with stars": """
def step(flag, y):
    if not flag:
        return y.sum().item()
    return y

def run(y):
    call = lambda *args, **options: step(*args, **options)
    call(False, y=y)
""",
    "a nested function with a default": """
def run(y):
    def step(flag=False):
        if not flag:
            return y.sum().item()
        return y
    step(*())
    step(*(True,))
""",
}

#: Those on loops.
LOOPS = {
    "a loop that reads in its second turn": """
def run(y):
    for flag in (False, True):
        if flag:
            y.sum().item()
""",
    "a loop that reads in its eighth turn": """
def run(y):
    for flag in (False, False, False, False, False, False, False, True):
        if flag:
            y.sum().item()
""",
    "a loop that never reads": """
def run(y):
    for flag in (False, False):
        if flag:
            y.sum().item()
""",
    "a loop that goes on": """
def run(y):
    for flag in (False, True):
        if not flag:
            continue
        y.sum().item()
""",
    "a loop over nothing": """
def run(y):
    for flag in ():
        y.sum().item()
""",
    "a loop over reversed flags": """
def step(first, second, y):
    if second:
        return y.sum().item()
    return y

def run(y):
    for flag in (True, False):
        if flag:
            break
    else:
        return
    step(False, flag, y)
""",
}

#: Those on the case that is taken, and on what is evaluated on the way to it.
CASES = {
    "a case that matches": """
def step(y, mode):
    match mode:
        case "a":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "the wildcard after a case that matches": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "the wildcard after a case that does not match": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "b")
""",
    "what follows a match without a matching case": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case "b":
            return y * 2
    return y.sum().item()

def run(y):
    step(y, "c")
""",
    "a guard that reads": """
def step(y, mode):
    match mode:
        case "a" if y.sum().item() > 0:
            return y
        case _:
            return y * 2

def run(y):
    step(y, "a")
""",
    "a guard that reads, of a case that does not match": """
def step(y, mode):
    match mode:
        case "a" if y.sum().item() > 0:
            return y
        case _:
            return y * 2

def run(y):
    step(y, "b")
""",
    "a guard that reads, behind a case that matches": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case _ if y.sum().item() > 0:
            return y * 2

def run(y):
    step(y, "a")
""",
    "a guard that is false": """
def step(y, mode):
    match mode:
        case "a" if False:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "the wildcard behind a guard that is false": """
def step(y, mode):
    match mode:
        case "a" if False:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "a guard that is true": """
def step(y, mode):
    match mode:
        case "a" if True:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "the wildcard behind a guard that is true": """
def step(y, mode):
    match mode:
        case "a" if True:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "a guard on another argument": """
def step(y, mode, flag):
    match mode:
        case "a" if flag:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a", True)
""",
    "a guard that reads the name captured by its case": """
def step(y, mode):
    match mode:
        case flag if flag:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, True)
""",
    "an irrefutable case with a guard that is false": """
def step(y, mode):
    match mode:
        case other if False:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "an irrefutable case with a guard, the tensor itself": """
def step(mode):
    match mode:
        case tensor if tensor.sum().item() > 0:
            return tensor
        case _:
            return None

def run(y):
    step(y)
""",
    "a case that captures what it matches": """
def step(mode):
    match mode:
        case "a":
            return mode
        case tensor:
            return tensor.sum().item()

def run(y):
    step(y)
""",
    "a case that captures, and what it captured": """
def step(y, mode):
    match mode:
        case flag:
            if flag:
                return y.sum().item()
    return y

def run(y):
    step(y, False)
""",
    "alternatives of which one matches": """
def step(y, mode):
    match mode:
        case "a" | "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "b")
""",
    "the wildcard after alternatives of which one matches": """
def step(y, mode):
    match mode:
        case "a" | "b":
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, "b")
""",
    "alternatives of which none matches": """
def step(y, mode):
    match mode:
        case "a" | "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "c")
""",
    "a class that does not match": """
def step(y, mode):
    match mode:
        case int():
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "a class that matches": """
def step(y, mode):
    match mode:
        case str():
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "a class of ours that matches": """
class Decode:
    pass

class Prefill:
    pass

def step(y, mode):
    match mode:
        case Decode():
            return y
        case Prefill():
            return y.sum().item()

def run(y):
    step(y, Prefill())
""",
    "None": """
def step(y, mode):
    match mode:
        case None:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, None)
""",
    "True is not 1 to a case": """
def step(y, mode):
    match mode:
        case True:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, 1)
""",
    "1 equals True to a case": """
def step(y, mode):
    match mode:
        case 1:
            return y
        case _:
            return y.sum().item()

def run(y):
    step(y, True)
""",
    "a subject that reads": """
def run(y):
    match y.sum().item():
        case 1:
            pass
""",
    "a value pattern of an enumeration": """
import enum

class Mode(enum.Enum):
    FULL = 1
    PIECEWISE = 2

def step(y, mode):
    match mode:
        case Mode.FULL:
            return y
        case Mode.PIECEWISE:
            return y.sum().item()

def run(y):
    step(y, Mode.PIECEWISE)
""",
    "a sequence that matches": """
def step(y, pair):
    match pair:
        case [first]:
            return y
        case [False, second]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, (False, 1))
""",
    "a sequence of another length": """
def step(y, pair):
    match pair:
        case [first, second]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, (1, 2, 3))
""",
    "a sequence with a rest": """
def step(pair):
    match pair:
        case [True, *rest, last]:
            if not rest[0]:
                return last.sum().item()
    return None

def run(y):
    step([True, False, 1, y])
""",
    "a sequence with too few for its rest": """
def step(y, pair):
    match pair:
        case [first, *rest, last]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, (1,))
""",
    "text is no sequence": """
def step(y, pair):
    match pair:
        case [first, second]:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "ab")
""",
    "a mapping that matches": """
def step(options):
    match options:
        case {"mode": "a"}:
            return None
        case {"mode": "b", "y": tensor}:
            return tensor.sum().item()

def run(y):
    step({"mode": "b", "y": y})
""",
    "a mapping that lacks the key": """
def step(y, options):
    match options:
        case {"mode": _}:
            return y.sum().item()
        case {}:
            return y

def run(y):
    step(y, {"other": 1})
""",
    "a class with attributes": """
class Batch:
    def __init__(self, eager, y):
        self.eager = eager
        self.y = y

def step(batch):
    match batch:
        case Batch(eager=True):
            return None
        case Batch(eager=False, y=tensor):
            return tensor.sum().item()

def run(y):
    step(Batch(False, y))
""",
    "a class with match_args": """
class Batch:
    __match_args__ = ("eager", "y")

    def __init__(self, y, eager):
        self.eager = eager
        self.y = y

def step(batch):
    match batch:
        case Batch(True, tensor):
            return None
        case Batch(False, tensor):
            return tensor.sum().item()

def run(y):
    step(Batch(y, False))
""",
    "a base class that matches": """
class Base:
    pass

class Decode(Base):
    pass

def step(y, mode):
    match mode:
        case Base():
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, Decode())
""",
    "a built-in class with what it captures": """
def step(y, mode):
    match mode:
        case int(flag) if flag > 1:
            return y
        case str(text):
            return y.sum().item()

def run(y):
    step(y, "a")
""",
    "as, around alternatives": """
def step(y, mode):
    match mode:
        case ("a" | "b") as kind if kind == "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "b")
""",
    "as, around alternatives, with a guard that does not hold": """
def step(y, mode):
    match mode:
        case ("a" | "b") as kind if kind == "b":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a")
""",
    "alternatives with None": """
def step(y, mode):
    match mode:
        case None | "a":
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, None)
""",
    "a match in a loop": """
def run(y):
    for mode in ("a", "b"):
        match mode:
            case "b":
                y.sum().item()
""",
    "a wildcard with a guard": """
def step(y, flag):
    match 1:
        case _ if flag:
            return y
    return y.sum().item()

def run(y):
    step(y, False)
""",
    "a name bound by a case stays bound": """
def step(y, mode):
    match mode:
        case flag:
            pass
    if not flag:
        return y.sum().item()
    return y

def run(y):
    step(y, False)
""",
    "a negative number": """
def step(y, mode):
    match mode:
        case -1:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, -1)
""",
    "a return inside a case, and what is behind the match": """
def step(y, mode):
    match mode:
        case "a":
            return y
        case "b":
            pass
    return y.sum().item()

def run(y):
    step(y, "a")
""",
    "a nested match": """
def step(y, mode, kind):
    match mode:
        case "a":
            match kind:
                case 1:
                    return y
                case _:
                    return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a", 2)
""",
    "a pair of subjects": """
def step(y, mode, kind):
    match mode, kind:
        case "a", 1:
            return y
        case "a", 2:
            return y.sum().item()
        case _:
            return y

def run(y):
    step(y, "a", 2)
""",
}

PROGRAM = """import torch

{definitions}

def capture():
    y = torch.zeros(4, device="cuda")
    run(y)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        run(y)
"""


class Tensor:
    """A tensor that only knows whether it is read while a graph is captured."""

    def __init__(self, reads: list[int], capturing: list[bool]) -> None:
        self._reads = reads
        self._capturing = capturing

    def sum(self) -> Tensor:
        return self

    def __mul__(self, other: object) -> Tensor:
        return self

    def item(self) -> int:
        if self._capturing:
            self._reads.append(sys._getframe(1).f_lineno)
        return 1


def read_lines(source: str, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The lines where CPython reads a tensor while a graph is captured."""
    reads: list[int] = []
    capturing: list[bool] = []

    @contextmanager
    def graph(_: object) -> Iterator[None]:
        capturing.append(True)
        yield
        capturing.pop()

    torch, cuda = ModuleType("torch"), ModuleType("torch.cuda")
    vars(cuda).update(graph=graph, CUDAGraph=object)
    vars(torch).update(cuda=cuda, zeros=lambda *_, **__: Tensor(reads, capturing))
    monkeypatch.setitem(sys.modules, "torch", torch)
    space: dict[str, object] = {"__name__": "m"}
    exec(source, space)
    capture = space["capture"]
    assert callable(capture)
    capture()
    return set(reads)


def program(definitions: str) -> str:
    """A file that captures what `run` does with a tensor on the GPU."""
    return PROGRAM.format(definitions=definitions.strip())


def reported(source: str, folder: Path) -> dict[int, str]:
    """The lines that the analyser says to read a tensor under capture, and how sure it is."""
    lay_out(source, folder)
    found = [one for one in findings_of(folder) if one.rule == "sync-in-captured-region"]
    return {one.chain.steps[-2].line or 0: one.verdict.value for one in found}


PROGRAMS = METHODS | ARGUMENTS | LOOPS | CASES


@pytest.mark.parametrize("definitions", PROGRAMS.values(), ids=[name.replace(" ", "-") for name in PROGRAMS])
def test_the_lines_that_read_are_those_that_cpython_reads_at(
    definitions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = program(definitions)
    wanted = dict.fromkeys(read_lines(source, monkeypatch), "certain")
    assert reported(source, tmp_path) == wanted


#: Of `x` nothing is known but that it is a tensor.
OF_ANY_TENSOR = """import torch

def step(flag, x):
    if not flag:
        return x.sum().item()
    return x

def capture(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        {call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "step(False, x)",
        "step(x=x, flag=False)",
        "step(*(False, x))",
        "step(False, *[x])",
        'step(**{"flag": False, "x": x})',
    ],
)
def test_stars_say_of_any_tensor_what_the_plain_call_says(call: str, tmp_path: Path) -> None:
    assert reported(OF_ANY_TENSOR.format(call=call), tmp_path) == {5: "conditional"}
