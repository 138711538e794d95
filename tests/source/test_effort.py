"""How many steps following an import takes: counted, so that a busy machine does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.source.evaluation.calls import functions
from coldfork.source.evaluation.frame import CallResult
from coldfork.source.evaluation.interpreter import Interpreter
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
