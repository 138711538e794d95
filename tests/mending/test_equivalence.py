"""A mended package behaves as before but for when the device is woken: CPython runs both."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coldfork.checking.request import configured
from coldfork.checking.session import CheckSession
from coldfork.mending.mender import mend
from tests.amounts import examples
from tests.mending.conftest import CONFIGURATION, write

EXAMPLES = examples(40)
QUESTIONS = (
    "torch.cuda.is_available()",
    "torch.cuda.get_device_capability()[0] >= 9",
    "torch.cuda.device_count()",
)
NAMES = ("A", "B", "C")


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Draw an expression for a constant, a default or an attribute."""
    question = draw(st.sampled_from(QUESTIONS))
    return draw(
        st.sampled_from(
            (
                question,
                f"'cuda' if {question} else 'cpu'",
                f"not {question}",
                f"({question}, note('made'))",
                f"ask() == ({question})",
                f"N + int({question})",
                f"[each for each in range(3) if {question}]",
                f"A if {question} else None",
                f"str({question}).lower()",
                "torch.cuda.get_device_name(LATE)",
            )
        )
    )


@st.composite
def pieces(draw: st.DrawFn) -> str:
    """A statement of a module."""
    name, other = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
    number = draw(st.integers(0, 2))
    value = draw(expressions())
    annotation = draw(st.sampled_from(("", ": object", ": bool", ": 'bool | None'")))
    return draw(
        st.sampled_from(
            (
                f"{name}{annotation} = {value}",
                f"{name}{annotation} = {value}  # about it",
                f"N = {number}",
                f"def f{number}():\n    return {name}",
                f"def f{number}():\n    {other} = 7\n    return {other}, [{name} for {name} in (1, 2)]",
                f"def f{number}({other}=5):\n    return {name}, {other}",
                f"def f{number}():\n    global {name}\n    {name} = 'set'",
                f"def g{number}(x{annotation} = {value}):\n    return x",
                (
                    f"def g{number}(*, x{annotation} = {value}, y=1):\n    "
                    f"'It.'\n    note(x)\n    return x, {name}"
                ),
                (
                    f"class K{number}:\n    x{annotation} = {value}\n    "
                    f"def f(self):\n        return self.x, {name}"
                ),
                (
                    f"class K{number}:\n    {name} = {value}\n    "
                    f"y = 1\n    def f(self, z=y):\n        return {name}, z"
                ),
                f"class K{number}:\n    x = {value}\n    y = 3, x",
                (
                    f"class L{number}:\n    pass\nclass K{number}(L{number}):\n    "
                    f"x = {value}\n    f = lambda self: self.x"
                ),
                f"import heavy\ndef h{number}():\n    return heavy.weight, {name}",
                f"from heavy import weight as {name}\ndef h{number}(x={name}):\n    return {name}",
                f"if {value}:\n    {name} = 1",
                f"if {value}:\n    {name} = 1\nelse:\n    import heavy as {name}",
                f"if {name}:\n    from heavy import weight as {other}",
                f"try:\n    from heavy import weight as {name}\nexcept ImportError:\n    {name} = None",
                f"{name}, _d = {number}, {value}\ndef d():\n    return _d, {other}",
                f"{name} = {other}",
                f"{name} = {other}, {number}  # of it",
                f"del {name}",
                f"note({name})",
            )
        )
    )


READERS = (
    "",
    "from pkg import a\ndef r():\n    return a.A, a.B",
    "import pkg.a as other\ndef r():\n    return other.C",
    "from pkg.a import A\ndef r():\n    return A",
    "from pkg.a import A, N as B\ndef r():\n    return A, B",
    "from .a import (A,\n    B as C,  # the other\n)\nA = C",
    "import pkg\ndef r():\n    return pkg.A, pkg.B",
    "from pkg.a import A as C\nB = [C]\ndef r():\n    return B",
    "from pkg.a import *\ndef r():\n    return [globals().get(name) for name in 'ABC']",
    "from . import a\na.A = 'replaced'\ndef r():\n    return a.f0()",
    "from . import a\ndef r():\n    a.B = 'replaced'\n    return a.f1(), a.B",
    (
        "from pkg import a\nclass Under(getattr(a, 'K0', object)):\n    "
        "x = 0\ndef r():\n    return Under().f(), super(Under, Under()).x"
    ),
)
PACKAGES = (
    "",
    "",
    "from .a import A",
    "from pkg.a import A as B, N\nfrom .a import B as A\n__all__ = ['A', 'B']",
    "from . import a\nfrom .a import *",
)
HEAD = (
    "import torch\nfrom journal import note\nN = 1\n"
    "LATE = 0\ndef ask():\n    note('asked')\n    return True\n"
)


@contextmanager
def surroundings(folder: Path, journal: list[object]) -> Iterator[None]:
    """A place for imports, with a device that is asked and a module that wakes it."""
    torch, cuda, notes, heavy = map(ModuleType, ("torch", "torch.cuda", "journal", "heavy"))
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "get_device_capability": lambda: (9, 0),
        "device_count": lambda: 2,
        "get_device_name": lambda number: f"device {number}",
    }
    cuda.__dict__.update(answers)
    torch.cuda = cuda  # type: ignore[attr-defined]
    # Each run has a module of its own, so that two are alike if their names are.
    notes.note = lambda seen: journal.append(  # type: ignore[attr-defined]
        repr(seen) if isinstance(seen, ModuleType) else seen
    )
    heavy.weight = 12  # type: ignore[attr-defined]
    ours = {"torch": torch, "torch.cuda": cuda, "journal": notes, "heavy": heavy}
    former = {name: sys.modules.pop(name, None) for name in (*ours, "pkg", "pkg.a", "pkg.b")}
    sys.modules.update(ours)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name, module in former.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def outcome(work: Callable[[], object]) -> object:
    """Return the result, or the failure."""
    try:
        return repr(work())
    except UnboundLocalError as error:
        # It is a NameError, of an import that has moved into a function together with its condition.
        return "NameError", f"name {str(error).split()[4]} is not defined"
    except Exception as error:
        return type(error).__name__, str(error).replace("_computed_once", "")


def _imported(name: str) -> str:
    return importlib.import_module(name).__name__


def behaviour(folder: Path) -> list[object]:
    """Return everything that the package in a folder does when it is imported and all of it is used."""
    journal: list[object] = []
    seen: list[object] = []
    with surroundings(folder, journal):
        modules = []
        for name in ("pkg", "pkg.a", "pkg.b"):
            seen.append(outcome(partial(_imported, name)))
            with suppress(KeyError):
                modules.append(sys.modules[name])
        for module in modules * 2:
            seen += [outcome(partial(getattr, module, name)) for name in (*NAMES, "N")]
            for name in (kind + number for kind in "dfghr" for number in ("0", "1", "2", "")):
                function = module.__dict__.get(name)
                seen.append(outcome(function) if callable(function) else None)
            for number in "012":
                made = module.__dict__.get(f"K{number}")
                if isinstance(made, type):
                    seen.append(outcome(lambda made=made: made().f()))  # type: ignore[misc]
                    seen += [outcome(partial(getattr, made, name)) for name in (*NAMES, "x", "y")]
    return [seen, journal]


@settings(max_examples=EXAMPLES)
@given(
    body=st.lists(pieces(), min_size=1, max_size=6),
    reader=st.sampled_from(READERS),
    package=st.sampled_from(PACKAGES),
    lazy=st.booleans(),
)
def test_a_safe_fix_changes_only_when_the_device_is_woken(
    tmp_path_factory: pytest.TempPathFactory,
    session: CheckSession,
    body: list[str],
    reader: str,
    package: str,
    lazy: bool,
) -> None:
    head = ("from __future__ import annotations\n" if lazy else "") + HEAD
    files = {
        "pkg/__init__.py": f"{package}\n",
        "pkg/a.py": head + "\n".join(body) + "\n",
        "pkg/b.py": f"{reader}\n",
    }
    folder = tmp_path_factory.mktemp("mended")
    write(folder, {**files, "pyproject.toml": CONFIGURATION + KNOWN, "packages/heavy.py": "weight = 12\n"})
    monkey = pytest.MonkeyPatch()
    monkey.chdir(folder)
    monkey.setattr(sys, "dont_write_bytecode", True)
    try:
        done = mend(configured((Path("pkg"),), {}, {}), session.inspect)
        event(f"{len(done.mended)} mended")
        before = behaviour(folder)
        for file in done.files:
            Path(file.file).write_bytes(file.after)
        assert behaviour(folder) == before, [file.after.decode() for file in done.files]
    finally:
        monkey.undo()
        shutil.rmtree(folder)


KNOWN = """
[[tool.coldfork.knowledge.effect]]
imports = ["heavy"]
does = "creates-context"
accelerator = "cuda"
source = "https://example.org"
"""
