"""Classes: constructors, metaclasses, hooks, descriptors, operators, context managers, inheritance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

WAKES = {
    "a constructor": """
import torch

class Backend:
    def __init__(self, name):
        self.level = torch.cuda.get_device_capability()

BACKEND = Backend("a")  # expect: device-init-at-import
""",
    "an inherited constructor": """
import torch

class Base:
    def __init__(self):
        self.level = torch.cuda.get_device_capability()

class Middle(Base):
    pass

class Backend(Middle):
    pass

BACKEND = Backend()  # expect: device-init-at-import
""",
    "super in a constructor": """
import torch

class Base:
    def __init__(self, name):
        torch.cuda.get_device_capability()

class Backend(Base):
    def __init__(self):
        super().__init__("a")

class Old(Base):
    def __init__(self):
        super(Old, self).__init__("a")

class Direct(Base):
    def __init__(self):
        Base.__init__(self, "a")

A = Backend()  # expect: device-init-at-import
B = Old()  # expect: device-init-at-import
C = Direct()  # expect: device-init-at-import
""",
    "super follows the method resolution order of the object": """
import torch

class Root:
    def setup(self):
        pass

class Left(Root):
    def setup(self):
        super().setup()

class Right(Root):
    def setup(self):
        torch.cuda.get_device_capability()

class Both(Left, Right):
    pass

Both().setup()  # expect: device-init-at-import
Left().setup()
""",
    "__new__": """
import torch

class Single:
    def __new__(cls):
        torch.cuda.get_device_capability()
        return super().__new__(cls)

SINGLE = Single()  # expect: device-init-at-import
""",
    "__new__ of a metaclass": """
import torch

class Meta(type):
    def __new__(mcs, name, bases, namespace):
        torch.cuda.get_device_capability()
        return super().__new__(mcs, name, bases, namespace)

class Backend(metaclass=Meta):  # expect: device-init-at-import
    pass

class Child(Backend):  # expect: device-init-at-import
    pass
""",
    "__init__ of a metaclass": """
import torch

class Meta(type):
    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        torch.cuda.get_device_capability()

class Backend(metaclass=Meta):  # expect: device-init-at-import
    def __init__(self):
        pass
""",
    "__prepare__ of a metaclass": """
import torch

class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases):
        torch.cuda.get_device_capability()
        return {}

class Backend(metaclass=Meta):  # expect: device-init-at-import
    pass
""",
    "__call__ of a metaclass": """
import torch

class Meta(type):
    def __call__(cls, *args):
        torch.cuda.get_device_capability()
        return super().__call__(*args)

class Backend(metaclass=Meta):
    pass

BACKEND = Backend()  # expect: device-init-at-import
""",
    "__call__ of a metaclass hands on to the constructor": """
import torch

class Singleton(type):
    made = {}

    def __call__(cls, *args, **words):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args, **words)
        return cls.made[cls]

class Backend(metaclass=Singleton):
    def __init__(self):
        torch.cuda.get_device_capability()

BACKEND = Backend()  # expect: device-init-at-import
""",
    "a property of a metaclass": """
import torch

class Meta(type):
    @property
    def level(cls):
        return torch.cuda.get_device_capability()

class Backend(metaclass=Meta):
    pass

LEVEL = Backend.level  # expect: device-init-at-import
""",
    "__getattr__ of a metaclass": """
import torch

class Meta(type):
    def __getattr__(cls, name):
        return torch.cuda.get_device_capability()

class Backend(metaclass=Meta):
    pass

LEVEL = Backend.level  # expect: device-init-at-import
""",
    "a function as metaclass": """
import torch

def make(name, bases, namespace):
    torch.cuda.get_device_capability()
    return type(name, bases, namespace)

class Backend(metaclass=make):  # expect: device-init-at-import
    pass
""",
    "__init_subclass__": """
import torch

class Base:
    def __init_subclass__(cls, **words):
        super().__init_subclass__(**words)
        torch.cuda.get_device_capability()

class Backend(Base):  # expect: device-init-at-import
    pass

class Leaf(Backend):  # expect: device-init-at-import
    pass
""",
    "__init_subclass__ with an argument that decides": """
import torch

class Base:
    def __init_subclass__(cls, eager=False):
        if eager:
            torch.cuda.get_device_capability()

class Lazy(Base):
    pass

class Eager(Base, eager=True):  # expect: device-init-at-import
    pass
""",
    "__set_name__": """
import torch

class Field:
    def __set_name__(self, owner, name):
        self.level = torch.cuda.get_device_capability()

class Backend:  # expect: device-init-at-import
    level = Field()
""",
    "a computed base class": """
import torch

class Fast:
    pass

class Slow:
    pass

def base():
    return Fast if torch.cuda.get_device_capability() > (8, 0) else Slow

class Backend(base()):  # expect: device-init-at-import
    pass
""",
    "__mro_entries__ and __class_getitem__": """
import torch

class Generic:
    def __class_getitem__(cls, item):
        torch.cuda.get_device_capability()
        return cls

class Backend(Generic[int]):  # expect: device-init-at-import
    pass

KIND = Generic[str]  # expect: device-init-at-import
""",
    "a method of an object made in the module": """
import torch

class Backend:
    def level(self):
        return self._level()

    def _level(self):
        return torch.cuda.get_device_capability()

BACKEND = Backend()
LEVEL = BACKEND.level()  # expect: device-init-at-import
""",
    "static and class methods": """
import torch

class Backend:
    @staticmethod
    def level():
        return torch.cuda.get_device_capability()

    @classmethod
    def make(cls):
        return cls(cls.level())

    def __init__(self, level):
        pass

A = Backend.level()  # expect: device-init-at-import
B = Backend.make()  # expect: device-init-at-import
C = Backend(1).level()  # expect: device-init-at-import
""",
    "a classmethod that the subclass overrides a part of": """
import torch

class Base:
    @classmethod
    def level(cls):
        return cls._level()

    @classmethod
    def _level(cls):
        return None

class Backend(Base):
    @classmethod
    def _level(cls):
        return torch.cuda.get_device_capability()

A = Base.level()
B = Backend.level()  # expect: device-init-at-import
""",
    "properties": """
import functools
import torch

class Backend:
    @property
    def level(self):
        return torch.cuda.get_device_capability()

    @functools.cached_property
    def fast(self):
        return torch.cuda.is_available()

BACKEND = Backend()
A = BACKEND.level  # expect: device-init-at-import
B = Backend().fast  # expect: driver-init-at-import
""",
    "a property setter": """
import torch

class Backend:
    @property
    def level(self):
        return 1

    @level.setter
    def level(self, value):
        torch.cuda.get_device_capability()

BACKEND = Backend()
BACKEND.level = 1  # expect: device-init-at-import
LEVEL = BACKEND.level
""",
    "a property that property() makes": """
import torch

class Backend:
    def _level(self):
        return torch.cuda.get_device_capability()

    level = property(_level)

LEVEL = Backend().level  # expect: device-init-at-import
""",
    "a descriptor of your own": """
import torch

class classproperty:
    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        return self.function(owner)

class Backend:
    @classproperty
    def level(cls):
        return torch.cuda.get_device_capability()

LEVEL = Backend.level  # expect: device-init-at-import
""",
    "__getattr__ of an object": """
import torch

class Lazy:
    present = 1

    def __getattr__(self, name):
        return torch.cuda.get_device_capability()

LAZY = Lazy()
A = LAZY.present
B = LAZY.absent  # expect: device-init-at-import
C = getattr(LAZY, "other")  # expect: device-init-at-import
""",
    "__call__": """
import torch

class Ask:
    def __call__(self):
        return torch.cuda.get_device_capability()

ask = Ask()
LEVEL = ask()  # expect: device-init-at-import
""",
    "operators": """
import torch

class Level:
    def __add__(self, other):
        return torch.cuda.get_device_capability()

    def __radd__(self, other):
        return torch.cuda.get_device_capability()

    def __lt__(self, other):
        torch.cuda.get_device_capability()
        return True

    def __eq__(self, other):
        torch.cuda.get_device_capability()
        return True

    def __neg__(self):
        return torch.cuda.get_device_capability()

    def __contains__(self, item):
        torch.cuda.get_device_capability()
        return True

    def __getitem__(self, key):
        return torch.cuda.get_device_capability()

    def __len__(self):
        torch.cuda.get_device_capability()
        return 1

    def __iadd__(self, other):
        torch.cuda.get_device_capability()
        return self

level = Level()
A = level + 1  # expect: device-init-at-import
B = 1 + level  # expect: device-init-at-import
C = level < 1  # expect: device-init-at-import
D = level == 1  # expect: device-init-at-import
E = -level  # expect: device-init-at-import
F = 1 in level  # expect: device-init-at-import
G = level[0]  # expect: device-init-at-import
H = len(level)  # expect: device-init-at-import
level += 1  # expect: device-init-at-import
""",
    "__bool__ and __len__ in a test": """
import torch

class Ask:
    def __bool__(self):
        torch.cuda.get_device_capability()
        return True

class Many:
    def __len__(self):
        torch.cuda.get_device_capability()
        return 1

ask = Ask()
if ask:  # expect: device-init-at-import
    pass
if not Many():  # expect: device-init-at-import
    pass
BOTH = ask and 1  # expect: device-init-at-import
TRUE = bool(ask)  # expect: device-init-at-import
""",
    "__str__, __repr__ and __format__": """
import torch

class Told:
    def __str__(self):
        torch.cuda.get_device_capability()
        return ""

told = Told()
A = str(told)  # expect: device-init-at-import
B = f"{told}"  # expect: device-init-at-import
""",
    "__hash__ of a key": """
import torch

class Key:
    def __hash__(self):
        torch.cuda.get_device_capability()
        return 1

KEY = Key()
NUMBER = hash(KEY)  # expect: device-init-at-import
""",
    "__setitem__, __delitem__ and __setattr__": """
import torch

class Table:
    def __setitem__(self, key, value):
        torch.cuda.get_device_capability()

    def __delitem__(self, key):
        torch.cuda.get_device_capability()

class Strict:
    def __setattr__(self, name, value):
        torch.cuda.get_device_capability()

TABLE = Table()
TABLE["a"] = 1  # expect: device-init-at-import
del TABLE["a"]  # expect: device-init-at-import
STRICT = Strict()
STRICT.a = 1  # expect: device-init-at-import
""",
    "__iter__ and __next__": """
import torch

class Levels:
    def __iter__(self):
        torch.cuda.get_device_capability()
        return iter((1, 2))

class Counter:
    def __iter__(self):
        return self

    def __next__(self):
        torch.cuda.get_device_capability()
        raise StopIteration

for level in Levels():  # expect: device-init-at-import
    pass
FIRST, SECOND = Levels()  # expect: device-init-at-import
ALL = list(Levels())  # expect: device-init-at-import
STAR = [*Levels()]  # expect: device-init-at-import
for level in Counter():  # expect: device-init-at-import
    pass
""",
    "a generator as __iter__": """
import torch

class Levels:
    def __iter__(self):
        yield torch.cuda.get_device_capability()

SEEN = [level for level in Levels()]  # expect: device-init-at-import
""",
    "a context manager class": """
import torch

class Awake:
    def __enter__(self):
        torch.cuda.get_device_capability()
        return self

    def __exit__(self, *problem):
        pass

class Leaving:
    def __enter__(self):
        return self

    def __exit__(self, *problem):
        torch.cuda.get_device_capability()

with Awake() as awake:  # expect: device-init-at-import
    pass
with Leaving():  # expect: device-init-at-import
    pass
""",
    "a context manager of contextlib": """
import contextlib
from contextlib import contextmanager
import torch

@contextmanager
def awake():
    torch.cuda.get_device_capability()
    yield

@contextlib.contextmanager
def leaving():
    yield 1
    torch.cuda.get_device_capability()

with awake():  # expect: device-init-at-import
    pass
with leaving() as one:  # expect: device-init-at-import
    pass
later = awake()
""",
    "a generator hands on with yield from": """
import torch

def inner():
    torch.cuda.get_device_capability()
    yield 1

def outer():
    yield from inner()

SEEN = list(outer())  # expect: device-init-at-import
for one in outer():  # expect: device-init-at-import
    pass
FIRST = next(outer())  # expect: device-init-at-import
""",
    "a generator that wakes after its first value": """
import torch

def numbers():
    yield 1
    torch.cuda.get_device_capability()
    yield 2

SEEN = list(numbers())  # expect: device-init-at-import
LATER = numbers()
""",
    "raise evaluates the cause": """
import torch

def cause():
    torch.cuda.get_device_capability()

try:
    raise ValueError(1) from cause()  # expect: device-init-at-import
except ValueError:
    pass
try:
    raise ValueError(1) from None
except ValueError:
    torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    "raise constructs the exception": """
import torch

class Problem(Exception):
    def __init__(self):
        super().__init__(torch.cuda.get_device_name())

try:
    raise Problem()  # expect: device-init-at-import
except Problem:
    pass
try:
    raise Problem  # expect: device-init-at-import
except Problem:
    pass
""",
    "a dataclass calls its default factory and __post_init__": """
import dataclasses
from dataclasses import dataclass, field
import torch

def level():
    return torch.cuda.get_device_capability()

@dataclass
class Settings:
    level: tuple = field(default_factory=level)

@dataclasses.dataclass(frozen=True)
class Checked:
    name: str

    def __post_init__(self):
        torch.cuda.get_device_capability()

@dataclass
class Eager:
    level: tuple = level()  # expect: device-init-at-import

A = Settings()  # expect: device-init-at-import
B = Checked("a")  # expect: device-init-at-import
C = Settings(level=(9, 0))
D = Settings((9, 0))
""",
    "an enumeration's values and constructor": """
import enum
import torch

class Kind(enum.Enum):
    FAST = torch.cuda.get_device_capability()  # expect: device-init-at-import

    @property
    def level(self):
        return torch.cuda.get_device_name()

LEVEL = Kind.FAST.level  # expect: device-init-at-import
""",
    "a named tuple's method": """
import torch
from typing import NamedTuple

class Level(NamedTuple):
    major: int

    def ask(self):
        return torch.cuda.get_device_capability()

LEVEL = Level(1).ask()  # expect: device-init-at-import
""",
    "a method bound to a name": """
import torch

class Backend:
    def level(self):
        return torch.cuda.get_device_capability()

level = Backend().level
LEVEL = level()  # expect: device-init-at-import
""",
    "a method through the class": """
import torch

class Backend:
    def level(self):
        return torch.cuda.get_device_capability()

LEVEL = Backend.level(Backend())  # expect: device-init-at-import
""",
    "abstract methods are dispatched by the object's class": """
import abc
import torch

class Base(abc.ABC):
    @abc.abstractmethod
    def level(self): ...

    def ask(self):
        return self.level()

class Warm(Base):
    def level(self):
        return torch.cuda.get_device_capability()

class Cold(Base):
    def level(self):
        return 1

A = Warm().ask()  # expect: device-init-at-import
B = Cold().ask()
""",
    "type() with three arguments": """
import torch

class Base:
    def __init_subclass__(cls):
        torch.cuda.get_device_capability()

Made = type("Made", (Base,), {})  # expect: device-init-at-import
""",
    "a base class that the class body around defines": """
import torch

class Outer:
    class Base:
        def __init_subclass__(cls):
            torch.cuda.get_device_name()

    class Leaf(Base):  # expect: device-init-at-import
        pass
""",
    "attributes set past __setattr__": """
import torch

class Asked:
    def __init__(self, function):
        self.__dict__["function"] = function

    def __getattr__(self, name):
        raise AttributeError(name)

    def __call__(self):
        return self.function()

class Frozen:
    def __init__(self, function):
        object.__setattr__(self, "function", function)

    def __setattr__(self, name, value):
        raise AttributeError(name)

Asked(torch.cuda.get_device_name)()  # expect: device-init-at-import
Frozen(torch.cuda.get_device_name).function()  # expect: device-init-at-import
""",
    "a class inherits from one in another module": """
### pkg/__init__.py
### pkg/base.py
import torch

class Base:
    def __init_subclass__(cls):
        torch.cuda.get_device_capability()

    def __init__(self):
        torch.cuda.is_available()
### pkg/leaf.py
from . import base

class Leaf(base.Base):  # expect: device-init-at-import
    pass

LEAF = Leaf()  # expect: driver-init-at-import
""",
}

SILENT = {
    "hooks that nothing triggers": """
import torch

class Base:
    def __init_subclass__(cls):
        torch.cuda.get_device_capability()

    def __init__(self):
        torch.cuda.get_device_capability()

    def __call__(self):
        torch.cuda.get_device_capability()

    def __getattr__(self, name):
        torch.cuda.get_device_capability()

    def __enter__(self):
        torch.cuda.get_device_capability()

    def __getitem__(self, key):
        torch.cuda.get_device_capability()

    def __class_getitem__(cls, key):
        torch.cuda.get_device_capability()

    def __del__(self):
        pass
""",
    "a metaclass nobody uses": """
import torch

class Meta(type):
    def __new__(mcs, *arguments):
        torch.cuda.get_device_capability()
        return super().__new__(mcs, *arguments)

    def __call__(cls):
        torch.cuda.get_device_capability()
""",
    "a metaclass whose __call__ nobody calls": """
import torch

class Meta(type):
    def __call__(cls):
        torch.cuda.get_device_capability()

class Backend(metaclass=Meta):
    pass
""",
    "a subclass that overrides what wakes": """
import torch

class Base:
    def __init__(self):
        torch.cuda.get_device_capability()

    def level(self):
        return torch.cuda.get_device_capability()

class Cold(Base):
    def __init__(self):
        pass

    def level(self):
        return 1

COLD = Cold()
LEVEL = COLD.level()
""",
    "properties that nobody reads": """
import functools
import torch

class Backend:
    @property
    def level(self):
        return torch.cuda.get_device_capability()

    @functools.cached_property
    def fast(self):
        return torch.cuda.is_available()

BACKEND = Backend()
RAW = Backend.level
""",
    "a default factory that nobody calls": """
import collections
import dataclasses
import torch

@dataclasses.dataclass
class Settings:
    level: tuple = dataclasses.field(default_factory=torch.cuda.get_device_capability)
    fast: bool = dataclasses.field(default_factory=lambda: torch.cuda.is_available())

TABLE = collections.defaultdict(lambda: torch.cuda.get_device_capability())
""",
    "a context manager that nobody enters": """
import contextlib
import torch

@contextlib.contextmanager
def awake():
    torch.cuda.get_device_capability()
    yield

class Awake:
    def __enter__(self):
        torch.cuda.get_device_capability()

    def __exit__(self, *problem):
        torch.cuda.get_device_capability()

A = awake()
B = Awake()
""",
    "a singleton with a lazy instance": """
import torch

class Backend:
    _instance = None

    @classmethod
    def instance(cls):
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def __init__(self):
        torch.cuda.get_device_capability()
""",
    "an attribute that the class has is not asked of __getattr__": """
import torch

class Lazy:
    present = 1

    def __init__(self):
        self.given = 2

    def __getattr__(self, name):
        return torch.cuda.get_device_capability()

LAZY = Lazy()
A = LAZY.present
B = LAZY.given
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(WAKES))
def test_what_classes_run_is_found(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)


@pytest.mark.parametrize(("text", "setting"), cases(SILENT))
def test_what_classes_keep_for_later_is_not(text: str, setting: Setting, tmp_path: Path) -> None:
    assert "expect" not in text
    assert_as_expected(text, tmp_path, setting)
