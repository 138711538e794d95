"""The known values while a module is imported: each question is put to CPython as well."""

from __future__ import annotations

import pytest

from tests.source.expectations import findings_of, lay_out

SETUP = """
import collections, contextlib, enum, functools, importlib, itertools, os, sys
from types import SimpleNamespace

TABLE = {"a": 1, "b": None}
KEYS = [key for key in TABLE]
GROWN = [1]
GROWN.append(2)
GROWN.extend((3, 4))
GROWN += [5]
SEEN = {1, 2}
SEEN.add(3)
UPDATED = dict(TABLE)
UPDATED.update({"c": 3}, d=4)
UPDATED["e"] = 5
UPDATED.setdefault("f", 6)
UPDATED.setdefault("a", 7)
COPY = UPDATED.copy()
SORTED = ["b", "a"]
SORTED.sort(key=len)

class Plain:
    kind = "plain"
    def __init__(self):
        self.given = 1
        self.__dict__.update(more=2)
        self.__dict__.setdefault("set", 3)
        self.__dict__["item"] = 4
    def __iter__(self):
        yield "a"
        yield "b"
    def __getitem__(self, key):
        return key
    def __contains__(self, key):
        return key == "in"
    def __len__(self):
        return 0
    def __call__(self, *rest):
        return rest
    @property
    def asked(self):
        return "asked"
    @staticmethod
    def static(value):
        return value
    @classmethod
    def of(cls, value=2):
        return cls.kind, value

class Derived(Plain):
    kind = "derived"

class Meta(type):
    def __iter__(cls):
        return iter(("x", "y"))
    def __getitem__(cls, key):
        return key * 2
    def __contains__(cls, key):
        return key == "meta"

class Listed(metaclass=Meta):
    pass

class Generic:
    def __class_getitem__(cls, key):
        return key

def numbers(stop):
    for number in range(stop):
        yield number

@contextlib.contextmanager
def opened(value):
    yield value

def pick(number, *rest, key="k", **more):
    return number, rest, key, more

def late(value=[]):
    value.append(1)
    return value

def some():
    return len(os.listdir("..")) > 100000

def unless_none():
    mode = "a" if some() else None
    if mode is None:
        return "a"
    return mode

def where_none():
    mode = "a" if some() else None
    if mode is None:
        return mode
    return None

def in_else():
    mode = "a" if some() else None
    if mode is not None:
        found = mode
    else:
        found = "a"
    return found

def by_truth():
    mode = "a" if some() else ""
    if not mode:
        return "a" + mode
    return mode

def by_both():
    mode = "a" if some() else None
    if mode is not None and some() is not None:
        return mode
    return "a"

def by_either():
    mode = "a" if some() else None
    if mode == "a" or some() is None:
        return "b"
    return mode if mode else "b"

def of_three():
    mode = "a" if some() else "b" if os.listdir("..") else None
    if mode == "a" or mode is None:
        return "b"
    return mode

def rest_of_three():
    mode = "a" if some() else "b" if os.listdir("..") else None
    if mode == "a":
        return False
    return mode == "a"

def of_numbers():
    count = 1 if some() else 3
    if count > 2:
        return count
    return count + 2

def broken():
    raise ValueError

def where_it_breaks():
    mode = "a" if some() else None
    try:
        if mode is None and (some() or broken()):
            return 1
    except ValueError:
        return 2
    return mode

def restored():
    mode = "a" if some() else None
    if mode is None:
        pass
    return mode

OUTER = "a" if some() else None

def of_a_parameter(mode):
    if mode is None:
        return "a"
    return mode

def told_by_a_chain():
    mode = 1 if some() else 5
    if 0 < mode < 3:
        return 5
    return mode

Plain.later = "later"
plain = Plain()
plain.own = "own"
setattr(plain, "by_name", 8)

class Own:
    def __new__(cls, *rest):
        return super().__new__(cls)
    def __init__(self, given=1):
        self.given = given

class OwnBase:
    def __setattr__(self, name, value):
        super().__setattr__(name, value)

class Calling(type):
    def __call__(cls, *rest):
        return super().__call__(*rest)

class Called(metaclass=Calling):
    def __init__(self, value=3):
        self.value = value

own_base = OwnBase()
own_base.name = "set"

LEFT, RIGHT = "left", "right"
ONE, *REST = 1, 2, 3
(DEEP, [DEEPER, *_]), LAST = (1, [2, 3]), 4
FIRST = SECOND = "both"
WHERE = [number for number in range(4) if number > 1]
PAIRS = {key: index for index, key in enumerate("ab")}
CELLS = [(a, b) for a in "ab" for b in (1, 2)]
SET = {letter for letter in "aa"}

class InClass:
    names = ["a", "b"]
    kept = [name for name in names]
    table = {name: 1 for name in names}

outside = "outside"
[outside for outside in (1, 2)]

def gives():
    yield from (1, 2)
    yield 3

def delegates():
    yield from gives()

def nested():
    for a in "ab":
        for b in "cd":
            yield a + b

def gone(value=None, *, flag=False):
    return value if flag else None


class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Level(enum.IntEnum):
    LOW = 1

class New:
    def __new__(cls, *rest):
        made = super().__new__(cls)
        made.new = 1
        return made

class Answering(type):
    def __getattr__(cls, name):
        return name

class Asked(metaclass=Answering):
    pass

def two(first, second="b", *, third="c"):
    if first == "a" and second == "b":
        return 1
    if first == "x" and second == "y":
        return 2
    return third

if os.environ.get("COLDFORK_NOWHERE"):
    one, pair = 1, ["a"]
else:
    one, pair = 2, ["b"]
if not os.environ.get("COLDFORK_NOWHERE"):
    other = 1
else:
    other = 2

def joined():
    if os.environ.get("COLDFORK_NOWHERE"):
        first = "a"
    else:
        first = "x"
    return first

def put_on():
    table = {"a": 1}
    if os.environ.get("COLDFORK_NOWHERE"):
        table["b"] = 2
        table["a"] = 3
    return table

def grown():
    names = ["a"]
    if os.environ.get("COLDFORK_NOWHERE"):
        names.append("b")
    return names

def in_a_loop():
    names = []
    for number in (1, 2):
        if number == 2:
            continue
        names += [number]
    return names

def nested_loops():
    for a in (1, 2):
        for b in (3, 4):
            if a + b == 5:
                return a, b

picked = "a" if os.environ.get("COLDFORK_NOWHERE") else "x"
filled = {"k": picked}
both = [number for number in (1, 2, 3) if number > 1 if number < 3]
mixed = [(a, b) for a in (1, 2) if a > 1 for b in (3, 4) if b > 3]
(left, right), *others = [(1, 2), 3]
[spread, *_] = "ab"
long = list(range(64))
longer = list(range(65))

class Sub(collections.OrderedDict):
    pass
"""

QUESTIONS = """
TABLE["a"] == 1
TABLE.get("a") == 1
TABLE.get("z") is None
TABLE.get("z", 3) == 3
TABLE.get("b", 3) is None
"a" in TABLE
"z" in TABLE
"z" not in TABLE
KEYS == ["a", "b"]
list(TABLE) == ["a", "b"]
list(TABLE.keys()) == ["a", "b"]
list(TABLE.values()) == [1, None]
[pair[0] for pair in TABLE.items()] == ["a", "b"]
[value for _, value in TABLE.items()] == [1, 2]
len(TABLE) == 2
GROWN == [1, 2, 3, 4, 5]
GROWN[0] == 1
GROWN[-1] == 5
GROWN[1] == 1
6 in GROWN
len(GROWN) == 5
SEEN == {1, 2, 3}
4 in SEEN
UPDATED["c"] == 3
UPDATED["d"] == 4
UPDATED["e"] == 5
UPDATED["f"] == 6
UPDATED["a"] == 1
COPY["e"] == 5
"g" in COPY
plain.given == 1
plain.more == 2
plain.set == 3
plain.item == 4
plain.own == "own"
plain.by_name == 8
plain.later == "later"
plain.kind == "plain"
Derived.kind == "derived"
Derived().kind == "derived"
plain.asked == "asked"
plain.static(5) == 5
Plain.of() == ("plain", 2)
Derived.of(3) == ("derived", 3)
Derived.of() == ("plain", 2)
[one for one in plain] == ["a", "b"]
plain["key"] == "key"
plain["key"] == "other"
"in" in plain
"out" in plain
bool(plain)
not plain
plain(1, 2) == (1, 2)
isinstance(Derived(), Plain)
isinstance(plain, Derived)
issubclass(Derived, Plain)
hasattr(plain, "asked")
hasattr(plain, "missing")
getattr(plain, "own") == "own"
[one for one in Listed] == ["x", "y"]
Listed["ab"] == "abab"
Generic["ab"] == "ab"
list(numbers(3)) == [0, 1, 2]
tuple(numbers(2)) == (0, 1)
[number for number in numbers(3) if number] == [1, 2]
next(iter(numbers(3))) == 0
pick(1) == (1, (), "k", {})
pick(1, 2, 3)[1] == (2, 3)
pick(1, key="x")[2] == "x"
pick(1, other=2)[3] == {"other": 2}
pick(*[1, 2], **{"key": "y"})[2] == "y"
pick(number=4)[0] == 4
functools.partial(pick, 1, key="p")()[2] == "p"
functools.partial(pick, 1)(2)[1] == (2,)
"Ab".lower() == "ab"
"Ab".upper() == "ab"
"a,b".split(",") == ["a", "b"]
",".join(["a", "b"]) == "a,b"
"abc".startswith(("x", "a"))
"abc".startswith("b")
"abc".endswith("c")
"abc".replace("b", "x") == "axc"
" a ".strip() == "a"
"a.b".partition(".")[0] == "a"
"a.b".rpartition(".")[2] == "b"
"abc"[1] == "b"
"abc".removeprefix("a") == "bc"
f"{1}-{'a'}" == "1-a"
"%s" % 1 == "1"
"{}".format(1) == "1"
1 + 2 == 3
7 // 2 == 3
2 * 3 > 5
-1 < 0
not 0
0 or 2
1 and 0
(1 if TABLE else 2) == 1
(lambda number: number + 1)(1) == 2
any([0, 1])
all([0, 1])
sorted([2, 1]) == [1, 2]
list(reversed([1, 2])) == [2, 1]
[pair for pair in zip("ab", (1, 2))] == [("a", 1), ("b", 2)]
[index for index, _ in enumerate("ab")] == [0, 1]
list(range(2)) == [0, 1]
list(map(str, [1])) == ["1"]
str(1) == "1"
int("2") == 2
type(plain) is Plain
callable(pick)
callable(1)
sys.version_info >= (3, 8)
sys.version_info < (3, 8)
sys.platform == "nowhere"
(first := 3) == 3
[1, *[2, 3]] == [1, 2, 3]
{**{"a": 1}, "b": 2}["a"] == 1
[1, 2] < [1, 3]
(1, 2) + (3,) == (1, 2, 3)
{1, 2} | {3} == {1, 2, 3}
{1, 2} & {2} == {2}
{1, 2} - {2} == {1}
{"a": 1} | {"b": 2} == {"a": 1, "b": 2}
itertools.chain is itertools.chain
late() == [1]
list({"a", "b"} & {"a"})[0] == "a"
list(set(["a", "b"]) & set(TABLE.keys()) - {"b"})[0] == "a"
sorted({"a"}, key=len)[0] == "a"
unless_none() == "a"
unless_none() is None
where_none() is None
where_none() == "a"
in_else() == "a"
in_else() is None
by_truth() == "a"
by_truth() == ""
by_both() == "a"
by_either() == "b"
of_three() == "b"
of_three() == "a"
rest_of_three()
of_numbers() == 3
of_numbers() == 1
of_a_parameter(OUTER) == "a"
told_by_a_chain() == 5
where_it_breaks() == 3
restored() == "b"
[index for index, _ in enumerate("ab", 1)] == [1, 2]
[index for index, _ in enumerate("ab", start=2)] == [2, 3]
[letter for _, letter in enumerate("ab")] == ["a", "b"]
list(enumerate("a"))[0][0] == 0
list(enumerate("a"))[0][0] == -1
Own().given == 1
Own(2).given == 2
own_base.name == "set"
Called().value == 3
Called(4).value == 4
LEFT == "left"
RIGHT == "right"
ONE == 1
REST == [2, 3]
DEEP == 1
DEEPER == 2
LAST == 4
FIRST == "both"
SECOND == "both"
WHERE == [2, 3]
PAIRS == {"a": 0, "b": 1}
PAIRS["b"] == 1
CELLS == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
len(CELLS) == 4
SET == {"a"}
InClass.kept == ["a", "b"]
InClass.table["b"] == 1
outside == "outside"
list(gives()) == [1, 2, 3]
list(delegates()) == [1, 2, 3]
list(nested()) == ["ac", "ad", "bc", "bd"]
gone() is None
gone(1, flag=True) == 1
Color.RED is Color.RED
Color.RED is Color.BLUE
Color.RED == Color.BLUE
Color.RED != Color.BLUE
Color.RED.value == 1
Color.RED.name == "RED"
Color.RED == 1
Level.LOW == 1
Level.LOW == 2
Color.RED in (Color.RED, Color.BLUE)
plain is plain
plain is not None
plain is None
plain == plain
Plain is Plain
Plain is Derived
Plain is None
pick is pick
pick is numbers
os is os
os is None
[] is None
{} is None
() == ()
[] == []
[] == ()
{} == {}
{"a": 1} == {"a": 1}
{"a": 1} == {"a": 2}
{"a": 1} != {"a": 2}
[1] != [1]
1 == True
1 == 1.0
"a" == b"a"
None is None
None == None
None == 0
Plain.__name__ == "Plain"
Derived.__name__ == "Derived"
Derived.__name__ == "Plain"
Plain.__name__ == "missing"
"abc".capitalize() == "Abc"
"ABC".casefold() == "abc"
"abab".count("a") == 2
"abc".find("c") == 2
"abc".index("b") == 1
"abc".isalpha()
"12".isdigit()
"a1".isidentifier()
"ab".islower()
"1".isnumeric()
"AB".isupper()
"  a".lstrip() == "a"
"a  ".rstrip() == "a"
"abc".removesuffix("c") == "ab"
"abca".rfind("a") == 3
"a,b,c".rsplit(",", 1) == ["a,b", "c"]
"a b".title() == "A B"
"1".zfill(3) == "001"
"a b".split() == ["a", "b"]
"  x ".strip() == "x"
"xax".strip("x") == "a"
"abc".isalpha() and "a1".isalpha()
"a.b.c".split(".")[-1] == "c"
"a.b.c".rsplit(".", 1)[0] == "a.b"
-1 == -1
+1 == 1
~1 == -2
not [] and not {} and not ()
7 % 3 == 1
7 / 2 == 3.5
5 & 4 == 4
5 | 2 == 7
5 ^ 1 == 4
"a" * 3 == "aaa"
"a" in "cab"
"d" in "cab"
1 in (1, 2)
3 in [1, 2]
3 not in [1, 2]
1 < 2 < 3
1 < 2 > 3
"a" < "b"
1 <= 1 >= 1
any(x > 1 for x in (1, 2))
all(x > 1 for x in (1, 2))
any([])
all([])
any(x for x in ())
dict([("a", 1)]) == {"a": 1}
dict(a=1) == {"a": 1}
dict({"a": 1}, b=2) == {"a": 1, "b": 2}
dict(zip("ab", (1, 2)))["b"] == 2
dict() == {}
list() == []
tuple() == ()
set() == set()
list("ab") == ["a", "b"]
tuple([1, 2]) == (1, 2)
set([1, 1]) == {1}
frozenset((1,)) == {1}
list(range(1, 4)) == [1, 2, 3]
list(range(0, 6, 2)) == [0, 2, 4]
list(range(3, 0, -1)) == [3, 2, 1]
len(range(5)) == 5
len("abc") == 3
len(()) == 0
[*reversed("ab")] == ["b", "a"]
[a for a, b in zip("ab", "cd") if b == "d"] == ["b"]
list(map(lambda x: x + 1, (1, 2))) == [2, 3]
next(iter(["a"]), "none") == "a"
next(number for number in (1, 2)) == 1
sum([1, 2]) == 3
isinstance(1, int)
isinstance("a", (int, str))
isinstance(True, int)
isinstance([], list)
isinstance({}, (list, dict))
isinstance(pick, type)
isinstance(Plain, type)
issubclass(Plain, Derived)
callable(Plain)
callable(None)
bool([])
bool("a")
bool()
int() == 0
int(2.5) == 2
str() == ""
str("a") == "a"
str(None) == "None"
float("1") == 1.0
New().new == 1
New().new == 2
Asked.anything == "anything"
Asked.__name__ == "Asked"
Sub.__name__ == "Sub"
one == 2
other == 1
pair == ["b"]
two("a" if some() else "x", "b" if some() else "y") == 3
two("a" if some() else "a") == 1
two("x", second="b" if some() else "b") == "c"
joined() == "x"
two(picked, "b") == "c"
two(picked, "y") == 2
two(picked, third="d") == "d"
filled["k"] == "x"
put_on()["a"] == 1
len(put_on()) == 1
grown() == ["a"]
"a" in grown()
in_a_loop() == [1]
nested_loops() == (1, 4)
both == [2]
mixed == [(2, 4)]
(left, right) == (1, 2)
others == [3]
spread == "a"
len(long) == 64
long[63] == 63
Level.LOW is Level.LOW
Color.RED in (Color.BLUE,)
Color.RED not in (Color.BLUE,)
{Color.RED: 1}[Color.RED] == 1
sum([1, 2], 3) == 6
sum((), start=4) == 4
sum([[1], [2]], []) == [1, 2]
dict(enumerate("ab", 5)) == {5: "a", 6: "b"}
(picked if some() else picked) == "x"
(1 if picked == "x" else 2) == 1
(picked == "x" and 5) == 5
(picked == "a" or 6) == 6
"{a}".format(a=1) == "1"
picked + "y" == "xy"
f"{picked}" == "x"
not picked == "a"
all([True, picked == "x"])
any([False, picked == "x"])
[picked][0] == "x"
str(picked) == "x"
picked.upper() == "X"
picked in ("x", "y")
picked is None
put_on()["a"] == 3
len(put_on()) == 2
grown() == ["a", "b"]
len(grown()) == 2
"b" in grown()
two(picked, picked) == "b"
"""

#: Of these the analyser may say that it does not know.
HARD = """
getattr(plain, "missing", 9) == 9
"abc"[1:] == "bc"
max(1, 2) == 2
min([3, 2]) == 2
[one for one in filter(None, [0, 1])] == [1]
type(1) is int
[0] * 2 == [0, 0]
collections.OrderedDict is None
SimpleNamespace(a=1).a == 1
sorted(["b", "a"], key=len)[0] == "b"
list({"a", "b"})[0] == "a"
list({"a", "b"}) == ["a", "b"]
{1: 2}.popitem() == (1, 2)
[3, 1].pop() == 1
restored() is None
restored() == "a"
where_it_breaks() == 1
where_it_breaks() == 2
where_it_breaks() == "a"
[member.name for member in Color] == ["RED", "BLUE"]
os is sys
os.path is None
2 ** 3 == 8
1 << 2 == 4
8 >> 1 == 4
list(map(lambda x, y: x + y, (1, 2), (3, 4))) == [4, 6]
list(filter(lambda x: x > 1, [1, 2])) == [2]
next(iter([]), "none") == "none"
isinstance(None, type(None))
issubclass(Plain, (int, Plain))
issubclass(bool, int)
callable(plain)
int("12", 16) == 18
hash(1) == hash(1)
abs(-1) == 1
round(1.5) == 2
chr(97) == "a"
ord("a") == 97
getattr(Plain, "missing", 9) == "Plain"
len(longer) == 65
longer[0] == 0
Plain() is Plain()
plain == 1
1 == Level.LOW
"RED" in Color.__members__
[item for item in (picked,)] == ["x"]
picked in ("a", "b")
picked == "a"
one == 1
other == 2
pair == ["a"]
joined() == "a"
two(picked, "b") == 1
two(picked, "y") == "c"
"""


def questions(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the analyser's answer to each question: `certain` for yes, nothing for no."""
    lines = [*SETUP.strip().splitlines(), "import torch", ""]
    start = len(lines) + 1
    asked = questions(QUESTIONS) + questions(HARD)
    lines += [f"if {question}: torch.cuda.get_device_name()" for question in asked]
    folder = tmp_path_factory.mktemp("known")
    lay_out("\n".join(lines), folder)
    found = {finding.line: finding.verdict.value for finding in findings_of(folder)}
    return {question: found.get(start + index, "") for index, question in enumerate(asked)}


@pytest.mark.parametrize("question", questions(QUESTIONS))
def test_what_is_known_is_what_cpython_says(question: str, answers: dict[str, str]) -> None:
    space: dict[str, object] = {}
    exec(SETUP, space)
    assert answers[question] == ("certain" if eval(question, space) else "")


@pytest.mark.parametrize("question", questions(HARD))
def test_what_is_not_known_is_not_made_up(question: str, answers: dict[str, str]) -> None:
    assert answers[question] == "conditional"
