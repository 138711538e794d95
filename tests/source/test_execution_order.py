"""The order in which lines are said to wake a device, held against the order in which CPython runs them."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from coldfork.knowledge import catalogue
from coldfork.knowledge.catalogue import Catalogue
from coldfork.model.effects import Verdict
from coldfork.model.profiles import PROFILES
from coldfork.source.analysis import Request, analyse
from tests.source.expectations import observe, write
from tests.source.programs import programs
from tests.source.recorder import Recorder

_TORCH = ("torch", "torch.cuda", "torch.version")
_WAKE = "import torch\n\n\ndef wake(value=None):\n    torch.cuda.get_device_name()\n    return value\n\n\n"
_STATEMENTS = {
    "decorators": "def deco(value):\n    return lambda function: function\n\n@deco(\n    wake())\n@deco(\n    wake())\ndef f(x=wake()):\n    pass\n",
    "decorators are applied from below": "def deco(function):\n    wake()\n    return function\n\n@deco\n@deco\ndef f():\n    pass\n",
    "a conditional expression": "x = (\n    wake(1)\n    if wake(True)\n    else wake(2)\n)\n",
    "a comprehension": "x = [\n    wake(y)\n    for y in wake([1])\n]\n",
    "a call behind its arguments": "x = wake(\n    wake(\n        wake()\n    )\n)\n",
    "a target behind the value": "x = {}\nx[\n    wake(1)\n] = (\n    wake()\n)\n",
    "an operator": "x = (\n    wake(1)\n    + wake(2)\n    * wake(3)\n)\n",
    "a class": "class C(\n    wake(object),\n    metaclass=wake(type),\n):\n    a = wake()\n    def f(self, x=wake()):\n        pass\n",
    "a dictionary": "x = {\n    wake(1):\n    wake(2),\n    wake(3):\n    wake(4),\n}\n",
    "a `with`": "import contextlib\nwith (\n    contextlib.nullcontext(wake()) as a,\n    contextlib.nullcontext(wake()) as b,\n):\n    wake()\n",
    "a `try`": "try:\n    wake()\nexcept ValueError:\n    pass\nelse:\n    wake()\nfinally:\n    wake()\n",
    "a `for`": "for x in wake([1, 2]):\n    wake()\nelse:\n    wake()\n",
    "keyword defaults": "def f(\n    a=wake(),\n    *,\n    b=wake(),\n    c=wake(),\n):\n    pass\n",
    "an f-string": "x = f'{wake(1)}' + (\n    f'{wake(2)}'\n)\n",
    "an assignment expression": "x = [\n    (y := wake(1)),\n    wake(y),\n]\n",
    "a comparison": "x = (\n    wake(1)\n    < wake(2)\n    < wake(3)\n)\n",
    "an augmented assignment": "x = [1]\nx[\n    wake(0)\n] += (\n    wake(1)\n)\n",
    "an `if`": "if (\n    wake(True)\n    and wake(True)\n):\n    wake()\n",
}  # fmt: skip


@functools.cache
def _knowledge() -> Catalogue:
    return catalogue.load(PROFILES["cuda"], {})


def happened(source: str, path: Path) -> list[int]:
    """The lines behind which CPython calls a sink, as it comes to them."""
    recorder = Recorder()
    kept = {name: sys.modules.get(name) for name in _TORCH}
    recorder.install()
    module = ModuleType("generated")
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except ValueError:
        pass  # a raise that nothing catches ends the import
    finally:
        for name, before in kept.items():
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
    return list(dict.fromkeys(line for call in recorder.calls for file, line in call.sites[:1] if file == str(path)))


def compare(source: str, path: Path) -> None:
    """Hold the turns of what is certain against the order in which it happened."""
    path.write_text(source, encoding="utf-8")
    request = Request((path,), PROFILES["cuda"], _knowledge(), target_version=sys.version_info[:2], jobs=1)
    effects = [effect for effect in analyse(request).effects if effect.verdict is Verdict.CERTAIN]
    told = [effect.line for effect in sorted(effects, key=lambda effect: effect.turn)]
    assert told == [line for line in happened(source, path) if line in told]


@pytest.mark.parametrize("statement", _STATEMENTS.values(), ids=_STATEMENTS)
def test_a_statement_of_many_lines_wakes_in_the_order_of_cpython(statement: str, tmp_path: Path) -> None:
    compare(_WAKE + statement, tmp_path / "program.py")


@settings(
    max_examples=60,
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
