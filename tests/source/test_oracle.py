"""CPython is the oracle: what it executes when it imports a generated module is what has to be believed.

Every line of the module, or of a class body in it, behind which CPython called a recording sink must be
reported as certain or conditional; every line reported as certain must have called one. What the modules are
made of:

| construct | where it occurs |
| --- | --- |
| functions, methods, classes, lambdas, `partial`, closures, `nonlocal`, recursion | everywhere |
| functions in tuples, lists, dictionaries, attributes, dataclasses; `getattr` | where something is called |
| `*args`, `**words`, keyword-only arguments; `or`, `if`/`else` of functions | where something is called |
| default arguments | functions, methods |
| decorators: plain, factories, wrappers (memoised: see test_constructs_values) | functions, classes |
| class bodies, nested classes and functions | module, class and function bodies |
| `__init__`, `__call__`, `__getattr__`, properties, setters, descriptors, operators | values |
| `__init_subclass__`, `__set_name__`, inherited constructors, `super()`, metaclasses, enums | classes |
| list, dictionary and generator comprehensions, `map`, `reduce`, `sorted`, `any`, `next`, `sum` | values |
| generators and `yield from`, consumed or not; `__iter__` | functions, loops |
| `with` on classes and on `contextmanager` functions | blocks |
| `if`/`elif`/`else`, `and`, `or`, `match` on constants, flags and parameters | blocks, values |
| `if`, `and`, `or`, `while` on what only running tells | blocks, values |
| `for` over constants and over functions, `while`, `break`, `continue`, `else` | blocks |
| `try`/`except`/`else`/`finally`, `raise` in it, early `return` | blocks, functions |
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from coldfork.knowledge.known import Known
from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES, Verdict
from coldfork.source.analysis import Request, analyse
from tests.amounts import LONG, examples
from tests.source.programs import PRELUDE, programs
from tests.source.recorder import waking_lines

EXAMPLES = examples(40)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every generated module is written."""
    return tmp_path_factory.mktemp("generated") / "generated.py"


@functools.cache
def _knowledge() -> Known:
    return known_on(PROFILES["cuda"], {})


def believed(path: Path) -> dict[int, Verdict]:
    """The lines that the analyser reports, each with its verdict."""
    request = Request((path,), PROFILES["cuda"], _knowledge(), target_version=sys.version_info[:2], jobs=1)
    return {effect.line: effect.verdict for effect in analyse(request).effects}


def compare(source: str, path: Path) -> None:
    """Hold what is believed against what happened."""
    path.write_text(source, encoding="utf-8")
    happened = set(waking_lines(source, path))
    told = believed(path)
    found = {line for line, verdict in told.items() if verdict is not Verdict.POSSIBLE}
    assert happened <= found, f"not found: {sorted(happened - found)}\n{_numbered(source)}"
    certain = {line for line, verdict in told.items() if verdict is Verdict.CERTAIN}
    assert certain <= happened, (
        f"called certain, and did not happen: {sorted(certain - happened)}\n{_numbered(source)}"
    )


def _numbered(source: str) -> str:
    """The generated part with its line numbers."""
    first = PRELUDE.count("\n")
    lines = source.splitlines()
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(lines, 1) if number > first)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate] if not LONG else [Phase.generate, Phase.shrink],  # shrinking takes minutes
)
@given(programs())
def test_what_the_import_executes_is_what_is_believed(place: Path, source: str) -> None:
    compare(source, place)


def test_the_programs_run_and_wake() -> None:
    """The oracle itself: the prelude wakes nothing, a class body and a call are told by their lines."""
    path = Path("generated.py")
    first = PRELUDE.count("\n")
    assert set(waking_lines(PRELUDE, path)) == set()
    source = (
        PRELUDE
        + "class A:\n    x = torch.cuda.get_device_name(1)\ncall(lambda: torch.cuda.get_device_name(2))\n"
    )
    assert set(waking_lines(source, path)) == {first + 2, first + 3}
