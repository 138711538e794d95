"""The whole program on a package of two files, in its own process: engine, rules, report, exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

WAKING = "import torch\n\n\nclass Kernel:\n    capability = torch.cuda.get_device_capability()\n"


NO_PACKAGES = ("--site-packages", "nothing")
"""Torch, where it is installed, takes ten seconds to read; where nothing depends on its source, it is not."""


@dataclass(frozen=True)
class Package:
    """A folder with a package in it, and a cache beside it."""

    folder: Path
    cache: Path

    def write(self, core: str) -> None:
        """Write `engine.core`."""
        engine = self.folder / "src" / "engine"
        engine.mkdir(parents=True, exist_ok=True)
        (engine / "__init__.py").write_text("", encoding="utf-8")
        (engine / "core.py").write_text(core, encoding="utf-8")

    def coldfork(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command as a user does."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
        return subprocess.run(
            [sys.executable, "-m", "coldfork", *arguments],
            cwd=self.folder,
            env={**ours, "PYTHONUTF8": "1", "COLDFORK_CACHE_DIR": str(self.cache)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )


def package(folder: Path) -> Package:
    """`engine.core` wakes CUDA in a class body."""
    made = Package(folder, folder / "cache")
    (folder / "nothing").mkdir()
    made.write(WAKING)
    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Package, subprocess.CompletedProcess[str]]:
    """A package, and what is said when the cache is empty: torch is read where it is installed."""
    waking = package(tmp_path_factory.mktemp("first"))
    return waking, waking.coldfork("check", "--format", "concise")


def test_the_waking_line_is_named_and_fails_the_check(
    first: tuple[Package, subprocess.CompletedProcess[str]],
) -> None:
    waking, _ = first
    done = waking.coldfork("check", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["rule"], finding["verdict"]) == ("device-init-at-import", "certain")
    assert (finding["path"], finding["line"], finding["position"]) == ("engine/core.py", 5, "class-body")
    text = waking.coldfork("check")
    assert "src/engine/core.py:5  in the body of class Kernel" in text.stdout


def test_an_ignore_comment_a_baseline_and_another_machine_let_it_pass(tmp_path: Path) -> None:
    waking = package(tmp_path)
    assert waking.coldfork("check", *NO_PACKAGES).returncode == 1
    assert waking.coldfork("check", *NO_PACKAGES, "--profile", "cpu").returncode == 0
    assert waking.coldfork("baseline", "write", *NO_PACKAGES).returncode == 0
    accepted = ("--baseline", "coldfork-baseline.json")
    assert waking.coldfork("check", *NO_PACKAGES, *accepted).returncode == 0
    waking.write(f"# a line more\n{WAKING}")
    assert waking.coldfork("check", *NO_PACKAGES, *accepted).returncode == 0
    waking.write(
        WAKING.replace("()\n", "()  # coldfork: ignore[device-init-at-import] a script\n"),
    )
    assert waking.coldfork("check", *NO_PACKAGES).returncode == 0


def test_a_run_with_a_filled_cache_says_the_same(
    first: tuple[Package, subprocess.CompletedProcess[str]],
) -> None:
    waking, cold = first
    again = waking.coldfork("check", "--format", "concise")
    assert (cold.returncode, cold.stdout) == (again.returncode, again.stdout)
    assert cold.stdout.startswith("src/engine/core.py:5:")
