"""The syntax of newer Pythons is read alike by all: the same summary, and the same findings."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from coldfork.source.syntax.newer.parsing import parse_any
from coldfork.source.syntax.newer.restoring import parse_rewritten
from tests.source.expectations import RUNNING, Setting, assert_as_expected

FIRST = {
    "type parameters": (
        (3, 12),
        """
import torch

def ask(level=None):
    return torch.cuda.get_device_capability()

class Base:
    def __init_subclass__(cls, level=None):
        pass

def plain[T: ask(), *Ts, **P](x: T = None, *rest: *Ts) -> T:
    return x

def eager[T](x=ask()):  # expect: device-init-at-import
    return x

class Kept[T: (ask(), int)]:
    pass

class Derived[
    T,

    U: ask(),
](Base, level=ask()):  # expect: device-init-at-import
    def inside[V](self, x: V) -> V:
        return ask()

def called[
    T,
](x: T) -> T:
    return ask()

called(1)  # expect: device-init-at-import
Derived().inside(1)  # expect: device-init-at-import
""",
    ),
    "a type parameter hides a name of the module": (
        (3, 12),
        """
import torch

class Asked:
    def __mro_entries__(self, bases):
        return ()
    def __getitem__(self, key):
        return torch.cuda.get_device_capability() and object

T = Asked()

class A(T[int]):  # expect: device-init-at-import
    pass

class B[T](dict[T, int]):
    pass
""",
    ),
    "type statements": (
        (3, 12),
        """
import torch
type Level = torch.cuda.get_device_capability()
if True: type Generic[
    T,

    U,
] = dict[T, torch.cuda.get_device_capability()]
type = 3
X = (Level, Generic, torch.cuda.get_device_name())  # expect: device-init-at-import
""",
    ),
    "defaults of type parameters": (
        (3, 13),
        """
import torch
class A[T = torch.cuda.get_device_capability(), **P = [int]]:
    X = torch.cuda.get_device_name()  # expect: device-init-at-import
class B[*Ts = *tuple[int, ...]]:
    Y = torch.cuda.get_device_name()  # expect: device-init-at-import
""",
    ),
    "nested f-strings": (
        (3, 12),
        '''
import torch

class Shown:
    def __format__(self, how):
        return str(torch.cuda.get_device_capability())
    def __repr__(self):
        return str(torch.cuda.get_device_name())

d = {"k": 1, "s": Shown()}
A = f"{d["k"]} {"\\n".join([])} {'#'}"
B = f"{torch.cuda.get_device_name()}{d["k"]}"  # expect: device-init-at-import
C = f"{f"{f"{f"{torch.cuda.get_device_name()}"}"}"}"  # expect: device-init-at-import
D = f"{
    d["k"]  # a comment with a "
}" "tail" f"{torch.cuda.get_device_name()}"  # expect: device-init-at-import
E = f"""{d["""k"""]}
{
torch.cuda.get_device_name()}"""  # expect: device-init-at-import
F = f"{d["s"]}"  # expect: device-init-at-import
G = f"{d["s"]!r}"  # expect: device-init-at-import
H = f"{d["k"]:>{torch.cuda.get_device_capability()[0]}}"  # expect: device-init-at-import
I = rf"\\{d["k"]}\\"" + f"{{{d["k"]}}}"
if I == "": torch.cuda.get_device_name()
''',
    ),
    "t-strings": (
        (3, 14),
        '''
import torch

class Shown:
    def __format__(self, how):
        return str(torch.cuda.get_device_capability())

shown, d = Shown(), {"k": 1}
A = t"{shown} {1:>{2}}"
B = t"{torch.cuda.get_device_name()}"  # expect: device-init-at-import
C = t"""{
    d["k"]
}{torch.cuda.get_device_name()}"""  # expect: device-init-at-import
D = rt"""\\d""" t"{f"{shown}"}"  # expect: device-init-at-import
E = t"{1:{shown}}"  # expect: device-init-at-import
''',
    ),
    "exceptions without parentheses": (
        (3, 14),
        """
import torch

def ask():
    return torch.cuda.get_device_capability()

try:
    int("x")
except TypeError, ValueError:
    ask()  # expect: device-init-at-import conditional
try:
    pass
except ask(), ValueError:
    pass
try:
    pass
except* OSError, ValueError:
    pass
else:
    ask()  # expect: device-init-at-import
""",
    ),
    "unpacking in comprehensions": (
        (3, 15),
        """
import torch

class Rows:
    def __iter__(self):
        yield torch.cuda.get_device_capability()

rows = [Rows()]
A = [*each for each in rows]  # expect: device-init-at-import
B = {*each for each in rows}  # expect: device-init-at-import
C = (*each for each in rows)
D = list(*each for each in rows)  # expect: device-init-at-import
E = [each for each in rows]
F = {**each for each in [{"k": torch.cuda.get_device_capability}]}
F["k"]()  # expect: device-init-at-import
G = [*rows, *rows]
""",
    ),
}


@pytest.mark.parametrize("name", FIRST, ids=[name.replace(" ", "-") for name in FIRST])
def test_newer_syntax_is_read_by_any_python(name: str, tmp_path: Path) -> None:
    version, text = FIRST[name]
    setting = Setting(target_version=max(version, (3, 13)), runs=version <= RUNNING)
    assert_as_expected(text, tmp_path, setting)


def whole(tree: ast.Module) -> list[tuple[object, ...]]:
    """Where the expressions of a tree stand, but for those that only newer trees keep."""
    kept = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.BinOp)
    return sorted(
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, type(node).__name__)
        for node in ast.walk(tree)
        if isinstance(node, kept)
    )


F_STRINGS = FIRST["nested f-strings"][1]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python has no other way to read them")
def test_what_is_rewritten_stands_where_python_says() -> None:
    rewritten = parse_rewritten(F_STRINGS.encode(), ast.parse, parse_any)
    assert rewritten is not None
    assert whole(rewritten) == whole(ast.parse(F_STRINGS))


@pytest.mark.parametrize(
    "text",
    [
        "f'{a['b'}'\n", "f'{'\n", "f'{}{a['b']}'\n", "t'{a!x}'\n", "f'{a['b']!}'\n", "class A[: pass\n",
        "type X\n", "except A, B: pass\n", "x = [*a, *b for b in c]\n", "x = {a: *b for b in c}\n",
        "lazy import\n", "def f[T](x: pass\n", "t'a' = 1\n", "x = t'{a'\n'\n", "'''\n", "x = t'\n",
    ],
)  # fmt: skip
def test_what_no_python_reads_is_refused_as_the_running_one_does(text: str) -> None:
    with pytest.raises(SyntaxError):
        ast.parse(text)
    with pytest.raises(SyntaxError):
        parse_any(text.encode())
