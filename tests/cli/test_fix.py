"""`coldfork check --fix` and `--diff`: what is written, what is shown, and how the command ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
SAFE = "import torch\n\n\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n"
MENDED = (
    "import torch\n\n\ndef f(x: bool = None):\n    if x is None:\n        x = torch.cuda.is_available()\n"
    "    return x\n"
)
UNSAFE = "import torch\n\n\ndef g(x=torch.cuda.get_device_name()):\n    return x\n"
KEPT = "import torch\nX = torch.cuda.get_device_name()\nprint(X)\n"


@pytest.fixture
def engine(project: Path) -> Path:
    """`engine` with one cause of each kind."""
    (project / "nothing").mkdir()
    (project / "pyproject.toml").write_text(
        '[tool.coldfork]\nsite-packages = ["nothing"]\n', encoding="utf-8"
    )
    folder = project / "src" / "engine"
    for name, text in {"safe": SAFE, "unsafe": UNSAFE, "kept": KEPT}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def test_what_is_safe_is_written_and_the_rest_says_why_not(engine: Path, run: Run) -> None:
    (engine / "safe.py").chmod(0o755)
    result = run("check", "--fix", "src/")
    assert result.exit_code == 1
    assert "mended 1 cause in 1 file" in result.stderr
    assert (engine / "safe.py").read_text() == MENDED
    assert (engine / "safe.py").stat().st_mode & 0o777 == 0o755
    assert (engine / "unsafe.py").read_text() == UNSAFE
    shown = " ".join(result.stdout.split())
    assert "fixes: 1 more with --fix=unsafe, which may change what the program does" in shown
    alone = run("check", "--fix", "src/engine/unsafe.py").stdout
    assert (
        "fix: --fix=unsafe writes one; it may change what the program does: a call may pass None"
        in " ".join(alone.split())
    )
    assert "fix: none, because line 3 reads `X` when the module is imported" in shown


def test_with_unsafe_all_is_written_that_can_be(engine: Path, run: Run) -> None:
    (engine / "kept.py").unlink()
    assert run("check", "--fix=unsafe", "src/").exit_code == 0
    assert run("check", "src/").exit_code == 0
    assert run("check", "--fix=unsafe", "src/").stderr == ""


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_patch_is_one_that_git_applies(engine: Path, project: Path, run: Run) -> None:
    result = run("check", "--diff", "src/")
    assert result.exit_code == 1
    assert (engine / "safe.py").read_text() == SAFE
    (project / "fix.patch").write_text(result.stdout, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    subprocess.run(["git", "apply", "fix.patch"], cwd=project, check=True)
    assert (engine / "safe.py").read_text() == MENDED
    again = run("check", "--diff", "src/")
    assert (again.exit_code, again.stdout) == (0, "")
    for which in (result, again):
        told = which.stderr.splitlines()
        assert told[0].startswith("coldfork: src/engine/kept.py:2: fix: none, because line 3 reads `X` when ")
        assert told[1].startswith("coldfork: src/engine/unsafe.py:4: fix: --fix=unsafe writes one; ")
        assert len(told) == 2


def test_a_patch_without_anything_to_mend_says_so(project: Path, run: Run) -> None:
    (project / "calm.py").write_text("X = 1\n", encoding="utf-8")
    result = run("check", "--diff", "calm.py")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "coldfork: nothing to mend was found, so there is no patch\n"


def test_json_tells_of_what_is_left(engine: Path, run: Run) -> None:
    causes = json.loads(run("check", "--fix", "--format", "json", "src/").stdout)["causes"]
    fixes = {Path(cause["file"]).name: cause["fix"] for cause in causes}
    assert fixes["kept.py"] == {
        "applicability": None,
        "reason": "line 3 reads `X` when the module is imported",
        "edits": [],
    }
    unsafe = fixes["unsafe.py"]
    assert (unsafe["applicability"], unsafe["reason"]) == ("unsafe", "a call may pass None to `x`")
    first = unsafe["edits"][0]
    place = [first[key] for key in ("line", "column", "end_line", "end_column", "text")]
    assert place == [4, 9, 4, 37, "None"]
    causes = json.loads(run("check", "--format", "json", "src/").stdout)["causes"]
    assert {cause["fix"] for cause in causes} == {None}


def test_only_the_rules_that_are_named_are_mended(engine: Path, run: Run) -> None:
    run("check", "--fix=unsafe", "--fix-only", "device-init-at-import", "src/")
    assert (engine / "safe.py").read_text() == SAFE
    assert (engine / "unsafe.py").read_text() != UNSAFE


def test_what_a_baseline_accepts_is_left(engine: Path, run: Run) -> None:
    assert run("baseline", "write", "coldfork-baseline.json", "src/").exit_code == 0
    result = run("check", "--fix=unsafe", "--baseline", "coldfork-baseline.json", "src/")
    assert (result.exit_code, (engine / "safe.py").read_text()) == (0, SAFE)


def test_a_check_alone_loads_nothing_of_what_mends_and_proves(engine: Path, project: Path) -> None:
    program = (
        "import atexit, sys\nfrom coldfork.cli.main import cli\n"
        "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\n"
        "cli(['check', '--format', sys.argv[1], 'src'])\n"
    )
    parts = ("mending", "launch.probe", "report.proof", "model.probes", "cli.mending")
    for form in ("text", "json"):
        command = [sys.executable, "-c", program, form]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        loaded = [name for name in done.stderr.split() if name.startswith("coldfork.")]
        assert len(loaded) > 50
        assert [name for name in loaded if name.startswith(tuple(f"coldfork.{part}" for part in parts))] == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--fix-only", "waking-import"), "--fix-only needs --fix or --diff"),
        (("--fix-only", "waking", "--fix"), "there is no rule"),
        (("--fix=all",), "--fix takes only one value: --fix=unsafe"),
        (
            ("--fix", "--confirm"),
            "--confirm and --fix exclude each other; give one of them",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    engine: Path, run: Run, words: tuple[str, ...], reason: str
) -> None:
    result = run("check", *words, "src/")
    assert result.exit_code == 2
    assert reason in result.stderr
