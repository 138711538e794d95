"""Whether an environment variable is set, asked in many ways: one question, with one answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import findings_of, write

WAKE = "torch.cuda.get_device_name()"
PRELUDE = """import os
import torch

NAME = "COLDFORK_NOWHERE"

def there(name):
    return name in os.environ

def missing(name):
    return name not in os.environ

"""
SET = (
    '"COLDFORK_NOWHERE" in os.environ',
    "NAME in os.environ",
    "NAME in os.environ.keys()",
    "there(NAME)",
    "not missing(NAME)",
    "bool(there(NAME))",
    "os.environ.get(NAME) is not None",
    "os.getenv(NAME) is not None",
    "bool(os.getenv(NAME))",
    "any(name in os.environ for name in (NAME,))",
    "all([NAME in os.environ])",
    "not (NAME not in os.environ)",
    "(NAME in os.environ) is True",
    "(1 if NAME in os.environ else 0)",
)
WAYS = (
    "if {test}:\n    {wake}\n",
    "if not ({test}):\n    pass\nelse:\n    {wake}\n",
    "A = {wake} if {test} else None\n",
    "A = None if not ({test}) else {wake}\n",
    "A = ({test}) and {wake}\n",
    "A = not ({test}) or {wake}\n",
    "def f():\n    if not ({test}):\n        return\n    {wake}\nf()\n",
    "SEEN = {test}\nif SEEN:\n    {wake}\n",
)
TRIED = (
    "try:\n    A = os.environ[NAME]\n    {wake}\nexcept KeyError:\n    pass\n",
    "try:\n    A = os.environ[NAME]\nexcept KeyError:\n    pass\nelse:\n    {wake}\n",
    "def f():\n    try:\n        os.environ[NAME]\n    except KeyError:\n        return\n    {wake}\nf()\n",
    'if os.environ.setdefault(NAME, "0") == "1":\n    {wake}\n',
)
UNSET = tuple(test for test in SET if "is True" not in test)


def verdicts(folder: Path, bodies: list[str]) -> list[tuple[str, str | None] | None]:
    """The verdict and the condition that are told of each body."""
    write({f"m{number}.py": PRELUDE + body for number, body in enumerate(bodies)}, folder / "tree")
    found = {finding.module: (finding.verdict.value, finding.condition) for finding in findings_of(folder)}
    return [found.get(f"m{number}") for number in range(len(bodies))]


def test_what_takes_the_variable_is_conditional(tmp_path: Path) -> None:
    bodies = [way.format(test=test, wake=WAKE) for way in WAYS for test in SET]
    bodies += [way.format(wake=WAKE) for way in TRIED]
    said = dict(zip(bodies, verdicts(tmp_path, bodies), strict=True))
    expected = ("conditional", "the environment variable COLDFORK_NOWHERE is set")
    assert {body: answer for body, answer in said.items() if answer != expected} == {}


def test_what_runs_without_it_is_certain(tmp_path: Path) -> None:
    bodies = [f"if not ({test}):\n    {WAKE}\n" for test in UNSET]
    bodies += [f"if {test}:\n    pass\nelse:\n    {WAKE}\n" for test in UNSET]
    said = dict(zip(bodies, verdicts(tmp_path, bodies), strict=True))
    assert {body: answer for body, answer in said.items() if answer != ("certain", None)} == {}


@pytest.mark.parametrize("setting", ['os.environ[NAME] = "1"', 'os.environ.setdefault(NAME, "1")'])
def test_what_the_code_sets_itself_is_set(setting: str, tmp_path: Path) -> None:
    bodies = [f"{setting}\nif {test} os.environ:\n    {WAKE}\n" for test in ("NAME in", "NAME not in")]
    assert verdicts(tmp_path, bodies) == [("certain", None), None]
