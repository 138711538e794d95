"""First checks apart from the server: what they leave in the cache, and that they end with the server."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux's pidfd_open"),
]
PATIENCE = 120
CHECKED = """
import os, signal, sys
from pathlib import Path
from coldfork.checking.request import configured
from coldfork.checking.session import CheckSession
from coldfork.lsp.apart import Apart

apart = Apart()
print(apart._pid, flush=True)
sys.stdin.readline()
stages = set()

def progress(stage, *rest):
    stages.add(stage)
    if "dies" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)

apart.check((Path("src"),), {}, progress)
apart.end()
found = CheckSession().inspect(configured((Path("src"),), {}, {}))
print(sorted(stages), found.observation.statistics.read, len(found.causes))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "installed").mkdir()
    configuration = "[tool.coldfork]\nsite-packages = ['installed']\n"
    (tmp_path / "pyproject.toml").write_text(configuration, encoding="utf-8")
    for number in range(40):
        text = "import torch\n\nNAME = torch.cuda.get_device_name()\n" if not number else "import m0\n"
        (tmp_path / f"src/m{number}.py").write_text(text, encoding="utf-8")
    return tmp_path


def started(project: Path, *arguments: str) -> tuple[subprocess.Popen[str], int]:
    """A program that checks apart once it is told to, and a descriptor of the process that does."""
    program = subprocess.Popen(
        [sys.executable, "-c", CHECKED, *arguments],
        cwd=project,
        env={**os.environ, "COLDFORK_CACHE_DIR": str(project / "cache")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    return program, os.pidfd_open(int(program.stdout.readline()))


def test_what_is_checked_apart_is_not_read_again(project: Path) -> None:
    program, apart = started(project)
    said, _ = program.communicate("\n", timeout=PATIENCE)
    os.close(apart)
    assert said == "['following imports', 'reading'] 0 1\n"


def test_a_server_that_dies_leaves_nothing_behind(project: Path) -> None:
    program, apart = started(project, "dies")
    said, _ = program.communicate("\n", timeout=PATIENCE)
    assert (program.returncode, said) == (-signal.SIGKILL, "")
    assert select.select([apart], [], [], PATIENCE)[0] == [apart]
    os.close(apart)
