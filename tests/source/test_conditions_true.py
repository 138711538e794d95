"""Conditions are true: under every combination of outcomes, a line wakes only where the report says it may.

What is reported certain happens in every run in which what was presumed holds; a line about which nothing is
said wakes in none; and where a line wakes, the printed condition of one of its findings holds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from coldfork.knowledge import catalogue
from coldfork.model.effects import WAKING, Effect, Verdict
from coldfork.model.profiles import PROFILES
from coldfork.source.analysis import Request, analyse
from tests.source.conditional_programs import PRELUDE, Run, modules, runs

EXAMPLES = int(os.environ.get("COLDFORK_TEST_EXAMPLES", "200"))
_KNOWLEDGE = catalogue.load(PROFILES["cuda"], {})
_SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every generated module is written."""
    return tmp_path_factory.mktemp("generated") / "generated.py"


def effects_of(path: Path) -> dict[int, list[Effect]]:
    """What is reported of each line."""
    request = Request((path,), PROFILES["cuda"], _KNOWLEDGE, target_version=sys.version_info[:2], jobs=1)
    found: dict[int, list[Effect]] = {}
    for effect in analyse(request).effects:
        if effect.kind in WAKING:
            found.setdefault(effect.line, []).append(effect)
    return found


def complaints(source: str, path: Path) -> list[str]:
    """How the report and the runs of a module disagree."""
    path.write_text(source, encoding="utf-8")
    told = effects_of(path)
    found: list[str] = []
    for run in runs(source, str(path)):
        lines = sorted(run.woken - told.keys())
        found += [f"line {line} wakes and nothing is said, in {run.world}" for line in lines]
        for line, effects in told.items():
            found += _about_line(line, effects, run)
    return found


def _about_line(line: int, effects: list[Effect], run: Run) -> list[str]:
    certain = [effect for effect in effects if effect.verdict is Verdict.CERTAIN]
    said = ", ".join(f"{e.verdict} {e.condition or ''} {e.presumed}" for e in effects)
    if line not in run.woken:
        # Sibling ways that all wake are certain together: then another line wakes.
        if not run.woken and any(run.presumes(effect.presumed) for effect in certain):
            return [f"line {line} does not wake, and is called {said}, in {run.world}"]
    elif not certain and not any(run.holds(effect.condition or "") for effect in effects):
        return [f"line {line} wakes, and what is said is false: {said}, in {run.world}"]
    return []


@_SETTINGS
@given(modules())
def test_what_is_said_is_true_under_every_outcome(place: Path, source: str) -> None:
    found = complaints(source, place)
    assert not found, "\n".join([*found[:3], _numbered(source)])


CASES = {
    "another wake under another condition": (
        """
import platform
import torch
def init():
    if platform.node() == "x":
        torch.cuda.is_available()
    if platform.machine() == "y":
        torch.cuda.get_device_capability(0)
init()
""",
        ['platform.machine() == "y"', 'platform.node() == "x"'],
    ),
    "one wake of two ways": (
        """
import platform
import torch
def init():
    if platform.node() == "x":
        torch.cuda.init()
    if platform.machine() == "y":
        torch.cuda.init()
init()
""",
        ['platform.node() == "x" or platform.machine() == "y"'],
    ),
    "a deeper wake that needs more": (
        """
import platform
import torch
if platform.node() == "x":
    torch.cuda.is_available(); platform.machine() == "y" and torch.cuda.init()
""",
        ['platform.node() == "x"'],
    ),
    "an answer that cannot change": (
        """
import platform
import torch
def stable():
    return platform.node() == "x"
def path():
    if stable():
        return torch.cuda.is_available()
if not stable():
    path()
""",
        [],
    ),
    "an answer that may change": (
        """
import random
import torch
def lucky():
    return random.random() > 0.5
def path():
    if lucky():
        return torch.cuda.is_available()
if not lucky():
    path()
""",
        ["not lucky() and lucky() and the same test comes out both ways"],
    ),
    "two variables": (
        """
import os
import torch
IDS = os.getenv("PRELOAD_IDS")
USE = os.getenv("USE_IM", "True") == "True"
if IDS and not USE:
    torch.cuda.init()
""",
        ["the environment variable PRELOAD_IDS is set and the environment variable USE_IM is set"],
    ),
    "one of two variables": (
        """
import os
import torch
if os.getenv("A") or os.getenv("B"):
    torch.cuda.init()
""",
        ["the environment variable B is set or the environment variable A is set"],
    ),
    "one value from two variables": (
        """
import os
import torch
def init():
    mode = "a"
    if os.getenv("A"):
        mode = "b"
    if os.getenv("B"):
        mode = "b"
    if mode == "b":
        torch.cuda.init()
init()
""",
        ["the environment variable A is set or the environment variable B is set"],
    ),
    "a return in one of two branches": (
        """
import probe
import torch
def init():
    if probe.a():
        if probe.b():
            return
    torch.cuda.init()
init()
""",
        ["not (probe.b()) or not (probe.a())"],
    ),
    "an import that may be missing": (
        """
import torch
try:
    import optional_thing.sub
    X = torch.zeros(1, device="cuda")
except ImportError:
    X = None
""",
        ["optional_thing is installed"],
    ),
    "an import that may be missing, in a function": (
        """
import torch
def load():
    import optional_thing.sub
    return torch.zeros(1, device="cuda")
try:
    X = load()
except ImportError:
    X = None
""",
        ["optional_thing.sub imports"],
    ),
    "a version that may be missing": (
        """
from importlib.metadata import PackageNotFoundError, version
import torch
try:
    version("optional-thing")
    torch.cuda.init()
except PackageNotFoundError:
    pass
""",
        ["optional_thing is installed"],
    ),
    "a library of the catalogue that nothing requires": (
        """
import torch
try:
    import triton
    torch.cuda.init()
except ImportError:
    pass
""",
        ["triton is installed"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed(name: str, tmp_path: Path) -> None:
    text, wanted = CASES[name]
    path = tmp_path / "m.py"
    path.write_text(text, encoding="utf-8")
    effects = [one for every in effects_of(path).values() for one in every]
    assert sorted(str(one.condition) for one in effects) == sorted(wanted)
    doubtful = any("both ways" in one for one in wanted)
    verdict = Verdict.POSSIBLE if doubtful else Verdict.CONDITIONAL
    assert {one.verdict for one in effects} <= {verdict}


def _numbered(source: str) -> str:
    first = PRELUDE.count("\n")
    return "\n".join(f"{n:4} {line}" for n, line in enumerate(source.splitlines(), 1) if n > first)
