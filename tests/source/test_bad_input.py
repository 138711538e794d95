"""Bad input gets one clear line each, and nothing else is lost by it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from coldfork.model.errors import UsageError
from coldfork.rules.registry import judge
from coldfork.source.files.reading import LARGEST_FILE
from tests.source.expectations import RUNNING, Setting, assert_as_expected, observe, write

pytestmark = pytest.mark.once

GOOD = "import torch\nLEVEL = torch.cuda.get_device_capability()\n"
HERE = ("pkg/good.py", 2)
SOURCE = Path(__file__).parents[2] / "src"


def told(folder: Path, target_version: tuple[int, int] = RUNNING) -> dict[str, str]:
    """The reasons given for unreadable files; the good file beside them is still judged."""
    observation = observe([folder], setting=Setting(target_version=target_version))
    findings = judge(observation)
    assert [(one.path, one.line) for one in findings if one.rule == "device-init-at-import"] == [HERE]
    warned = {one.path for one in findings if one.rule == "unreadable-source"}
    reasons = {one.path: one.reason for one in observation.unreadable}
    assert warned == set(reasons)
    assert all("\n" not in reason and reason for reason in reasons.values())
    return reasons


def package(folder: Path, **files: bytes | str) -> Path:
    """A package with a good module and some others."""
    write({"pkg/__init__.py": "", "pkg/good.py": GOOD}, folder)
    for name, content in files.items():
        path = folder / "pkg" / f"{name}.py"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        (b"x = (1,\n\n", "does not parse: '(' was never closed", 1),
        (b"def f(:\n    pass\n", "does not parse: invalid syntax", 1),
        (
            b"if True:\nx = 1\n",
            "does not parse: expected an indented block after 'if' statement on line 1",
            2,
        ),
        (b"x = 1\n  y = 2\n", "does not parse: unexpected indent", 2),
        (b"print 'hello'\n", "is Python 2 source", 1),
        (b"exec 'x = 1' in {}\n", "is Python 2 source", 1),
        (b"raise ValueError, 'no'\n", "is Python 2 source", 1),
        (b"x = 0777\n", "does not parse", 1),
        (b"x = `1`\n", "does not parse", 1),
        (b"x = 1\0\n", "contains a NUL byte", 1),
        (b"\n\nx = 1\0\n", "contains a NUL byte", 3),
        (b"# -*- coding: nonsense-8 -*-\nx = 1\n", "declares the unknown encoding 'nonsense-8'", 1),
        (b"# coding: ascii\nx = '\xc3\xa9'\n", "is not the 'ascii' that it declares", 1),
        (b"# coding: utf-16\nx = 1\n", "utf-16", 1),
        (b"# coding: rot13\nk = 1\n", "rot13", 1),
        (b"x = '\xff'\n", "utf-8", 1),
        (b"\xff\xfex\0 \0=\0 \x001\0", "NUL", 1),
        (b"x = 1\n\xff\n", "utf-8", 2),
        (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", "", 0),
    ],
)
def test_a_bad_file_is_told_in_one_line(content: bytes, reason: str, line: int, tmp_path: Path) -> None:
    reasons = told(package(tmp_path, bad=content))
    if not reason and not reasons:
        return  # what CPython refuses may be read all the same
    assert list(reasons) == ["pkg/bad.py"]
    assert reason.lower() in reasons["pkg/bad.py"].lower()
    (problem,) = observe([tmp_path]).unreadable
    assert problem.line == line or not line


@pytest.mark.parametrize(
    "content",
    [
        GOOD.encode("utf-8-sig"),
        b"\xef\xbb\xbf# coding: utf-8\n" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("\n", "\r").encode(),
        GOOD.rstrip("\n").encode(),
        "# coding: latin-1\nimport torch\ngröße = 1; LEVEL = torch.cuda.get_device_capability()\n".encode(
            "latin-1"
        ),
        b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\n# \x80\n" + GOOD.encode(),
        b"# coding: shift_jis\n" + "名 = '能'\n".encode("shift_jis") + GOOD.encode(),
        b"\x0c\n" + GOOD.encode(),
        b"x = 'coding: nonsense'\n" + GOOD.encode(),
        b"# -*- coding: utf8 -*-\n" + GOOD.encode(),
    ],
)
def test_unusual_files_are_read(content: bytes, tmp_path: Path) -> None:
    package(tmp_path, odd=content)
    observation = observe([tmp_path])
    assert observation.unreadable == ()
    assert sorted(effect.path for effect in observation.effects) == ["pkg/good.py", "pkg/odd.py"]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    package(tmp_path)
    with (tmp_path / "pkg" / "huge.py").open("wb") as file:
        file.truncate(50_000_000)  # sparse
    reasons = told(tmp_path)
    assert list(reasons) == ["pkg/huge.py"]
    assert f"larger than {LARGEST_FILE // 1_000_000} MB" in reasons["pkg/huge.py"]


DEEP = {
    "parentheses": "x = " + "(" * 10_000 + ")" * 10_000 + "\n",
    "additions": "x = " + "+".join(["1"] * 10_000) + "\n",
    "calls": "x = " + "f(" * 10_000 + ")" * 10_000 + "\n",
    "attributes": "x = a" + ".b" * 10_000 + "\n",
    "negations": "x = " + "not " * 10_000 + "1\n",
    "lists": "x = " + "[" * 10_000 + "]" * 10_000 + "\n",
    "comparisons": "x = " + "<".join(["1"] * 10_000) + "\n",
    "lambdas": "x = " + "lambda: " * 10_000 + "1\n",
    "ifs": "".join("    " * depth + "if x:\n" for depth in range(150)) + "    " * 150 + "pass\n",
    "elifs": "if x:\n    pass\n" + "elif x:\n    pass\n" * 10_000,
    "strings": "x = (" + "'a'\n" * 10_000 + ")\n",
    "concatenations": "x = ('a'" + " + f('a')" * 10_000 + ")\n",
    "boolean": "x = " + " or ".join(["y"] * 10_000) + "\n",
    "chained calls": "x = f" + "()" * 10_000 + "\n",
    "subscripts": "x = f" + "[0]" * 10_000 + "\n",
    "conditional": "x = " + "1 if y else " * 10_000 + "2\n",
    "decorators": "@f\n" * 10_000 + "def g(): pass\n",
    "awaits": "async def f():\n    " + "await " * 10_000 + "x\n",
    "in a function": "def f():\n    return " + "-" * 10_000 + "1\nf()\n",
}


@pytest.mark.parametrize("kind", DEEP)
def test_deep_nesting_neither_crashes_nor_hides_the_rest(kind: str, tmp_path: Path) -> None:
    """In a process of its own: what goes wrong here kills the interpreter."""
    package(tmp_path, deep=DEEP[kind])
    program = textwrap.dedent(
        f"""
        import sys
        sys.path[:0] = {[str(SOURCE)]!r}
        from pathlib import Path
        from coldfork.knowledge.known import known as known_on
        from coldfork.model.effects import PROFILES
        from coldfork.source.analysis import Request, analyse
        known = known_on(PROFILES["cuda"], {{}})
        seen = analyse(Request((Path({str(tmp_path)!r}),), PROFILES["cuda"], known, jobs=1))
        print([effect.path for effect in seen.effects], [(one.path, one.reason) for one in seen.unreadable])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    assert done.stdout.startswith("['pkg/good.py']")
    if "pkg/deep.py" in done.stdout:
        assert "nested too deeply" in done.stdout or "does not parse" in done.stdout


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no symbolic links")
def test_links_that_lead_nowhere_or_in_circles(tmp_path: Path) -> None:
    package(tmp_path)
    (tmp_path / "pkg" / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "pkg" / "self.py").symlink_to(tmp_path / "pkg" / "self.py")
    (tmp_path / "pkg" / "circle").symlink_to(tmp_path / "pkg", target_is_directory=True)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "pkg" / "lost").symlink_to(tmp_path / "nowhere", target_is_directory=True)
    reasons = told(tmp_path)
    assert sorted(Path(path).name for path in reasons) == ["dangling.py", "self.py"]


def test_overlapping_paths_count_once_and_a_linked_module_is_a_module(tmp_path: Path) -> None:
    package(tmp_path)
    observation = observe([tmp_path, tmp_path / "pkg", tmp_path / "pkg" / "good.py"])
    assert [effect.path for effect in observation.effects] == ["pkg/good.py"]
    (tmp_path / "pkg" / "same.py").symlink_to(tmp_path / "pkg" / "good.py")
    observation = observe([tmp_path])
    assert [effect.path for effect in observation.effects] == ["pkg/good.py", "pkg/same.py"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="this user may read everything")
def test_unreadable_files_and_folders(tmp_path: Path) -> None:
    package(tmp_path, secret="x = 1\n")
    hidden = tmp_path / "pkg" / "hidden"
    hidden.mkdir()
    (tmp_path / "pkg" / "secret.py").chmod(0)
    hidden.chmod(0)
    try:
        reasons = told(tmp_path)
    finally:
        hidden.chmod(0o700)
    assert {Path(path).name: reason for path, reason in reasons.items()} == {
        "secret.py": "permission denied",
        "hidden": "permission denied",
    }


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no such file here")
def test_a_file_that_opens_and_does_not_read(tmp_path: Path) -> None:
    package(tmp_path)
    (tmp_path / "pkg" / "sick.py").symlink_to("/proc/self/mem")
    assert told(tmp_path) == {"pkg/sick.py": "input/output error"}


def test_a_folder_named_like_a_module_and_a_special_file(tmp_path: Path) -> None:
    package(tmp_path)
    (tmp_path / "pkg" / "folder.py").mkdir()
    (tmp_path / "pkg" / "folder.py" / "inner.txt").write_text("x")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pkg" / "pipe.py")
    told(tmp_path)


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        observe([tmp_path / "nowhere"])


def test_an_unknown_entry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pkg\.missing: no such module"):
        observe([package(tmp_path)], setting=Setting(entries=("pkg.missing",)))


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    observation = observe([tmp_path])
    assert observation.effects == ()
    assert observation.statistics.modules == 0


def test_odd_names(tmp_path: Path) -> None:
    package(tmp_path)
    for name in ("with-dash", "with space", "1number", "größe", "a.b", "class"):
        (tmp_path / "pkg" / f"{name}.py").write_text(GOOD)
        (tmp_path / f"{name}.py").write_text(GOOD)
    (tmp_path / "pkg" / ".hidden.py").write_text(GOOD)
    observation = observe([tmp_path])
    names = {Path(effect.path).name for effect in observation.effects}
    assert {"good.py", "with-dash.py", "with space.py", "1number.py", "größe.py", "a.b.py"} <= names
    assert observation.unreadable == ()


@pytest.mark.skipif(sys.platform != "linux", reason="file names are not bytes here")
def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    package(tmp_path)
    Path(os.fsdecode(os.fsencode(tmp_path / "pkg") + b"/bad\xff.py")).write_text(GOOD)
    observation = observe([tmp_path])
    assert HERE in {(effect.path, effect.line) for effect in observation.effects}


CIRCLES = {
    "modules that import each other": """
### pkg/__init__.py
from . import a
### pkg/a.py
from .b import B
from . import b
A = B
### pkg/b.py
from .a import A
from pkg.a import *
B = A
""",
    "aliases of each other": """
### pkg/__init__.py
### pkg/a.py
from .b import thing as thing
thing()
### pkg/b.py
from .a import thing as thing
thing()
""",
    "stars of each other": """
### pkg/__init__.py
from .a import *
### pkg/a.py
from .b import *
from pkg import *
value()
### pkg/b.py
from .a import *
other()
""",
    "a name bound to itself": """
### m.py
a = b
b = a
a()
c = c
c()
d = d.e
class F(F): pass
class G(H): pass
class H(G): pass
G()
class I(I.J): pass
def k(x=k): return k
k()
l = lambda: l()
l()
""",
    "a package that imports itself": """
### pkg/__init__.py
import pkg
from pkg import pkg
from . import pkg as again
pkg.pkg.pkg()
""",
    "a decorator that decorates itself": """
### m.py
@f
def f(g):
    return f(g)

@f
class A:
    @A
    def b(self): pass
""",
    "a module's __getattr__ that asks itself": """
### pkg/__init__.py
### pkg/lazy.py
def __getattr__(name):
    from pkg.lazy import other
    from . import lazy
    return getattr(lazy, name)
### pkg/user.py
from pkg.lazy import thing
thing()
""",
    "containers that hold themselves": """
### m.py
a = []
a.append(a)
b = {}
b["b"] = b
c = [b, a]
for d in c:
    c.append(d)
    d()
a[0][0]()
class E: pass
e = E()
e.e = e
e.e.e.e()
""",
    "properties and metaclasses that ask themselves": """
### m.py
class M(type, metaclass=M):
    def __getattr__(cls, name): return getattr(cls, name)
    def __call__(cls): return cls()

class A(metaclass=M):
    def __getattr__(self, name): return getattr(self, name)
    @property
    def p(self): return self.p
    def __iter__(self): return iter(self)
    def __enter__(self):
        with self: pass
    def __init__(self): A()
    def __init_subclass__(cls):
        class B(A): pass

A().p
A.x.y
A().z
for one in A(): pass
with A(): pass
class C(A): pass
""",
    "functions that grow without end": """
### m.py
def grow(f):
    return grow(lambda: f)

def pair(x):
    return pair((x, x))

def split(n):
    return split(n + 1) or split(n + 2) or split(n + 3)

def nest(f):
    def g():
        return nest(g)
    return g()

grow(1); pair(1); split(0); nest(1)
""",
}


@pytest.mark.parametrize("name", CIRCLES)
def test_circles_end(name: str, tmp_path: Path) -> None:
    assert_as_expected(CIRCLES[name], tmp_path, Setting(runs=False))


def test_a_program_that_would_run_for_ever_is_left_alone(tmp_path: Path) -> None:
    text = """
import torch
while True:
    pass
torch.cuda.get_device_capability()
for one in iter(int, 1):
    pass
"""
    (tmp_path / "m.py").write_text(text)
    assert observe([tmp_path]).unreadable == ()


def test_much_branching_ends_soon(tmp_path: Path) -> None:
    """Two to the power of forty ways through a function may not cost as much."""
    branches = "".join(f"    if x.a{number}:\n        y = {number}\n" for number in range(40))
    calls = "".join(
        f"def f{number}(x):\n    return f{number + 1}(x) if x.b else f{number + 1}(x)\n"
        for number in range(40)
    )
    last = f"def f40(x):\n    y = 0\n{branches}    return torch.cuda.get_device_capability()\n"
    text = f"import torch\n{last}{calls}f0(unknown)\n"
    (tmp_path / "m.py").write_text(text)
    observation = observe([tmp_path])
    assert len(observation.effects) == 1
    assert observation.statistics.seconds < 10


def test_shadowing_the_standard_library(tmp_path: Path) -> None:
    text = """
### os.py
import torch
def getcwd():
    return torch.cuda.get_device_capability()
### user.py
import os
import sys
### torch_user.py
import torch
torch.cuda.is_available()  # expect: driver-init-at-import
"""
    assert_as_expected(text, tmp_path, Setting(runs=False))


def test_a_checked_torch_is_not_the_library(tmp_path: Path) -> None:
    """Who checks torch itself sees its lines, not its catalogue entries alone."""
    write(
        {
            "torch/__init__.py": "from . import cuda\n",
            "torch/cuda/__init__.py": "def is_available():\n    return 1\n",
        },
        tmp_path,
    )
    assert observe([tmp_path]).unreadable == ()


def test_a_list_of_exceptions_is_python_2_only_below_python_3_14(tmp_path: Path) -> None:
    package(tmp_path, old="try:\n    pass\nexcept OSError, e:\n    pass\n")
    assert "is Python 2 source" in told(tmp_path, (3, 13))["pkg/old.py"]
    assert told(tmp_path, (3, 14)) == {}
    package(tmp_path, old="try:\n    pass\nexcept OSError, ValueError:\n    pass\n")
    assert told(tmp_path, (3, 13)) == {}


def test_a_generic_function_is_read_by_any_python_when_it_is_called(tmp_path: Path) -> None:
    generic = "def f[T](x: T) -> T:\n    return x\n"
    assert told(package(tmp_path, generic=f"{generic}f(1)\n")) == {}


@pytest.mark.parametrize(
    "body", ["return x = = 1", "print 'hello'", "x = (", "return 'a"], ids=["bad", "old", "open", "quote"]
)
def test_a_called_function_that_does_not_parse_is_told(body: str, tmp_path: Path) -> None:
    reasons = told(package(tmp_path, bad=f"\ndef f():\n    {body}\n\nf()\n"))
    assert list(reasons) == ["pkg/bad.py"]
    (problem,) = observe([tmp_path]).unreadable
    assert problem.line == 3  # where it is, and not where the function begins
    assert problem.column > 0


def test_an_unreadable_dependency_is_no_fault_of_yours(tmp_path: Path) -> None:
    write({"beside/broken/__init__.py": "x = (\n", "tree/user.py": "import broken\n" + GOOD}, tmp_path)
    observation = observe([tmp_path / "tree"], site_packages=tmp_path / "beside")
    assert [effect.path for effect in observation.effects] == ["user.py"]
    assert [problem.own for problem in observation.unreadable] == [False]
