"""Sources that are hardly text, or no Python yet: faults are told in place, and no other file is lost."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from coldfork.source.syntax.lowering.blocks import lower_pattern
from coldfork.source.syntax.lowering.context import Context
from tests.source.expectations import observe
from tests.source.test_bad_input import HERE, package


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b"x = (1,\n\n", 1, 4),
        (b"x = 1\nif x:\n    y = 1 +\n", 3, 11),
        (b")\n", 1, 0),
        (b"x = 1\n\0\n", 2, 0),
        (b"# coding: nonsense-8\nx = 1\n", 1, 0),
    ],
)
def test_the_place_of_what_is_wrong_is_told(content: bytes, line: int, column: int, tmp_path: Path) -> None:
    package(tmp_path, bad=content)
    (problem,) = observe([tmp_path]).unreadable
    assert (problem.path, problem.line, problem.column) == ("pkg/bad.py", line, column)


def test_a_name_that_is_no_text_inside_a_function_breaks_nothing(tmp_path: Path) -> None:
    content = b"import torch\ndef f():\n    global x\xff\nLEVEL = torch.cuda.get_device_capability()\n"
    package(tmp_path, odd=content)
    observation = observe([tmp_path])
    assert [(effect.path, effect.line) for effect in observation.effects] == [HERE, ("pkg/odd.py", 4)]


def test_a_form_feed_sends_a_line_back_to_the_margin(tmp_path: Path) -> None:
    content = "import torch\ndef f():\n    pass\n    \fLEVEL = torch.cuda.get_device_capability()\n"
    package(tmp_path, odd=content)
    observation = observe([tmp_path])
    assert [(effect.path, effect.line) for effect in observation.effects] == [HERE, ("pkg/odd.py", 4)]


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\r"])
def test_the_last_line_is_quoted_whatever_ends_it(ending: str, tmp_path: Path) -> None:
    package(tmp_path, odd=f"import torch\nLEVEL = torch.cuda.get_device_name(){ending}".encode())
    (effect,) = [one for one in observe([tmp_path]).effects if one.path == "pkg/odd.py"]
    assert effect.text == "LEVEL = torch.cuda.get_device_name()"


def test_a_pattern_that_no_python_has_yet_is_refused() -> None:
    class Newer(ast.pattern):
        pass

    with pytest.raises(TypeError):
        lower_pattern(Context(0), Newer())
