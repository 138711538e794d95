"""Conditions are true: under every combination of outcomes, a line wakes only where the report says it may.

What is reported certain happens in every run in which what was presumed holds; a line about which nothing is
said wakes in none; and where a line wakes, the printed condition of one of its findings holds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings

from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES, WAKING, Effect, Verdict
from coldfork.source.analysis import Request, analyse
from tests.amounts import examples
from tests.source.conditional_programs import PRELUDE, Run, modules, runs

EXAMPLES = examples(35)
_KNOWLEDGE = known_on(PROFILES["cuda"], {})
_SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)

#: Two ways to one line, of which the second is open where a variable is unset.
TWO_WAYS = """
def run1():
    if probe.p0():
        torch.cuda.init()
    elif importlib.util.find_spec("flash_attn") is None and os.environ.get("V0"):
        pass
    else:
        (importlib.util.find_spec("flash_attn") is None) and torch.cuda.init()

run1()
"""
#: The first line is as certain as the second, which wakes deeper, and where a variable is unset.
SIBLINGS = """
if importlib.util.find_spec("flash_attn") is None:
    torch.cuda.is_available()
elif os.environ.get("V2", "") != "x":
    torch.cuda.init()
"""
#: The operand that is looked at off the nominal path alone consists of several.
OPERANDS = """
if os.environ.get("V2", "") != "x" or (probe.p0() and probe.p1()):
    pass
else:
    torch.cuda.init()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every generated module is written."""
    return tmp_path_factory.mktemp("generated") / "generated.py"


def effects_of(path: Path) -> dict[int, list[Effect]]:
    """The effects that are reported of each line."""
    request = Request((path,), PROFILES["cuda"], _KNOWLEDGE, target_version=sys.version_info[:2], jobs=1)
    found: dict[int, list[Effect]] = {}
    for effect in analyse(request).effects:
        if effect.kind in WAKING:
            found.setdefault(effect.line, []).append(effect)
    return found


def complaints(source: str, path: Path, exactly: bool) -> list[str]:
    """How the report and the runs of a module disagree."""
    path.write_text(source, encoding="utf-8")
    told = effects_of(path)
    found: list[str] = []
    for run in runs(source, str(path)):
        lines = sorted(run.woken - told.keys())
        found += [f"line {line} wakes and nothing is said, in {run.world}" for line in lines]
        for line, effects in told.items():
            found += _about_line(line, effects, run, exactly)
    return found


def _about_line(line: int, effects: list[Effect], run: Run, exactly: bool) -> list[str]:
    certain = [effect for effect in effects if effect.verdict is Verdict.CERTAIN]
    said = ", ".join(f"{e.verdict} {e.condition or ''} {e.presumed}" for e in effects)
    if line not in run.woken:
        # Sibling ways that all wake are certain together: then another line wakes.
        if not run.woken and any(run.presumes(effect.presumed) for effect in certain):
            return [f"line {line} does not wake, and is called {said}, in {run.world}"]
        if exactly and any(
            _says_all(e) and run.holds(e.condition or "") and run.presumes(e.presumed) for e in effects
        ):
            return [f"line {line} does not wake, and what is said holds: {said}, in {run.world}"]
    elif not certain and not any(run.holds(effect.condition or "") for effect in effects):
        return [f"line {line} wakes, and what is said is false: {said}, in {run.world}"]
    return []


def _says_all(effect: Effect) -> bool:
    """Whether the whole condition is printed, and not the first part of a long one."""
    words = effect.condition or "more conditions"
    return "more condition" not in words and "nothing before it" not in words


@_SETTINGS
@given(modules())
def test_what_is_said_is_true_under_every_outcome(place: Path, source: str) -> None:
    found = complaints(source, place, exactly=False)
    assert not found, "\n".join([*found[:3], _numbered(source)])


@_SETTINGS
@given(modules(values=False))
@example(source=PRELUDE + TWO_WAYS)
@example(source=PRELUDE + SIBLINGS)
@example(source=PRELUDE + OPERANDS)
def test_conditions_without_variables_are_exact(place: Path, source: str) -> None:
    found = complaints(source, place, exactly=True)
    assert not found, "\n".join([*found[:3], _numbered(source)])


def _numbered(source: str) -> str:
    first = PRELUDE.count("\n")
    return "\n".join(f"{n:4} {line}" for n, line in enumerate(source.splitlines(), 1) if n > first)
