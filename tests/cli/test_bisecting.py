"""`git bisect run coldfork probe`, with a real git: the commit that woke the device is found."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGE = (ROOT / "docs" / "how-to" / "bisecting.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("git") is None, reason="no git"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler to build the virtual driver"
    ),
]

# All versions are equally long, so that only the second of the change tells compiled files apart.
COLD = "import ctypes\nX = {number} # it leaves the device cold.........\n"
WOKEN = "import ctypes\nctypes.CDLL('libcuda.so.1').cuInit({number} - {number})\n"
BROKEN = "import ctypes\nimport nothing_{number}_of_this_name_is_here_____\n"


class Repository:
    """A git repository under a test."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "COLDFORK_"))
        } | {
            "PYTHONPATH": str(SOURCE),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "COLDFORK_CACHE_DIR": str(cache),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "HOME": str(folder),
        }
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, told: str = "") -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=self._environment,
            input=told,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def commit(self, texts: Sequence[str]) -> list[str]:
        """Commit a version after the other, all by one process; the names of the commits."""
        marks = self.folder / ".git" / "marks"
        stream = "".join(self._commands(number, text) for number, text in enumerate(texts, 1))
        self.git("fast-import", "--quiet", f"--export-marks={marks}", told=stream)
        self.git("reset", "--quiet", "--hard")
        named = dict(line.removeprefix(":").split() for line in marks.read_text().splitlines())
        return [named[str(number)] for number in range(1, len(texts) + 1)]

    @staticmethod
    def _commands(number: int, text: str) -> str:
        """What `git fast-import` reads of a commit."""
        said = f"change {number}"
        return (
            f"commit refs/heads/main\nmark :{number}\n"
            f"committer somebody <somebody@example.org> {1_700_000_000 + number} +0000\n"
            f"data {len(said)}\n{said}\n"
            "M 644 inline engine/__init__.py\ndata 0\n\n"
            f"M 644 inline engine/api.py\ndata {len(text)}\n{text}\n"
        )


def test_the_versions_are_equally_long() -> None:
    assert len({len(text.format(number=17)) for text in (COLD, WOKEN, BROKEN)}) == 1


@pytest.mark.parametrize(
    ("history", "first_bad"),
    [
        ("ccccccccwwww", 8),
        ("cwwwwwwwwwww", 1),
        ("cccccccwbbbw", 7),
        ("cccccbbcccww", 10),
        ("ccbwwwwwwwww", None),
        ("ccccccccccbw", None),
    ],
)
def test_the_first_commit_that_wakes_is_found(
    tmp_path: Path, cache: Path, history: str, first_bad: int | None
) -> None:
    repository = Repository(tmp_path / "repository", cache)
    texts = {"c": COLD, "w": WOKEN, "b": BROKEN}
    versions = [texts[kind].format(number=number) for number, kind in enumerate(history, 10)]
    commits = repository.commit(versions)
    repository.git("bisect", "start", commits[-1], commits[0])
    command = (sys.executable, "-m", "coldfork", "probe", "--virtual", "h100", "engine.api")
    if first_bad is None:
        # What git cannot tell it says: the commit before the first bad one could not be judged.
        with pytest.raises(AssertionError, match="only 'skip'ped commits left to test"):
            repository.git("bisect", "run", *command)
    else:
        said = repository.git("bisect", "run", *command)
        assert f"{commits[first_bad]} is the first bad commit" in said
    repository.git("bisect", "reset")
    assert not list(repository.folder.rglob("*.pyc"))


def test_the_page_has_what_is_tested_here() -> None:
    assert len(SESSIONS) == 3


@pytest.mark.parametrize("session", SESSIONS, ids=[session.splitlines()[1] for session in SESSIONS])
def test_a_session_of_the_page_finds_the_commit(session: str, tmp_path: Path, cache: Path) -> None:
    repository = Repository(tmp_path / "repository", cache)
    texts = {"c": COLD, "w": WOKEN}
    commits = repository.commit(
        [texts[kind].format(number=number) for number, kind in enumerate("cccwww", 10)]
    )
    # Untracked, so that it is there whichever commit is checked out.
    (repository.folder / "test_engine.py").write_text("import engine.api\n\n\ndef test_it():\n    pass\n")
    repository.git("tag", "v1.4", commits[0])
    said = [repository.git(*shlex.split(line)[1:]) for line in session.splitlines()]
    assert f"{commits[3]} is the first bad commit" in said[1]
