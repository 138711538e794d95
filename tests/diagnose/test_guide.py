"""The guide to CUDA in child processes: its files are written, its commands run, its outputs compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the virtual device needs Linux"),
]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "cuda-in-child-processes.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTING = re.compile(r"[A-Z_]+=")
FILES = {name: text for name, _, text in BLOCK.findall(PAGE) if name}

Step = tuple[str, str]


def sections() -> dict[str, list[Step]]:
    """The commands and the outputs of each section."""
    found = {}
    for section in PAGE.split("\n## ")[1:]:
        steps = [(kind, text) for name, kind, text in BLOCK.findall(section) if not name]
        if steps:
            found[section.partition("\n")[0]] = steps
    return found


def ran(line: str, folder: Path, cache: Path) -> str:
    """Return the output of a shell's line, with the folder's files named as from there."""
    words = shlex.split(line)
    settings = dict(word.split("=", 1) for word in words if SETTING.match(word))
    words = [word for word in words if not SETTING.match(word)]
    assert words[0] == "coldfork", line
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    environment |= {
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_STATE_HOME": str(folder / "state"),
        "COLDFORK_CACHE_DIR": str(cache),
    }
    done = subprocess.run(
        [sys.executable, "-m", *(sys.executable if word == "python" else word for word in words)],
        cwd=folder,
        env=environment | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stdout
    return done.stdout.replace(f"{folder}/", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, and the log that its reader has."""
    project = tmp_path_factory.mktemp("app").resolve()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    return project


def test_the_page_is_read() -> None:
    assert {"attention.py", "serve.py", "serve_spawned.py", "verify.py"} <= set(FILES)
    assert sum(kind == "sh" for steps in sections().values() for kind, _ in steps) >= 7
    assert sum(kind == "python" for steps in sections().values() for kind, _ in steps) == 0


@pytest.mark.parametrize("title", sections())
def test_the_page_says_what_happens(title: str, folder: Path, cache: Path) -> None:
    printed = ""
    for kind, text in sections()[title]:
        if kind == "sh":
            if "worker.log" in text:
                log, _, _ = printed.partition("coldfork: what it printed")
                (folder / "worker.log").write_text(log, encoding="utf-8")
            printed = "".join(ran(line, folder, cache) for line in text.splitlines())
        else:
            for shown in text.split("...\n"):
                assert shown.rstrip() in printed, printed
