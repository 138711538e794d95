"""Lazy imports happen where Python 3.15 makes them happen: that Python is asked where it runs the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import RUNNING, Setting, assert_as_expected, findings_of, lay_out, observe

SETTING = Setting(target_version=(3, 15), runs=RUNNING >= (3, 15))
WAKING = """
### beside/waking.py
import torch
torch.cuda.get_device_capability()
x = 1
"""
PACKAGE = """
### beside/wp/__init__.py
### beside/wp/s.py
import torch
torch.cuda.get_device_capability()
z = 1
### beside/wp/t.py
w = 1
"""
CASES = {
    "nobody reads the name": """
<waking>### m.py
lazy import waking
""",
    "the name alone is read": """
<waking>### m.py
lazy import waking
waking  # expect: waking-import
waking.x
""",
    "an import that is not lazy": """
<waking>### m.py
import waking  # expect: waking-import
""",
    "an attribute is read": """
<waking>### m.py
lazy import waking
X = waking.x  # expect: waking-import
""",
    "the name is given to another": """
<waking>### m.py
lazy import waking
X = waking  # expect: waking-import
""",
    "a name from a module": """
<waking>### m.py
lazy from waking import x as y
X = [y]  # expect: waking-import
""",
    "a function that nobody calls": """
<waking>### m.py
lazy import waking
def f():
    return waking.x
""",
    "a function that the import calls": """
<waking>### m.py
lazy import waking
def f():
    return waking.x
f()  # expect: waking-import
""",
    "a default value": """
<waking>### m.py
lazy import waking
def f(x=waking):  # expect: waking-import
    return 1
""",
    "a default value by name": """
<waking>### m.py
lazy from waking import x
def f(*, z=x):  # expect: waking-import
    return 1
""",
    "a class body": """
<waking>### m.py
lazy import waking
class A:
    z = waking  # expect: waking-import
""",
    "annotations wait": """
<waking>### m.py
lazy import waking
def f(z: waking.x) -> waking: ...
class A:
    z: waking.x
q: waking.x = 1
""",
    "a decorator from a module that wakes nothing": """
<waking>### m.py
lazy import waking
lazy from functools import cache
@cache
def f(): return waking
""",
    "a type alias waits": """
<waking>### m.py
lazy import waking
type X = waking.x
""",
    "type parameters wait": """
<waking>### m.py
lazy import waking
def f[T: waking.x](): ...
class B[T = waking.x]: ...
""",
    "deleting and rebinding are no reading": """
<waking>### m.py
lazy import waking
del waking
lazy from waking import x
x = 3
repr(x)
""",
    "a submodule by its package": """
<package>### m.py
lazy import wp.s
wp
X = wp.s  # expect: waking-import
""",
    "a submodule under another name": """
<package>### m.py
lazy import wp.s as q
X = q  # expect: waking-import
""",
    "two submodules": """
<package>### m.py
lazy import wp.s
lazy import wp.t
wp.t
X = wp.s.z  # expect: waking-import
""",
    "a submodule from its package": """
<package>### m.py
lazy from wp import s
X = s  # expect: waking-import
""",
    "a submodule of an imported package": """
<package>### m.py
import wp
lazy import wp.s
X = wp.s.z  # expect: waking-import
""",
    "a package that is imported afterwards": """
<package>### m.py
lazy import wp.s
import wp
X = wp.s.z  # expect: waking-import
""",
    "another module reads the name": """
<waking>### n.py
lazy import waking
### m.py
import n
if len('x'):
    n.waking  # expect: waking-import
""",
    "another module imports the name": """
<waking>### n.py
lazy import waking
### m.py
from n import waking  # expect: waking-import
""",
    "another module imports everything": """
<waking>### n.py
lazy import waking
### m.py
from n import *  # expect: waking-import
""",
    "a lazy import of a lazy import": """
<waking>### n.py
lazy import waking
### m.py
lazy from n import waking
X = waking  # expect: waking-import
""",
    "asking whether there is one": """
<waking>### n.py
lazy import waking
### m.py
import n
X = hasattr(n, 'waking')  # expect: waking-import
""",
    "asking for it by name": """
<waking>### n.py
lazy import waking
### m.py
import n
X = getattr(n, 'waking')  # expect: waking-import
""",
    "looking past the name": """
<waking>### n.py
lazy import waking
### m.py
import n
X = n.__dict__['waking']
vars(n)
dir(n)
""",
    "inside an if": """
<waking>### m.py
if True:
    lazy import waking
X = waking  # expect: waking-import
""",
    "inside a with": """
<waking>### m.py
import contextlib
with contextlib.nullcontext():
    lazy import waking
X = waking  # expect: waking-import
""",
    "inside a loop": """
<waking>### m.py
for _ in (1, 2):
    lazy import waking
repr(waking)  # expect: waking-import
""",
    "on one of two ways": """
<waking>### m.py
import os
if os.environ.get('A'):
    lazy import waking
else:
    waking = 1
X = waking  # expect: waking-import conditional
""",
    "read inside a try": """
<waking>### m.py
lazy import waking
try:
    waking  # expect: waking-import
except ImportError:
    pass
""",
    "a comprehension": """
<waking>### m.py
lazy import waking
X = [waking for _ in 'a']  # expect: waking-import
""",
    "a generator that nobody runs": """
<waking>### m.py
lazy import waking
X = (waking for _ in 'a')
""",
    "a lambda that nobody calls": """
<waking>### m.py
lazy import waking
X = lambda: waking
""",
    "an f-string": """
<waking>### m.py
lazy import waking
X = f'{waking}'  # expect: waking-import
""",
    "a package that offers a name": """
<waking>### q/__init__.py
lazy from .r import k
### q/r.py
import waking  # expect: waking-import
k = 1
### m.py
import q
""",
    "the offered name is read": """
<waking>### q/__init__.py
lazy from .r import k
### q/r.py
import waking  # expect: waking-import
k = 1
### m.py
import q
if q:
    q.k  # expect: waking-import
""",
    "the offered name is imported": """
<waking>### q/__init__.py
lazy from .r import k
### q/r.py
import waking  # expect: waking-import
k = 1
### m.py
from q import k
""",
    "a list names the module": """
<waking>### m.py
__lazy_modules__ = ['waking']
import waking
def f(): return waking
""",
    "a listed module is read": """
<waking>### m.py
__lazy_modules__ = ['waking']
import waking
X = waking  # expect: waking-import
""",
    "a list that comes too late": """
<waking>### m.py
import waking  # expect: waking-import
__lazy_modules__ = ['waking']
X = waking
""",
    "a list of others": """
<waking>### m.py
__lazy_modules__ = ['wak']
import waking  # expect: waking-import
X = waking
""",
    "a set": """
<waking>### m.py
__lazy_modules__ = {'waking'}
import waking
""",
    "a text that contains the name": """
<waking>### m.py
__lazy_modules__ = 'xwakingx'
import waking
""",
    "a dictionary": """
<waking>### m.py
__lazy_modules__ = {'waking': 1}
import waking
""",
    "a list that is put together": """
<waking>### m.py
OTHERS = ['b']
__lazy_modules__ = ['waking'] + OTHERS
import waking
""",
    "names from a listed module": """
<package>### m.py
__lazy_modules__ = ['wp']
from wp import s
def f(): return s
""",
    "a listed submodule is not what is asked for": """
<package>### m.py
__lazy_modules__ = ['wp.s']
from wp import s  # expect: waking-import
""",
    "names from a listed submodule": """
<package>### m.py
__lazy_modules__ = ['wp.s']
from wp.s import z
""",
    "a listed submodule": """
<package>### m.py
__lazy_modules__ = ['wp.s']
import wp.s
""",
    "only the package is listed": """
<package>### m.py
__lazy_modules__ = ['wp']
import wp.s  # expect: waking-import
""",
    "listed in a try": """
<waking>### m.py
__lazy_modules__ = ['waking']
try:
    import waking  # expect: waking-import
except ImportError:
    pass
""",
    "listed in a finally": """
<waking>### m.py
__lazy_modules__ = ['waking']
try:
    pass
finally:
    import waking
""",
    "listed in a class": """
<waking>### m.py
__lazy_modules__ = ['waking']
class A:
    import waking  # expect: waking-import
""",
    "listed in a function": """
<waking>### m.py
__lazy_modules__ = ['waking']
def f():
    import waking
f()  # expect: waking-import
""",
    "listed with a star": """
<waking>### m.py
__lazy_modules__ = ['waking']
from waking import *  # expect: waking-import
""",
    "a relative import": """
<waking>### q/__init__.py
__lazy_modules__ = ['q.r']
from .r import k
### q/r.py
import waking  # expect: waking-import
k = 1
""",
    "a list with the name of the package": """
<waking>### q/__init__.py
__lazy_modules__ = [f'{__name__}.r']
from .r import k
### q/r.py
import waking  # expect: waking-import
k = 1
""",
    "a default value reads a listed module": """
<waking>### m.py
__lazy_modules__ = ['waking']
import waking
def f(x=waking):  # expect: waking-import
    pass
""",
    "a list that grows": """
<waking>### m.py
__lazy_modules__ = []
__lazy_modules__.append('waking')
import waking  # expect: waking-import conditional
""",
    "an object that answers": """
<waking>### m.py
class All:
    def __contains__(self, name):
        return name.startswith('wak')
__lazy_modules__ = All()
import waking
""",
    "a list that is extended": """
<waking>### m.py
__lazy_modules__ = ['a']
__lazy_modules__ += ['waking']
import waking
""",
    "a list that is replaced": """
<waking>### m.py
__lazy_modules__ = ['waking']
import waking
__lazy_modules__ = []
X = waking  # expect: waking-import
""",
    "for types only": """
<waking>### m.py
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    lazy import waking
""",
    "a base class": """
<waking>### m.py
lazy from waking import x
class A(x):  # expect: waking-import
    pass
""",
    "through a function of another module": """
<waking>### n.py
lazy import waking
def go():
    return waking.x
### m.py
from n import go
go()  # expect: waking-import
""",
    "an augmented assignment": """
<waking>### m.py
lazy from waking import x
x += 1  # expect: waking-import
""",
    "a function rebinds it": """
<waking>### m.py
lazy import waking
def f():
    global waking
    waking = 1
f()
""",
    "a comparison": """
<waking>### m.py
lazy import waking
waking is None  # expect: waking-import
""",
    "a pattern": """
<waking>### m.py
lazy import waking
match 1:
    case waking.x:  # expect: waking-import
        pass
""",
    "an except clause that is not reached": """
<waking>### m.py
lazy import waking
try:
    pass
except waking.x:
    pass
""",
    "an assertion": """
<waking>### m.py
lazy import waking
assert waking  # expect: waking-import
""",
}


def filled(text: str) -> str:
    """A case with the libraries that it names."""
    return text.replace("<waking>", WAKING).replace("<package>", PACKAGE).replace("\n\n", "\n")


@pytest.mark.parametrize("text", CASES.values(), ids=[name.replace(" ", "-") for name in CASES])
def test_an_import_happens_where_its_name_is_read(text: str, tmp_path: Path) -> None:
    assert_as_expected(filled(text), tmp_path, SETTING)


@pytest.mark.parametrize("statement", ["lazy import waking", "lazy from waking import x"])
def test_below_python_3_15_a_lazy_import_is_an_error_of_its_file(statement: str, tmp_path: Path) -> None:
    lay_out(f"import torch\nif torch:\n    {statement}\n", tmp_path)
    (problem,) = observe([tmp_path / "tree"], setting=Setting(target_version=(3, 14))).unreadable
    assert (problem.line, problem.column) == (3, 4)
    assert problem.reason == (
        "uses `lazy import` of Python 3.15, which the target version, Python 3.14, cannot read; "
        "list the modules in __lazy_modules__ instead, which older Pythons ignore"
    )


def test_below_python_3_15_a_list_has_no_effect(tmp_path: Path) -> None:
    text = "<waking>### m.py\n__lazy_modules__ = ['waking']\nimport waking  # expect: waking-import\n"
    setting = Setting(target_version=(3, 14), runs=RUNNING < (3, 15))
    assert_as_expected(filled(text), tmp_path, setting)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("def f():\n    lazy import a\n", 2, "lazy import not allowed inside functions"),
        (
            "class A:\n    def f(self):\n        lazy import a\n",
            3,
            "lazy import not allowed inside functions",
        ),
        ("class A:\n    lazy import a\n", 2, "lazy import not allowed inside classes"),
        ("try:\n    if a:\n        lazy import a\nfinally:\n    pass\n", 3, "try/except blocks"),
        ("try:\n    pass\nexcept E:\n    lazy import a\n", 4, "try/except blocks"),
        ("try:\n    pass\nfinally:\n    lazy import a\n", 4, "try/except blocks"),
        ("lazy from a import *\n", 1, "lazy from ... import * is not allowed"),
        ("lazy from __future__ import annotations\n", 1, "lazy from __future__ import is not allowed"),
    ],
)
def test_where_python_allows_none_it_is_an_error_of_the_file(
    text: str, line: int, reason: str, tmp_path: Path
) -> None:
    lay_out(text, tmp_path)
    (problem,) = observe([tmp_path / "tree"], setting=SETTING).unreadable
    assert problem.line == line
    assert reason in problem.reason
    if RUNNING >= (3, 15):
        with pytest.raises(SyntaxError) as refused:
            compile(text, "m.py", "exec")
        assert refused.value.lineno == line
        assert refused.value.msg in problem.reason


def test_words_in_a_text_are_no_import(tmp_path: Path) -> None:
    text = 'def f():\n    """Do a\n    lazy import of torch,\n    lazy from the start.\n    """\nlazy = 1\n'
    lay_out(text, tmp_path)
    assert observe([tmp_path / "tree"], setting=Setting(target_version=(3, 11))).unreadable == ()


STATEMENTS = {
    "import waking": True,
    "from waking import x": True,
    "if print:\n    import waking": True,
    "with open(__file__):\n    import waking": True,
    "try:\n    pass\nfinally:\n    import waking": True,
    "try:\n    import waking\nexcept ImportError:\n    pass": False,
    "class A:\n    import waking": False,
    "def f():\n    import waking\nf()": False,
    "from waking import *": False,
    "lazy import waking\nX = waking": False,
}


@pytest.mark.parametrize(("statement", "offered"), STATEMENTS.items())
def test_a_lazy_import_is_offered_where_python_allows_one(
    statement: str, offered: bool, tmp_path: Path
) -> None:
    files = lay_out(filled(f"<waking>### m.py\n{statement}\n"), tmp_path)
    (finding,) = findings_of(tmp_path, SETTING)
    other = "import waking inside the function that uses it"
    first = "make the import lazy (with __lazy_modules__ where Pythons before 3.15 are supported too), or "
    assert finding.remedy == (first + other if offered else other)
    if offered:
        (older,) = findings_of(tmp_path, Setting(target_version=(3, 14)))
        assert older.remedy == other
        (tmp_path / "tree/m.py").write_text("__lazy_modules__ = ['waking']\n" + files["m.py"])
        assert findings_of(tmp_path, SETTING) == ()
