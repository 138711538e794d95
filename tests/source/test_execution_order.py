"""The order in which lines are said to wake a device, held against the order in which CPython runs them."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from coldfork.knowledge.known import Known
from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES, Verdict
from coldfork.source.analysis import Request, analyse
from tests.amounts import examples
from tests.source.expectations import write
from tests.source.programs import programs
from tests.source.recorder import standing_in, waking_lines

_WAKE = "import torch\n\n\ndef wake(value=None):\n    torch.cuda.get_device_name()\n    return value\n\n\n"
_STATEMENTS = """\
# -- decorators
def deco(value):
    return lambda function: function

@deco(
    wake())
@deco(
    wake())
def f(x=wake()):
    pass
# -- decorators are applied from below
def deco(function):
    wake()
    return function

@deco
@deco
def f():
    pass
# -- a conditional expression
x = (
    wake(1)
    if wake(True)
    else wake(2)
)
# -- a comprehension
x = [
    wake(y)
    for y in wake([1])
]
# -- a call behind its arguments
x = wake(
    wake(
        wake()
    )
)
# -- a target behind the value
x = {}
x[
    wake(1)
] = (
    wake()
)
# -- an operator
x = (
    wake(1)
    + wake(2)
    * wake(3)
)
# -- a class
class C(
    wake(object),
    metaclass=wake(type),
):
    a = wake()
    def f(self, x=wake()):
        pass
# -- a dictionary
x = {
    wake(1):
    wake(2),
    wake(3):
    wake(4),
}
# -- a `with`
import contextlib
with (
    contextlib.nullcontext(wake()) as a,
    contextlib.nullcontext(wake()) as b,
):
    wake()
# -- a `try`
try:
    wake()
except ValueError:
    pass
else:
    wake()
finally:
    wake()
# -- a `for`
for x in wake([1, 2]):
    wake()
else:
    wake()
# -- keyword defaults
def f(
    a=wake(),
    *,
    b=wake(),
    c=wake(),
):
    pass
# -- an f-string
x = f'{wake(1)}' + (
    f'{wake(2)}'
)
# -- an assignment expression
x = [
    (y := wake(1)),
    wake(y),
]
# -- a comparison
x = (
    wake(1)
    < wake(2)
    < wake(3)
)
# -- an augmented assignment
x = [1]
x[
    wake(0)
] += (
    wake(1)
)
# -- an `if`
if (
    wake(True)
    and wake(True)
):
    wake()
"""


def statements() -> dict[str, str]:
    """Each statement by what it shows."""
    parts = (part.partition("\n") for part in _STATEMENTS.split("# -- ")[1:])
    return {name: code for name, _, code in parts}


@functools.cache
def _knowledge() -> Known:
    return known_on(PROFILES["cuda"], {})


def compare(source: str, path: Path) -> None:
    """Hold the turns of what is certain against the order in which it happened."""
    path.write_text(source, encoding="utf-8")
    request = Request((path,), PROFILES["cuda"], _knowledge(), target_version=sys.version_info[:2], jobs=1)
    effects = [effect for effect in analyse(request).effects if effect.verdict is Verdict.CERTAIN]
    told = [effect.line for effect in sorted(effects, key=lambda effect: effect.turn)]
    assert told == [line for line in waking_lines(source, path) if line in told]


@pytest.mark.parametrize("statement", statements().values(), ids=statements())
def test_a_statement_of_many_lines_wakes_in_the_order_of_cpython(statement: str, tmp_path: Path) -> None:
    compare(_WAKE + statement, tmp_path / "program.py")


@settings(
    max_examples=examples(25),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(programs())
def test_generated_programs_wake_in_the_order_of_cpython(
    tmp_path_factory: pytest.TempPathFactory, source: str
) -> None:
    compare(source, tmp_path_factory.getbasetemp() / "ordered.py")


_MODULES = ["pkg", "pkg.a", "pkg.b", "pkg.c", "pkg.sub", "pkg.sub.d", "pkg.sub.e"]


@st.composite
def packages(draw: st.DrawFn) -> dict[str, str]:
    """The sources of a package whose modules import one another, in circles too, and wake in between."""
    files = {}
    for name in _MODULES:
        lines = ["import torch"]
        for _ in range(draw(st.integers(0, 4))):
            target = draw(st.sampled_from([*_MODULES, ""]))
            lines.append(f"import {target}" if target else "torch.cuda.get_device_name()")
        path = name.replace(".", "/") + ("/__init__.py" if name in ("pkg", "pkg.sub") else ".py")
        files[path] = "\n".join([*lines, ""])
    return files


def imported(entry: str, folder: Path) -> list[tuple[str, int]]:
    """The lines behind which importing the entry calls a sink, as CPython comes to them."""
    with standing_in() as recorder:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        try:
            importlib.import_module(entry)
        finally:
            sys.path.remove(str(folder))
            for name in [name for name in sys.modules if name.partition(".")[0] == "pkg"]:
                del sys.modules[name]
    calls = [call.sites[0] for call in recorder.calls]
    return list(dict.fromkeys((Path(file).relative_to(folder).as_posix(), line) for file, line in calls))


@settings(max_examples=examples(30), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(packages(), st.sampled_from(_MODULES))
def test_an_entry_wakes_in_the_order_of_cpython(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], entry: str
) -> None:
    folder = tmp_path_factory.mktemp("ordered")
    write(files, folder)
    request = Request((folder,), PROFILES["cuda"], _knowledge(), entries=(entry,), jobs=1)
    effects = [effect for effect in analyse(request).effects if effect.imported is None]
    told = [(effect.path, effect.line) for effect in sorted(effects, key=lambda effect: effect.turn)]
    assert told == imported(entry, folder)
