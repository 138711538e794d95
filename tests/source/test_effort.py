"""How many steps following an import takes: counted, so that a busy machine does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.source.evaluation.calls import functions
from coldfork.source.evaluation.frame import CallResult
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import bindings
from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import ClassRef, Value
from tests.source.expectations import observe, write

_BRANCHES = "\n".join(
    f"    if isinstance(cls.part_{n}, str):\n        text += str(describe(cls, {n}))" for n in range(200)
)
DOCUMENTED = f"""
def describe(cls, number):
    return [cls.__name__, number, cls.parts[number]]

def documented(cls):
    text = ""
{_BRANCHES}
    cls.__doc__ = text
    return cls
"""


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions whose bodies were followed, once for every time."""
    names: list[str] = []
    inner = functions._run

    def counted(ev: Interpreter, call: functions._Call) -> object:
        names.append(call.function.name)
        return inner(ev, call)

    monkeypatch.setattr(functions, "_run", counted)
    return names


def test_a_decorator_that_only_writes_documentation_is_followed_a_few_times(
    followed: list[str], tmp_path: Path
) -> None:
    user = "from pkg.doc import documented\n\n@documented\nclass {name}:\n    pass\n"
    files = {f"pkg/m{n}.py": user.format(name=f"Model{n}") for n in range(100)}
    write({"pkg/__init__.py": "", "pkg/doc.py": DOCUMENTED, **files}, tmp_path)
    observe([tmp_path])
    assert followed.count("documented") < 20
    assert followed.count("describe") < 20 * 200


def test_a_decorator_that_wakes_is_followed_every_time(tmp_path: Path) -> None:
    waking = DOCUMENTED.replace("    cls.__doc__ = text\n", "    torch.cuda.get_device_name()\n")
    user = "from pkg.doc import documented\n\n@documented\nclass {name}:\n    pass\n"
    files = {f"pkg/m{n}.py": user.format(name=f"Model{n}") for n in range(30)}
    write({"pkg/__init__.py": "", "pkg/doc.py": f"import torch\n{waking}", **files}, tmp_path)
    assert len(observe([tmp_path]).effects) == 30


def test_a_decorator_that_wakes_after_a_few_idle_turns_is_still_followed(tmp_path: Path) -> None:
    waking = DOCUMENTED.replace("(cls):\n    text", "(cls, wakes=False):\n    text").replace(
        "    cls.__doc__ = text\n", "    if wakes:\n        torch.cuda.get_device_name()\n"
    )
    idle = "".join(f"class C{n}:\n    pass\n\ndocumented(C{n})\n" for n in range(5))
    write(
        {"m.py": f"import torch\n{waking}\n{idle}\nclass Last:\n    pass\n\ndocumented(Last, True)\n"},
        tmp_path,
    )
    (effect,) = observe([tmp_path]).effects
    assert effect.chain.symbols[-2:] == ("documented", "torch.cuda.get_device_name")


def test_a_runner_is_followed_for_every_function_that_it_is_given(tmp_path: Path) -> None:
    runner = DOCUMENTED.replace("    cls.__doc__ = text\n", "    cls()\n")
    cold = "from pkg.doc import documented\n\ndef own():\n    return 1\n\ndocumented(own)\n"
    files = {f"pkg/m{n}.py": cold for n in range(30)}
    files["pkg/z.py"] = cold.replace("return 1", "torch.cuda.get_device_name()") + "\nimport torch\n"
    write({"pkg/__init__.py": "", "pkg/doc.py": runner, **files}, tmp_path)
    assert [effect.module for effect in observe([tmp_path]).effects] == ["pkg.z"]


def test_a_call_is_remembered_although_the_module_has_changed_something(
    followed: list[str], tmp_path: Path
) -> None:
    text = """
CACHE = None
TABLE = {}

def prepare():
    global CACHE
    CACHE = object()

def inner(number):
    return TABLE.get(number)

def outer(number):
    return [inner(1), inner(2), inner(1), inner(2)]

prepare()
TABLE[1] = 2
""" + "".join(f"outer({n % 3})\n" for n in range(60))
    write({"m.py": text}, tmp_path)
    observe([tmp_path])
    assert followed.count("outer") == 3
    assert followed.count("inner") == 2


def test_what_may_fail_is_kept_once_for_each_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept: list[int] = []
    inner = functions._run

    def counted(ev: Interpreter, call: functions._Call) -> CallResult:
        result = inner(ev, call)
        kept.append(len(result.failures))
        return result

    monkeypatch.setattr(functions, "_run", counted)
    levels = "\n".join(f"def f{n}():\n    f{n - 1}()\n    f{n - 1}()\n" for n in range(1, 12))
    text = f"def f0():\n    import missing\n    import other\n\n{levels}\n"
    text += "try:\n    f11()\nexcept ImportError:\n    pass\n"
    write({"m.py": text}, tmp_path)
    observe([tmp_path])
    assert set(kept) == {1}


def test_what_is_made_when_first_wanted_is_made_once_for_all_modules(
    followed: list[str], tmp_path: Path
) -> None:
    helper = """
import torch
_made = None

class Platform:
    pass

def find():
    torch.cuda.init()
    return Platform()

def platform():
    global _made
    if _made is None:
        _made = find()
    return _made
"""
    user = "from pkg.helper import platform\n\nfound = platform()\nplatform()\n"
    files = {f"pkg/m{n}.py": user for n in range(9)}
    write({"pkg/__init__.py": "", "pkg/helper.py": helper, **files}, tmp_path)
    assert len(observe([tmp_path]).effects) == 9
    assert followed.count("find") == 1
    assert followed.count("platform") == 2, "once for each state that it is called in"


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names whose bindings were looked at, once for every time."""
    names: list[str] = []
    inner = bindings.bound

    def counted(
        ev: Interpreter,
        module: Module,
        cls: ClassRef | None,
        entries: tuple[Node, ...],
        resolving: tuple[object, ...],
    ) -> Value | None:
        names.append(str(resolving[2]))
        return inner(ev, module, cls, entries, resolving)

    monkeypatch.setattr(bindings, "bound", counted)
    monkeypatch.setattr("coldfork.source.evaluation.objects.names.bound", counted)
    return names


def test_names_that_a_statement_binds_from_themselves_are_worked_out_once_each(
    worked_out: list[str], tmp_path: Path
) -> None:
    steps = "\n".join(f"def step_{n}():\n    pass\n" for n in range(6))
    names = ", ".join(f"step_{n}" for n in range(6))
    tools = f"def traced(function):\n    return function\n\n{steps}\n{names} = map(traced, ({names}))\n"
    user = "from pkg.tools import step_3, step_5\n\nstep_3()\nstep_5()\n"
    write({"pkg/__init__.py": "", "pkg/tools.py": tools, "pkg/a_user.py": user}, tmp_path)
    observe([tmp_path])
    assert {"step_3", "step_5"} <= set(worked_out)
    assert len([name for name in worked_out if name.startswith("step")]) <= 2 * 6


def test_names_that_are_bound_again_from_one_another_are_worked_out_once_each(
    worked_out: list[str], tmp_path: Path
) -> None:
    rounds = "".join(f"if kind != {n}:\n    left = pick(right)\n    right = pick(left)\n" for n in range(6))
    tools = f"def pick(value):\n    return value\n\nkind = left = right = 1\n{rounds}"
    user = "from pkg import tools\n\nprint(tools.left)\n"
    write({"pkg/__init__.py": "", "pkg/tools.py": tools, "pkg/a_user.py": user}, tmp_path)
    observe([tmp_path])
    assert 0 < len([name for name in worked_out if name in ("left", "right")]) <= 2 * 7
