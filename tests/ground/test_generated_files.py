"""Generated files are current, and where one is not, the command that mends it is named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: The tool that writes a file, the file, and what a developer types.
WRITTEN = {
    "knowledge": ("compile_knowledge.py", "src/coldfork/knowledge/compiled.py", "./dev knowledge"),
    "stamp": ("compile_knowledge.py", "src/coldfork/knowledge/stamp.py", "./dev knowledge"),
    "reference": ("cli_reference.py", "docs/reference/cli.md", "./dev reference"),
    "rule pages": ("rule_pages.py", "docs/rules/index.md", "./dev docs"),
}
pytestmark = pytest.mark.once
each_kind = pytest.mark.parametrize("kind", WRITTEN)


def run(root: Path, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Start a tool of a checkout as `./dev` does."""
    return subprocess.run(
        [sys.executable, str(root / "tools" / tool), *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout with what the tools read and write, to be spoilt."""
    for folder in ("tools", "docs", "src/coldfork/knowledge"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@each_kind
def test_it_is_current(kind: str) -> None:
    done = run(ROOT, WRITTEN[kind][0], "--check")
    assert (done.returncode, done.stderr) == (0, "")


@each_kind
def test_a_stale_file_is_named_with_its_remedy_and_mended(kind: str, copy: Path) -> None:
    tool, name, command = WRITTEN[kind]
    file = copy / name
    current = file.read_text(encoding="utf-8")
    file.write_text(current + "# edited\n", encoding="utf-8")
    done = run(copy, tool, "--check")
    assert (done.returncode, done.stderr) == (1, f"{name} is out of date: {command} writes it\n")
    assert run(copy, tool).returncode == 0
    assert file.read_text(encoding="utf-8") == current
    assert run(copy, tool, "--check").returncode == 0


def test_the_page_of_a_rule_that_is_gone_goes_too(copy: Path) -> None:
    gone = copy / "docs" / "rules" / "no-such-rule.md"
    gone.write_text("# no-such-rule\n", encoding="utf-8")
    assert run(copy, "rule_pages.py", "--check").returncode == 1
    assert run(copy, "rule_pages.py").returncode == 0
    assert not gone.exists()
