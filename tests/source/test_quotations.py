"""Conditions and lines as findings quote them: in the source's words, and no more than a reader takes in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import findings_of, lay_out


def asked(*names: str) -> str:
    """Tests inside one another, and what is found below them."""
    tests = [f"{'    ' * depth}if os.path.exists({name!r}):\n" for depth, name in enumerate(names)]
    return "".join(tests) + "    " * len(names) + "torch.cuda.init()\n"


CHOSEN = "def chosen():\n    if os.path.exists('a'):\n        return torch.cuda.init\n    return int\n"

#: What runs behind which test, and how the condition reads.
CONDITIONS = {
    "none": ("torch.cuda.init()\n", None),
    "a test": (asked("a"), "os.path.exists('a')"),
    "its other side": (
        "if os.path.exists('a'):\n    pass\nelse:\n    torch.cuda.init()\n",
        "not (os.path.exists('a'))",
    ),
    "letters of several bytes": (
        "ü = 1\nif os.path.exists('é'): torch.cuda.init()\n",
        "os.path.exists('é')",
    ),
    "a part behind letters of several bytes": (
        "x = 'éé' if os.path.exists('éé') else torch.cuda.init()\n",
        "not (os.path.exists('éé'))",
    ),
    "a test on several lines": (
        "if (\n    os.path\n    .exists(\n        'a'\n    )\n):\n    torch.cuda.init()\n",
        "os.path .exists( 'a' )",
    ),
    "four tests": (
        asked("a", "b", "c", "d"),
        "os.path.exists('a') and os.path.exists('b') and os.path.exists('c') and os.path.exists('d')",
    ),
    "five tests": (
        asked("a", "b", "c", "d", "e"),
        "os.path.exists('a') and os.path.exists('b') and os.path.exists('c') and 2 more conditions hold",
    ),
    "six tests": (
        asked("a", "b", "c", "d", "e", "f"),
        "os.path.exists('a') and os.path.exists('b') and os.path.exists('c') and 3 more conditions hold",
    ),
    "a variable of the environment": (
        "if os.environ.get('A'):\n    torch.cuda.init()\n",
        "the environment variable A is set",
    ),
    "a value that is taken": (
        f"{CHOSEN}chosen()()\n",
        "the value is torch.cuda.init at line 7 of m",
    ),
    "a value that is taken below a test": (
        f"{CHOSEN}if os.path.exists('b'):\n    chosen()()\n",
        "os.path.exists('b')",
    ),
}


@pytest.mark.parametrize(
    ("body", "wanted"), CONDITIONS.values(), ids=[name.replace(" ", "-") for name in CONDITIONS]
)
def test_a_condition_reads_as_the_source_does(body: str, wanted: str | None, tmp_path: Path) -> None:
    lay_out(f"import os\nimport torch\n{body}", tmp_path)
    (finding,) = findings_of(tmp_path)
    assert finding.condition == wanted


def test_steps_quote_their_lines_without_the_indent(tmp_path: Path) -> None:
    lay_out(
        """
### pkg/__init__.py
### pkg/ask.py
import torch

def ask():
        return torch.cuda.init()
### pkg/user.py
from pkg.ask import ask
if True:
    LEVEL = ask()
""",
        tmp_path,
    )
    (finding,) = findings_of(tmp_path)
    assert [(step.path, step.line, step.text) for step in finding.chain.steps] == [
        ("pkg/user.py", 3, "LEVEL = ask()"),
        ("pkg/ask.py", 4, "return torch.cuda.init()"),
        (None, None, ""),
    ]


def test_a_package_is_quoted_by_its_own_file(tmp_path: Path) -> None:
    lay_out("### src/pkg/__init__.py\nimport torch\ntorch.cuda.init()\n", tmp_path)
    (finding,) = findings_of(tmp_path)
    assert (finding.path, finding.text) == ("pkg/__init__.py", "torch.cuda.init()")


def test_a_plain_file_is_quoted_by_the_path_that_was_given(tmp_path: Path) -> None:
    lay_out("### tools/ask.py\nimport torch\ntorch.cuda.init()\n", tmp_path)
    (finding,) = findings_of(tmp_path)
    assert (finding.path, finding.text) == ("tools/ask.py", "torch.cuda.init()")
