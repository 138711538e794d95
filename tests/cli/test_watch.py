"""`coldfork check --watch`: a round for each change, an answer that a fresh check gives too, and the end."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT as a terminal does")

Run = Callable[..., Result]
COLD = "import torch\n"
WARM = "import torch\nX = torch.zeros(3, device='cuda')\n"


class Watching:
    """A check that watches, with its output read as it comes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def document(self) -> list[str]:
        """The next round's document: the lines of its causes."""
        lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.append(line)
            if line == "}\n":
                break
        found: dict[str, Any] = json.loads("".join(lines))
        return [f"{cause['file']}:{cause['line']}" for cause in found["causes"]]

    def said(self) -> str:
        """The next line on standard error, without the time of day."""
        assert self.process.stderr is not None
        return re.sub(r"\d\d:\d\d:\d\d", "TIME", self.process.stderr.readline())

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait()


@pytest.fixture
def watching(project: Path) -> Iterator[Watching]:
    """A check of a project without findings, after its first round."""
    (project / "packages" / "lib").mkdir(parents=True)
    (project / "packages" / "lib" / "__init__.py").write_text("", encoding="utf-8")
    settings = '[tool.coldfork]\nsite-packages = ["packages"]\n'
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")
    (project / "src/engine/core.py").write_text(f"{COLD}import lib\n", encoding="utf-8")
    command = [sys.executable, "-m", "coldfork", "check", "src", "--watch", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            watched = Watching(process)
            assert watched.document() == []
            assert re.fullmatch(r"coldfork: watching \d+ files; Ctrl-C ends it\n", watched.said())
            yield watched
        finally:
            process.kill()


def test_each_change_has_its_round(watching: Watching, project: Path) -> None:
    """A file changed, one added, one gone, a package's, the configuration broken and mended, and the end."""
    core, more = Path("src/engine/core.py"), Path("src/engine/more.py")
    core.write_text(WARM, encoding="utf-8")
    assert watching.said() == "coldfork: TIME src/engine/core.py changed; checking again\n"
    assert watching.document() == ["src/engine/core.py:2"]
    more.write_text(f"{WARM}import lib\n", encoding="utf-8")
    assert watching.said() == "coldfork: TIME src/engine/more.py was added; checking again\n"
    assert watching.document() == ["src/engine/core.py:2", "src/engine/more.py:2"]
    core.rename("elsewhere")
    assert watching.said() == "coldfork: TIME src/engine/core.py is gone; checking again\n"
    assert watching.document() == ["src/engine/more.py:2"]
    more.write_text("import lib\n", encoding="utf-8")
    assert "more.py changed" in watching.said()
    assert watching.document() == []
    (project / "packages/lib/__init__.py").write_text(WARM, encoding="utf-8")
    assert watching.said() == "coldfork: TIME packages/lib/__init__.py changed; checking again\n"
    assert watching.document() == ["src/engine/more.py:1"]
    settings = project / "pyproject.toml"
    before = settings.read_text(encoding="utf-8")
    settings.write_text("[tool.coldfork]\nsite-pakages = []\n", encoding="utf-8")
    assert watching.said() == "coldfork: TIME pyproject.toml changed; checking again\n"
    assert "site-packages" in watching.said()
    settings.write_text(before, encoding="utf-8")
    assert watching.said() == "coldfork: TIME pyproject.toml changed; checking again\n"
    assert watching.document() == ["src/engine/more.py:1"]
    assert watching.end() == 1


def test_its_end_is_that_of_the_last_check(watching: Watching) -> None:
    assert watching.end() == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-",), "standard input"),
        (("--fix",), "--fix"),
        (("--diff",), "--diff"),
        (("--confirm",), "--confirm"),
        (("nowhere",), "no such file"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    run: Run, project: Path, configure: Callable[[str], Path], words: tuple[str, ...], why: str
) -> None:
    # Settings are read with the first check, which is not to read torch.
    (project / "nothing").mkdir()
    configure('site-packages = ["nothing"]\n')
    result = run("check", "--watch", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr
