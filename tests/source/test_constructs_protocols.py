"""The protocols behind a call, a `del` or a test: partial methods, deleters, metaclasses, containers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import RUNNING, Setting, assert_as_expected, cases

PROGRAMS = {
    "a partial method": """
import functools
import torch

class Asked:
    level = 0

    def __init__(self, ask):
        self.ask = ask

    def run(self, which, *, ask=int):
        if which == 1:
            return self.ask()
        return ask()

    first = functools.partialmethod(run, 1)
    second = functools.partialmethod(run, 2)
    third = functools.partialmethod(run, 2, ask=torch.cuda.get_device_name)

class Other(Asked):
    pass

asked = Asked(torch.cuda.get_device_name)
asked.first()  # expect: device-init-at-import
asked.second()
asked.second(ask=torch.cuda.get_device_name)  # expect: device-init-at-import
asked.third()  # expect: device-init-at-import
Other(int).first()
Other(torch.cuda.get_device_name).first()  # expect: device-init-at-import
""",
    "partial is no method up to 3.13": """
import functools
import torch

def run(which, ask):
    return ask()

class Asked:
    first = functools.partial(run, 1)

Asked().first(torch.cuda.get_device_name)  # expect: device-init-at-import
Asked.first(torch.cuda.get_device_name)  # expect: device-init-at-import
""",
    "partial is a method from 3.14 on": """
import functools
import torch

def run(which, owner, ask):
    return ask()

def without(which, ask):
    return ask()

class Asked:
    first = functools.partial(run, 1)
    kept = staticmethod(functools.partial(without, 1))

Asked().first(torch.cuda.get_device_name)  # expect: device-init-at-import
Asked.kept(torch.cuda.get_device_name)  # expect: device-init-at-import
Asked().kept(torch.cuda.get_device_name)  # expect: device-init-at-import
""",
    "what deleting an attribute runs": """""
import torch

class Asked:
    @property
    def field(self):
        return None

    @field.setter
    def field(self, value):
        return None

    @field.deleter
    def field(self):
        torch.cuda.get_device_name()

class Kept:
    def get(self):
        return None

    def put(self, value):
        torch.cuda.get_device_name()

    def drop(self):
        torch.cuda.get_device_properties()

    field = property(get, put, drop)

class Own:
    def __delattr__(self, name):
        torch.cuda.get_device_name()

class Given:
    def __delete__(self, instance):
        torch.cuda.get_device_name()

class Holder:
    given = Given()

    @property
    def field(self):
        return torch.cuda.get_device_name()

asked = Asked()
asked.field
asked.field = 1
del asked.field  # expect: device-init-at-import
kept = Kept()
kept.field
kept.field = 1  # expect: device-init-at-import
del kept.field  # expect: device-init-at-import
own = Own()
del own.field  # expect: device-init-at-import
holder = Holder()
del holder.given  # expect: device-init-at-import
holder.other = 1
del holder.other
""",
    "defaults that a star may fill": """
import os
import torch

def run(first=int, ask=torch.cuda.get_device_name, *more, last=int):
    ask()
    last()
    return more

def words(*rest):
    if rest:
        torch.cuda.get_device_name()

nothing = os.listdir(os.devnull) if os.path.isdir(os.devnull) else [][:0]
several = [int for _ in os.listdir("/")]

run(*several)  # expect: device-init-at-import conditional
run(*several, last=torch.cuda.get_device_name)  # expect: device-init-at-import
run(*(int,))  # expect: device-init-at-import
run(*(int, int))
words(*several)  # expect: device-init-at-import conditional
words(*())
words(*(1,))  # expect: device-init-at-import
""",
    "containers that may be empty": """
import os
import torch

def ask():
    return torch.cuda.get_device_name()

found = os.listdir("/")
rows = [row for row in found if row == "nowhere"]
if [row for row in found]:
    ask()  # expect: device-init-at-import conditional
if rows:
    ask()  # expect: device-init-at-import conditional
if [row for row in (1, 2) if row in found]:
    ask()  # expect: device-init-at-import conditional
if {row: 1 for row in (1, 2) if row in found}:
    ask()  # expect: device-init-at-import conditional
if {row for row in (1, 2) if row in found}:
    ask()  # expect: device-init-at-import conditional
if list(found):
    ask()  # expect: device-init-at-import conditional
if list(rows):
    ask()  # expect: device-init-at-import conditional
if tuple(rows):
    ask()  # expect: device-init-at-import conditional
if [*found]:
    ask()  # expect: device-init-at-import conditional
if [*rows, *rows]:
    ask()  # expect: device-init-at-import conditional
if {**{row: 1 for row in found if row == "nowhere"}}:
    ask()  # expect: device-init-at-import conditional
if [*found, 1]:
    ask()  # expect: device-init-at-import
if [*found, *(1, 2)]:
    ask()  # expect: device-init-at-import
if [row for row in (1, 2)]:
    ask()  # expect: device-init-at-import
if [row for row in (1, 2) if row > 1]:
    ask()  # expect: device-init-at-import
if [row for row in (1, 2) if row > 2]:
    ask()
if list((1, 2)):
    ask()  # expect: device-init-at-import
if {**{row: 1 for row in found}, "a": 1}:
    ask()  # expect: device-init-at-import
if not rows:
    ask()  # expect: device-init-at-import conditional
""",
    "containers made of others that may be empty": """
import os
import torch

def ask():
    return torch.cuda.get_device_name()

found = os.listdir("/")
table = {row: 1 for row in found if row == "nowhere"}
rows = [row for row in found if row == "nowhere"]
kept = [row for row in found]
kept.append(1)
more = {row: 1 for row in found}
more["a"] = 1
grown = []
grown += (row for row in (1, 2))

if table.keys():
    ask()  # expect: device-init-at-import conditional
if table.values():
    ask()  # expect: device-init-at-import conditional
if table.items():
    ask()  # expect: device-init-at-import conditional
if table.copy():
    ask()  # expect: device-init-at-import conditional
if rows.copy():
    ask()  # expect: device-init-at-import conditional
if dict(table):
    ask()  # expect: device-init-at-import conditional
if dict(**table):
    ask()  # expect: device-init-at-import conditional
if dict([(row, 1) for row in rows]):
    ask()  # expect: device-init-at-import conditional
if rows + rows:
    ask()  # expect: device-init-at-import conditional
if table | table:
    ask()  # expect: device-init-at-import conditional
if set(rows) | set(rows):
    ask()  # expect: device-init-at-import conditional
if [row for row in kept if row in rows]:
    ask()  # expect: device-init-at-import conditional
if [row for row in kept for other in rows]:
    ask()  # expect: device-init-at-import conditional
if {**table}:
    ask()  # expect: device-init-at-import conditional
if sorted(rows):
    ask()  # expect: device-init-at-import conditional
if {**{"a": 1}, **table}:
    ask()  # expect: device-init-at-import
if grown:
    ask()  # expect: device-init-at-import
if dict((row, 1) for row in (1, 2)):
    ask()  # expect: device-init-at-import
if dict(more):
    ask()  # expect: device-init-at-import
if more.keys():
    ask()  # expect: device-init-at-import
if more.values():
    ask()  # expect: device-init-at-import
if more.items():
    ask()  # expect: device-init-at-import
if more.copy():
    ask()  # expect: device-init-at-import
if {**more}:
    ask()  # expect: device-init-at-import
if dict(table, a=1):
    ask()  # expect: device-init-at-import
if dict(a=1):
    ask()  # expect: device-init-at-import
if rows + [1]:
    ask()  # expect: device-init-at-import
if [1] + rows:
    ask()  # expect: device-init-at-import
if [1] + [2]:
    ask()  # expect: device-init-at-import
if table | {"a": 1}:
    ask()  # expect: device-init-at-import
if set(rows) | {1}:
    ask()  # expect: device-init-at-import
if kept:
    ask()  # expect: device-init-at-import
if kept.copy():
    ask()  # expect: device-init-at-import
if list(kept):
    ask()  # expect: device-init-at-import
if [*kept]:
    ask()  # expect: device-init-at-import
if [row for row in kept]:
    ask()  # expect: device-init-at-import
if range(100):
    ask()  # expect: device-init-at-import
if list(row for row in (1, 2)):
    ask()  # expect: device-init-at-import
if [*(row for row in (1, 2))]:
    ask()  # expect: device-init-at-import
for row in kept:
    ask()  # expect: device-init-at-import
for row in rows:
    ask()  # expect: device-init-at-import conditional
for row in range(100):
    ask()  # expect: device-init-at-import
[ask() for row in kept]  # expect: device-init-at-import
[ask() for row in rows]  # expect: device-init-at-import conditional
[ask() for row in range(100)]  # expect: device-init-at-import
""",
    "words that nobody knows": """
import os
import torch

def run(ask=int, **words):
    ask()
    if words:
        torch.cuda.get_device_name()

nothing = {row: 1 for row in os.listdir("/") if row == "nowhere"}
run(**nothing)  # expect: device-init-at-import conditional
run(other=1, **nothing)  # expect: device-init-at-import
run(**{})
""",
    "calling a class whose metaclass has a say": """
import torch

class Meta(type):
    def __call__(cls, *args, **words):
        if words.get("ask"):
            return torch.cuda.get_device_name()
        made = super().__call__(*args)
        made.start()
        return made

class Base(metaclass=Meta):
    def __init__(self, function=int):
        self.function = function

    def start(self):
        self.function()

class Sub(Base):
    pass

class Plain(type):
    def __call__(cls, *args):
        return type.__call__(cls, *args)

class Other(metaclass=Plain):
    def __init__(self, function):
        function()

class Static(type):
    @staticmethod
    def __call__(function):
        return function()

class Third(metaclass=Static):
    pass

class Never(type):
    def __call__(cls):
        return None

class Fourth(metaclass=Never):
    def __init__(self):
        torch.cuda.get_device_name()

Base(torch.cuda.get_device_name)  # expect: device-init-at-import
Base()
Sub(torch.cuda.get_device_name)  # expect: device-init-at-import
Sub(ask=1)  # expect: device-init-at-import
Other(torch.cuda.get_device_name)  # expect: device-init-at-import
Other(int)
Third(torch.cuda.get_device_name)  # expect: device-init-at-import
Fourth()
Base.__call__(torch.cuda.get_device_name)  # expect: device-init-at-import
""",
}


SETTINGS = {
    "partial is no method up to 3.13": Setting(target_version=(3, 13), runs=RUNNING < (3, 14)),
    "partial is a method from 3.14 on": Setting(target_version=(3, 14), runs=RUNNING >= (3, 14)),
}


@pytest.mark.parametrize(("text", "setting"), cases(PROGRAMS, SETTINGS))
def test_what_python_runs_is_followed(text: str, setting: Setting, tmp_path: Path) -> None:
    assert_as_expected(text, tmp_path, setting)
