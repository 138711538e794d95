"""Expressions of which the value is known: true for sure, false for sure, or nobody can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import assert_as_expected

PRELUDE = """
import collections
import copy
import enum
import functools
import importlib.util
import itertools
import os
import sys
import types
import torch

ask = torch.cuda.get_device_name

class Kind(enum.Enum):
    HOST = 1
    DEVICE = 2

class Base:
    field = 1
    def method(self):
        return 1

class Child(Base):
    __slots__ = ("kept",)

class Other:
    def __len__(self):
        return 3
    def __contains__(self, item):
        return item == "x"
    def __getitem__(self, key):
        return key + 1
    def __lt__(self, other):
        return True
    def __neg__(self):
        return 7
    def __add__(self, other):
        return "added"
    def __radd__(self, other):
        return "turned"
    def __int__(self):
        return 5

def function():
    return 1

TABLE = {"a": 1, "b": 2}
ROWS = [1, 2, 3]
child = Child()
other = Other()
some = len(os.listdir("."))
"""

TRUE = {
    "operators": """
1 + 2 == 3
5 - 2 == 3
5 * 2 == 10
7 / 2 == 3.5
7 // 2 == 3
7 % 4 == 3
6 | 1 == 7
6 & 3 == 2
6 ^ 3 == 5
"a" + "b" == "ab"
-3 == 0 - 3
+3 == 3
~3 == -4
1 < 2
1 <= 1
2 > 1
1 < 2 < 3
"a" in "abc"
"d" not in "abc"
"a" in TABLE
"c" not in TABLE
2 in ROWS
4 not in ROWS
2 in (1, 2)
function in [function]
Base in (Base, Child)
child in [child]
"x" in other
"y" not in other
""",
    "identity": """
function is not None
child is not None
ROWS is not None
TABLE is not None
sys is not None
child.method is not None
function is function
function is not Base
Base is not Child
child is child
Kind.HOST is Kind.HOST
Kind.HOST is not Kind.DEVICE
Kind.HOST == Kind.HOST
Kind.HOST != Kind.DEVICE
Kind.HOST.value == 1
Kind.DEVICE.name == "DEVICE"
Kind.DEVICE not in (Kind.HOST,)
Kind.DEVICE in (Kind.HOST, Kind.DEVICE)
""",
    "operators of classes": """
other < 1
-other == 7
other + 1 == "added"
1 + other == "turned"
other[1] == 2
""",
    "items": """
len(other) == 3
len(ROWS) == 3
len(TABLE) == 2
len("abc") == 3
len((1, 2)) == 2
len([]) == 0
ROWS[0] == 1
ROWS[-1] == 3
(4, 5)[1] == 5
"abc"[1] == "b"
TABLE["a"] == 1
""",
    "methods of containers": """
TABLE.get("a") == 1
TABLE.get("c") is None
TABLE.get("c", 5) == 5
{"a": 1}.setdefault("a", 2) == 1
{}.setdefault("a", 2) == 2
{"a": 1}.pop("a") == 1
{"a": 1}.pop("b", 4) == 4
list(TABLE.keys()) [1] == "b"
list(TABLE.values())[1] == 2
list(TABLE.items())[0][1] == 1
TABLE.copy()["b"] == 2
ROWS.copy()[1] == 2
[4].pop() == 4
""",
    "containers put together": """
{**TABLE, "c": 3}["b"] == 2
{**TABLE, "a": 3}["a"] == 3
(TABLE | {"a": 7})["a"] == 7
len(TABLE | {"c": 7}) == 3
[0, *ROWS][1] == 1
len([*ROWS, *ROWS]) == 6
len({1, 2} | {2, 3}) == 3
len({1, 2} & {2, 3}) == 1
len({1, 2} - {2, 3}) == 1
(ROWS + [4])[3] == 4
""",
    "text": """
"x".upper() == "X"
"a,b".split(",")[1] == "b"
",".join(["a", "b"]) == "a,b"
"abc".startswith("ab")
"abc".replace("a", "x") == "xbc"
"abc".partition("b")[2] == "c"
"{}-{}".format(1, 2) == "1-2"
""",
    "conversions": """
str(1) == "1"
int("7") == 7
bool(1)
bool(ROWS)
str() == ""
int() == 0
repr(1) == "1"
bool(child)
""",
    "questions about objects": """
isinstance(child, Base)
isinstance(child, (int, Base))
not isinstance(child, Other)
not isinstance(child, (int, Other))
isinstance(1, int)
isinstance(True, int)
isinstance("a", (int, str))
not isinstance("a", int)
not isinstance(1, Base)
isinstance(function, types.FunctionType)
isinstance(Base, type)
not isinstance(function, (str, int))
issubclass(Child, Base)
not issubclass(Base, Child)
issubclass(Base, object)
not issubclass(Base, int)
callable(function)
callable(Base)
callable(child.method)
callable(functools.partial(function))
not callable(1)
hasattr(child, "field")
hasattr(child, "method")
hasattr(Base, "field")
not hasattr(child, "absent")
not hasattr(Base, "absent")
getattr(child, "field") == 1
type(child) is Child
""",
    "functions over items": """
all([1, True])
any([0, 1])
not all([1, 0])
any([])  is False
all([])
max([1]) == 1
list(range(2)) [1] == 1
len(range(3)) == 3
len(range(1, 3)) == 2
list(range(0, 6, 2))[2] == 4
len(list(zip(ROWS, ROWS))) == 3
list(zip(ROWS, "abc"))[1][1] == "b"
list(enumerate("ab"))[1][0] == 1
list(enumerate("ab"))[1][1] == "b"
dict(a=1)["a"] == 1
dict([("a", 1)])["a"] == 1
dict(TABLE)["b"] == 2
dict(TABLE, b=3)["b"] == 3
len(dict(TABLE, c=3)) == 3
collections.OrderedDict(TABLE)["a"] == 1
types.MappingProxyType(TABLE)["a"] == 1
list(itertools.chain(ROWS, [4]))[3] == 4
len(set(ROWS)) == 3
len(collections.deque(ROWS)) == 3
next(iter([5, 6])) == 5
list(map(lambda n: n + 1, ROWS))[0] == 2
functools.reduce(lambda a, b: a + b, [1, 2]) == 3
functools.partial(lambda a, b: a - b, 5)(3) == 2
functools.partial(lambda a, b: a - b, b=1)(3) == 2
copy.copy(ROWS)[0] == 1
""",
    "comprehensions": """
[n + 1 for n in ROWS][2] == 4
[n for n in ROWS if n > 1][0] == 2
len([n for n in ROWS if n > 1]) == 2
len([m + n for m in (1, 2) for n in ROWS]) == 6
[m + n for m in (1, 2) for n in ROWS if m > 1][0] == 3
{n: n + 1 for n in ROWS}[2] == 3
len({n: 1 for n in ROWS if n < 3}) == 2
len({n for n in ROWS}) == 3
[a + b for a, b in [(1, 2), (3, 4)]][1] == 7
""",
    "choices": """
(1 if ROWS else 2) == 1
(1 if not ROWS else 2) == 2
(ROWS and 4) == 4
([] or 4) == 4
(0 and 4) == 0
(5 or 4) == 5
not 0
not []
not (1 and 0)
(name := 4) == 4
f"{1}-{2}" == "1-2"
""",
    "arguments": """
(lambda *b: len(b))(1, 2) == 2
(lambda **d: d["e"])(e=4) == 4
(lambda a, b=2: b)(1) == 2
(lambda a, /, *, b: a - b)(3, b=1) == 2
(lambda a, b: b)(*[1, 2]) == 2
(lambda a, b: b)(**{"a": 1, "b": 2}) == 2
""",
    "modules": """
importlib.import_module("sys") is not None
importlib.util.find_spec("json")
__name__ != "__main__"
__file__
""",
}
FALSE = """
1 == 2
1 is None
"c" in TABLE
TABLE.get("c")
TABLE.get("c", 0)
ROWS is None
not ROWS
ROWS[0] == 2
Kind.HOST is Kind.DEVICE
Kind.HOST == Kind.DEVICE
3 < 2 < some
isinstance(child, Other)
isinstance(child, str)
issubclass(Base, Child)
hasattr(child, "absent")
callable(1)
bool([])
bool("")
len(ROWS) == 2
any([])
all([0])
[n for n in ROWS if n > 5]
{}
()
f""
[] and some
"""
UNKNOWN = """
some > 5000
some == 5000 or some == 5001
some < 0
some in ROWS
not some
bool(some)
ROWS if some else []
some or 0
0 or some
1 < some < 3
len([n for n in ROWS if n > some]) == 0
any([some])
all([some])
isinstance(some, int)
str(some) == "1"
{1: 2, some: 3}.get(7)
"a" in [some]
"""


def program(expressions: str, expectation: str) -> str:
    """A module that asks the device where an expression is true."""
    lines = [f"({line}) and ask(){expectation}" for line in expressions.strip().splitlines()]
    return "\n".join([PRELUDE, *lines, ""])


@pytest.mark.parametrize("expressions", TRUE.values(), ids=[name.replace(" ", "-") for name in TRUE])
def test_what_is_true_is_known(expressions: str, tmp_path: Path) -> None:
    assert_as_expected(program(expressions, "  # expect: device-init-at-import"), tmp_path)


def test_what_is_false_is_known(tmp_path: Path) -> None:
    assert_as_expected(program(FALSE, ""), tmp_path)


def test_what_depends_on_the_machine_is_not_known(tmp_path: Path) -> None:
    assert_as_expected(program(UNKNOWN, "  # expect: device-init-at-import conditional"), tmp_path)
