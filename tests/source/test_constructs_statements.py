"""Statements at import: loops with all their ways out, `with`, `try`, and what a class statement calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected, cases

PROGRAMS = {
    "loops, how they end, and what they leave in their names": """
import os
import torch

ask = torch.cuda.get_device_name
some = os.listdir(".")

for name in some:
    ask()  # expect: device-init-at-import conditional
for name in ("a",):
    if name == "b":
        ask()
    if name == "a":
        ask()  # expect: device-init-at-import
for name in some:
    pass
else:
    ask()  # expect: device-init-at-import
while True:
    ask()  # expect: device-init-at-import
    break
while some and len(some) > 100000:
    ask()  # expect: device-init-at-import conditional
    break
while 0:
    ask()
else:
    ask()  # expect: device-init-at-import

def first(names):
    for name in names:
        if name == "b":
            return name
    return None

first(("a", "b")) == "b" and ask()  # expect: device-init-at-import
first(("a", "c")) is None and ask()  # expect: device-init-at-import
first(some) is None and ask()  # expect: device-init-at-import conditional

def counted(names):
    found = 0
    for name in names:
        if name == "skip":
            continue
        if name == "end":
            break
        found += 1
    else:
        found += 10
    return found

counted(("a", "skip", "b")) == 12 and ask()  # expect: device-init-at-import
counted(("a", "end", "b")) == 1 and ask()  # expect: device-init-at-import
for left, (right, *rest) in [(1, (2, 3, 4))]:
    pass
rest[1] == 4 and ask()  # expect: device-init-at-import
right == 2 and ask()  # expect: device-init-at-import
""",
    "context managers and dataclasses": """
import contextlib
import dataclasses
import torch

ask = torch.cuda.get_device_name

@contextlib.contextmanager
def opened(kind):
    yield kind
    if kind == "leaves":
        ask()

with opened("stays") as kind:
    kind == "stays" and ask()  # expect: device-init-at-import
with opened("leaves"):  # expect: device-init-at-import
    pass

class Managed:
    def __enter__(self):
        return 5

    def __exit__(self, *problem):
        return None

with Managed() as number, Managed() as other:
    number + other == 10 and ask()  # expect: device-init-at-import

@dataclasses.dataclass
class Settings:
    name: str
    level: int = 2
    rows: list = dataclasses.field(default_factory=lambda: [4])
    kind: str = dataclasses.field(default="gpu")

    def __post_init__(self):
        if self.name == "eager":
            ask()

settings = Settings("calm")
settings.name == "calm" and ask()  # expect: device-init-at-import
settings.level == 2 and ask()  # expect: device-init-at-import
settings.rows[0] == 4 and ask()  # expect: device-init-at-import
settings.kind == "gpu" and ask()  # expect: device-init-at-import
Settings("calm", level=9).level == 9 and ask()  # expect: device-init-at-import
Settings("calm", 9).level == 9 and ask()  # expect: device-init-at-import
Settings("eager")  # expect: device-init-at-import
""",
    "exceptions, and the handlers that are for them": """
import torch

ask = torch.cuda.get_device_name

def fails(kind):
    if kind == "key":
        raise KeyError("x")
    if kind == "value":
        raise ValueError
    if kind == "exit":
        raise SystemExit
    return kind

def told(kind):
    try:
        return fails(kind)
    except KeyError:
        return "handled key"
    except (ValueError, TypeError) as problem:
        return "handled value"

told("key") == "handled key" and ask()  # expect: device-init-at-import
told("value") == "handled value" and ask()  # expect: device-init-at-import
told("none") == "none" and ask()  # expect: device-init-at-import

def caught(kind, done):
    try:
        fails(kind)
    except LookupError:
        done.append("handler")
    except Exception:
        done.append("other")
    else:
        done.append("else")
    finally:
        done.append("finally")
    return done

caught("key", [])[0] == "handler" and ask()  # expect: device-init-at-import
caught("value", [])[0] == "other" and ask()  # expect: device-init-at-import
caught("key", [])[1] == "finally" and ask()  # expect: device-init-at-import
try:
    caught("exit", [])
except SystemExit:
    ask()  # expect: device-init-at-import
try:
    HELD = 1
except Exception:
    ask()
try:
    fails("key")
except ValueError:
    ask()
except KeyError:
    pass
try:
    assert HELD == 2
except AssertionError:
    ask()  # expect: device-init-at-import
""",
    "what defining a class calls, and with which arguments": """
import torch

ask = torch.cuda.get_device_name

class Meta(type):
    def __prepare__(name, bases, **words):
        return {}

    def __new__(mcs, name, bases, namespace, eager=False):
        if eager:
            ask()
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace, eager=False):
        super().__init__(name, bases, namespace)
        if name == "Loud":
            ask()

class Calm(metaclass=Meta):
    pass

class Eager(metaclass=Meta, eager=True):  # expect: device-init-at-import
    pass

class Loud(Calm):  # expect: device-init-at-import
    pass

class Field:
    def __set_name__(self, owner, name):
        if name == "wakes":
            ask()

class Quiet:
    sleeps = Field()

class Named(Quiet):  # expect: device-init-at-import
    wakes = Field()

class Base:
    def __init_subclass__(cls, kind="none", **words):
        super().__init_subclass__(**words)
        if kind == "gpu":
            ask()

class Plain(Base):
    pass

class Chosen(Base, kind="gpu"):  # expect: device-init-at-import
    pass

class Nested:
    field = 1
    other = field + 1
    if other == 2:
        ask()  # expect: device-init-at-import
    values = [number for number in (other,)]
    if values[0] != 2:
        ask()

if Nested.field == 1 and Nested.values == [2]:
    ask()  # expect: device-init-at-import
if Nested.field != 1:
    ask()
""",
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS))
def test_statements(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
