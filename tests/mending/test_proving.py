"""`coldfork check --prove`: packages imported as they were and as mended, before a virtual device."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coldfork.cli.main import cli
from coldfork.mending.copies import copies
from tests.mending.conftest import write

Run = Callable[..., Result]
#: Stands in for torch, which takes long to import: its calls wake the driver of the virtual device.
DRIVER = """
import ctypes


def _ask(name, *arguments):
    ctypes.CDLL("libcuda.so.1")[name](*arguments)


class cuda:
    @staticmethod
    def is_available():
        try:
            _ask("cuInit", 0)
        except OSError:
            return False
        return True

    @staticmethod
    def get_device_name(index=0):
        _ask("cuInit", 0)
        return "a device"
"""
PACKAGE = {
    "src/engine/__init__.py": "",
    "src/engine/caps.py": (
        "import os\nimport torch\n\nLIMIT = 3\nPLACE = os.path.dirname(__file__)\nclass Kind:\n    size = 4\n"
        "    def f(self):\n        return 1\nthing = object()\nHAS = torch.cuda.is_available()\n\n\n"
        "def ask(x: bool = torch.cuda.is_available()):\n    return x, HAS\n"
    ),
    "src/engine/attribute.py": "import torch\n\n\nclass Builder:\n    full = torch.cuda.is_available()\n",
}
TESTS = """
import unittest
from engine import caps

class CapsTest(unittest.TestCase):
    def test_it(self):
        open("ran-in", "w").write(caps.__file__)
        self.assertIn(caps.HAS, (True, False))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package beside what stands in for torch, with tests of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("COLDFORK_") or name == "VIRTUAL_ENV"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    command = f"{sys.executable} -m unittest discover -s tests"
    table = f'[tool.coldfork]\nsite-packages = ["beside"]\ntest-command = "{command}"\n'
    write(tmp_path, {**PACKAGE, "pyproject.toml": table})
    write(tmp_path, {"beside/torch.py": DRIVER, "tests/test_caps.py": TESTS})
    return tmp_path


@pytest.fixture
def run(project: Path) -> Run:
    """Call the command in the project, with this interpreter for what is imported."""
    return lambda *words: CliRunner().invoke(cli, ["check", "--python", sys.executable, *words, "src"])


def test_fixes_are_proven_by_imports_and_by_the_tests(project: Path, run: Run) -> None:
    result = run("--fix", "--prove", "--format", "json")
    proof = json.loads(result.stdout)["proof"]
    assert result.exit_code == 0, result.output
    counts = [proof[key] for key in ("device", "mended", "left", "refuted", "interrupted")]
    assert counts == ["virtual:h100", 3, 0, False, False]
    attribute, caps = sorted(proof["modules"], key=lambda module: str(module["path"]))
    for module in (attribute, caps):
        assert (module["outcome"], module["reason"], module["changes"]) == ("proven", None, [])
        assert module["before"]["status"] == "woken"
        assert module["before"]["path"] == module["path"]
        nothing = dict.fromkeys(("reason", "accelerator", "path", "line"))
        assert module["after"] == {"status": "cold", **nothing}
    # os, torch, LIMIT, PLACE, Kind, HAS and ask; `thing` has nothing but a type to tell.
    assert (caps["same"], caps["alike"], attribute["same"]) == (7, 1, 2)
    tests = proof["tests"]
    assert (tests["outcome"], tests["before"], tests["after"]) == (
        "proven",
        {"status": 0, "said": "OK"},
        {"status": 0, "said": "OK"},
    )
    assert not (project / "ran-in").exists(), "the tests ran in a copy"


def test_a_patch_is_proven_and_nothing_is_written(project: Path, run: Run) -> None:
    before = (project / "src/engine/caps.py").read_text()
    result = run("--diff", "--prove", "--format", "markdown", "--output", "proof.md")
    assert result.exit_code == 1
    assert result.stdout.startswith("--- a/src/engine/attribute.py\n")
    assert (project / "src/engine/caps.py").read_text() == before
    written = (project / "proof.md").read_text()
    assert "3 causes mended, none left; 2 modules on virtual:h100: 2 proven." in written
    woken = "wakes cuda, by engine/attribute.py:5"
    assert f"| `engine.attribute` | {woken} | cold | 2 the same |\n" in written
    assert "| passed (OK) | passed (OK) |" in written


def test_a_package_in_the_working_directory_is_imported_from_the_copies(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {"src/pyproject.toml": '[tool.coldfork]\nsite-packages = ["../beside"]\n'})
    write(project, {"src/near.py": "import os\nTEXT = open('data.txt').read()\n", "src/data.txt": "x"})
    write(project, {"src/engine/attribute.py": f"import near\n{PACKAGE['src/engine/attribute.py']}"})
    monkeypatch.chdir(project / "src")
    result = CliRunner().invoke(
        cli, ["check", "--python", sys.executable, "--diff", "--prove", "--format", "markdown", "engine"]
    )
    assert "3 causes mended, none left; 2 modules on virtual:h100: 2 proven." in result.stderr


def test_what_changed_or_cannot_be_imported_is_told(project: Path, run: Run) -> None:
    write(
        project,
        {
            "pyproject.toml": '[tool.coldfork]\nsite-packages = ["beside"]\n',
            # What counts how often it is asked gives another answer the second time.
            "src/engine/caps.py": (
                "import torch\nasked = []\ndef note():\n    asked.append(1)\n"
                "    return torch.cuda.is_available()\nHAS = note()\n"
                "def ask():\n    return HAS\nCOUNT = len(asked)\n"
            ),
            "src/engine/attribute.py": (
                "import nothing_of_this_name\nimport torch\n"
                "def ask(x: bool = torch.cuda.is_available()):\n    return x\n"
            ),
        },
    )
    result = run("--fix=unsafe", "--prove")
    assert result.exit_code == 1, "a fix that is refuted fails the check"
    said = " ".join(result.stdout.split())
    assert "2 causes mended, none left; 2 modules on virtual:h100: 1 refuted, 1 not testable" in said
    assert "engine.caps: wakes cuda, by engine/caps.py:6 before, cold after" in said
    assert "`COUNT` held `1` and holds `0`" in said
    assert (
        "engine.attribute: not testable, because the import failed with ModuleNotFoundError: "
        "No module named 'nothing_of_this_name'"
    ) in said


@pytest.mark.parametrize("words", [("--prove",), ("--prove", "--format", "markdown")])
def test_without_a_fix_there_is_nothing_to_prove(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert "--prove needs --fix or --diff" in result.stderr


def test_without_a_configuration_the_tests_run_where_one_stands(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").unlink()
    monkeypatch.setenv("COLDFORK_TEST_COMMAND", f"{sys.executable} -c 'import os; print(os.listdir())'")
    result = run("--fix", "--prove", "--format", "json", "--site-packages", "beside")
    tests = json.loads(result.stdout)["proof"]["tests"]
    assert "'src'" in tests["after"]["said"]
    assert tests["outcome"] == "proven"


def test_nothing_of_the_project_runs_unless_it_is_asked_for(project: Path, run: Run) -> None:
    write(project, {"src/engine/caps.py": f"open('ran', 'w')\n{PACKAGE['src/engine/caps.py']}"})
    run("--fix")
    assert not (project / "ran").exists()


def test_a_copy_holds_what_is_read_and_leaves_the_original_alone(tmp_path: Path) -> None:
    write(
        tmp_path, {"p/a.py": "1", "p/.git/x": "", "p/__pycache__/x": "", "p/.hidden/x": "y", "p/d/b.txt": "b"}
    )
    write(tmp_path, {"p/env/pyvenv.cfg": ""})
    (tmp_path / "p/large").write_bytes(b"0" * 1_000_001)
    a = tmp_path / "p/a.py"
    with copies([tmp_path / "p", tmp_path / "p/d"], {str(a): b"old"}, {str(a): b"new"}) as (old, new):
        assert (old.place(a).read_bytes(), new.place(a).read_bytes()) == (b"old", b"new")
        there = {path.name: path.is_symlink() for path in old.place(tmp_path / "p").iterdir()}
        assert there == {"a.py": False, ".hidden": True, "d": False, "env": True, "large": True}
        new.place(tmp_path / "p/d/b.txt").write_text("c")
    assert (a.read_text(), (tmp_path / "p/d/b.txt").read_text()) == ("1", "b")
    assert not old.root.exists()


def test_a_fix_is_not_refuted_by_a_line_that_it_is_not_about(project: Path, run: Run) -> None:
    """The package's own `__init__` wakes the device first, before and after; nobody can say more."""
    (project / "src/engine/__init__.py").write_text(
        "import torch\nX = torch.cuda.is_available()\nprint(X)\n", encoding="utf-8"
    )
    result = run("--fix", "--prove", "--format", "json")
    proof = json.loads(result.stdout)["proof"]
    assert proof["left"] == 1
    assert proof["refuted"] is False
    for module in proof["modules"]:
        assert module["outcome"] == "not-testable"
        for seen in (module["before"], module["after"]):
            assert (seen["path"], seen["line"]) == ("engine/__init__.py", 2)
