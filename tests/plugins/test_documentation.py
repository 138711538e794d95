"""The page on the pytest plugin: its files are written, its commands are run, its outputs are compared."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.plugins.conftest import Run

pytestmark = pytest.mark.once

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "pytest.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Step = tuple[str, str]


def sections() -> dict[str, list[Step]]:
    """Return the page's steps by section: a file to write, a command to run, an output to see."""
    found: dict[str, list[Step]] = {}
    for section in PAGE.split("\n## ")[1:]:
        title = section.partition("\n")[0]
        found[title] = [(name or kind, text) for name, kind, text in BLOCK.findall(section)]
    return found


FILES = {name: text for steps in sections().values() for name, text in steps if "." in name}


def test_the_page_is_read() -> None:
    assert {"engine/attention.py", "test_cold.py", "pytest.ini"} <= set(FILES)
    assert sum(name == "sh" for steps in sections().values() for name, _ in steps) >= 6


@pytest.mark.parametrize("title", [title for title, steps in sections().items() if steps])
def test_the_page_says_what_happens(title: str, suite: Run) -> None:
    files = {name: text for name, text in FILES.items() if name.startswith("engine/")}
    printed, ran = "", 0
    for name, text in sections()[title]:
        if "." in name:
            files[name] = text
        elif name == "sh":
            for line in text.splitlines():
                command, *arguments = shlex.split(line)
                assert command == "pytest", line
                ended = suite({"engine/__init__.py": "", **files}, *arguments)
                printed, ran = ended.printed, ran + 1
                assert ended.status in (0, 1, 2, 5), ended.printed
        elif name == "text":
            # The lines of multiprocessing are others on each Python.
            places = re.compile(r"(multiprocessing/\w+\.py):\d+")
            seen, shown = places.sub(r"\1", printed), places.sub(r"\1", text)
            if sys.version_info < (3, 12) or "BaseProcess.start" not in shown:
                assert shown in seen
    assert ran or title == "What it cannot tell"
