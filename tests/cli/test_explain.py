"""`coldfork explain`: exit statuses, formats, refusals, sources, and commands that it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from venv import EnvBuilder

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import coldfork.report.schemas
from tests.diagnose import corpus

pytestmark = pytest.mark.once

Run = Callable[..., Result]
SCHEMA = Path(coldfork.report.__path__[0], "schemas", "explain.schema.json")
LOG = "import_in_child-3.11.log"
ENGINE = """import torch

CAPABILITY = torch.cuda.get_device_capability()
"""


@pytest.fixture
def log(project: Path) -> Path:
    """A worker's log in the project."""
    file = project / "worker.log"
    file.write_text(corpus.captured(LOG), encoding="utf-8")
    return file


def document(result: Result) -> Any:
    """The JSON that was printed, after a look whether the schema describes it."""
    said = json.loads(result.stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(said)
    return said


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_a_story_ends_with_0_and_stands_on_standard_output(run: Run, log: Path) -> None:
    result = run("explain", log.name)
    assert (result.exit_code, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()[:2]
    assert first == (
        "certain[cuda-in-forked-child] CUDA was used in a process forked from one in which it was awake"
    )
    assert second == "  --> /srv/broken_engine/attention/flash.py:12 calls torch.cuda.get_device_capability"
    assert result.stdout.splitlines()[-1] == "1 story: 1 certain"


def test_json_is_what_the_schema_says(run: Run, log: Path) -> None:
    said = document(run("explain", "--format", "json", log.name))
    (story,) = said["stories"]
    assert (said["schema_version"], story["story"], story["confidence"]) == (
        1,
        "cuda-in-forked-child",
        "certain",
    )
    assert story["culprit"] == {
        "path": "/srv/broken_engine/attention/flash.py",
        "line": 12,
        "call": "torch.cuda.get_device_capability",
        "text": "if flash_version() == 3:",
    }
    assert story["processes"][0]["name"] == "ForkProcess-1"
    assert [line["line"] for line in story["evidence"]] == sorted(line["line"] for line in story["evidence"])


def test_markdown_is_for_a_bug_report(run: Run, log: Path) -> None:
    said = run("explain", "--format", "markdown", log.name).stdout
    assert said.startswith("### CUDA was used in a process forked from one in which it was awake\n")
    assert "- culprit: `/srv/broken_engine/attention/flash.py:12" in said
    assert "\n1. Compute it lazily" in said


def test_nothing_recognised_ends_with_1_and_says_what_the_log_ends_with(run: Run, project: Path) -> None:
    (project / "a.log").write_text("KeyError: 'cuda'\n", encoding="utf-8")
    result = run("explain", "a.log")
    assert result.exit_code == 1
    assert "a.log:1: KeyError: 'cuda'" in result.stdout
    said = document(run("explain", "a.log", "--format", "json"))
    assert (said["stories"], len(said["unexplained"])) == ([], 1)


SWALLOWED = """2026-01-01 10:00:00 ERROR a worker failed
Traceback (most recent call last):
  File "/srv/pool.py", line 11, in work
    return torch.cuda.current_device()
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use
"""


def test_what_several_lines_say_alike_is_said_once_and_nobody_counts_the_nameless(
    run: Run, project: Path
) -> None:
    (project / "a.log").write_text(SWALLOWED * 3, encoding="utf-8")
    said = run("explain", "a.log").stdout.splitlines()
    begin = said.index("  evidence")
    assert said[begin + 1 : begin + 3] == [
        "      a.log:3, 8, 13: /srv/pool.py:11 in work: return torch.cuda.current_device()",
        (
            "      a.log:5, 10, 15: RuntimeError: Cannot re-initialize CUDA in forked subprocess. "
            "To use CUDA with multiprocessing, you must use"
        ),
    ]
    assert "   = in a child process; started by fork" in said


def test_standard_input_and_several_files(run: Run, log: Path) -> None:
    assert called(folder=log.parent, piped=log.read_text(encoding="utf-8")).returncode == 0
    assert called("-", folder=log.parent, piped="all is well\n").returncode == 1
    (story,) = document(run("explain", log.name, log.name, "--format", "json"))["stories"]
    assert [line["file"] for line in story["evidence"]][::4] == ["worker.log", "worker.log"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a.log: it is empty\n"),
        (bytes(range(256)) * 40, "a.log: it is not text: most of it is not made of lines\n"),
    ],
)
def test_what_holds_no_lines_gets_one_line(run: Run, project: Path, content: bytes, said: str) -> None:
    (project / "a.log").write_bytes(content)
    result = run("explain", "a.log")
    assert (result.exit_code, result.stdout, result.stderr) == (1, said, "")


def test_a_folder_and_a_missing_file_are_refused_in_one_line(run: Run, project: Path) -> None:
    (project / "logs").mkdir()
    result = run("explain", "logs")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "coldfork: logs is a folder; name the logs in it: coldfork explain logs/*.log\n"
    result = run("explain", "no.log")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_sources_name_what_woke_it_in_the_parent(run: Run, project: Path) -> None:
    package = project / "src" / "serving"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from serving import core\n", encoding="utf-8")
    (package / "core.py").write_text(ENGINE, encoding="utf-8")
    text = corpus.captured("broken_engine-3.11.log")
    (project / "worker.log").write_text(text, encoding="utf-8")
    assert document(run("explain", "worker.log", "--format", "json"))["stories"][0]["blame"] == "met"
    said = document(run("explain", "worker.log", "--source", "src/serving", "--format", "json"))
    (story,) = said["stories"]
    assert (story["culprit"]["path"], story["culprit"]["line"]) == ("serving/core.py", 3)
    assert story["suspects"][0]["chain"][-1] == "torch.cuda.get_device_capability"
    assert run("explain", "worker.log", "--source", "nowhere").exit_code == 2


SCATTER = """import torch

suffix = "cuda" if torch.cuda.is_available() else "cpu"


def scatter(values):
    return values.to(suffix)
"""


@pytest.fixture
def venv(project: Path) -> Path:
    """A virtual environment with a package in it whose import wakes the driver, and its metadata."""
    folder = project / "elsewhere" / "venv"
    EnvBuilder(with_pip=False, symlinks=os.name == "posix").create(folder)
    pattern = "lib/python3*/site-packages" if os.name == "posix" else "Lib/site-packages"
    (packages,) = folder.glob(pattern)
    (packages / "torch_scatter").mkdir()
    (packages / "torch_scatter" / "__init__.py").write_text(SCATTER, encoding="utf-8")
    (packages / "torch_scatter-2.0.6.dist-info").mkdir()
    return folder


def test_the_packages_of_another_environment_are_read_and_their_versions_compared(
    run: Run, project: Path, venv: Path
) -> None:
    text = corpus.captured("broken_engine-3.11.log").replace(
        "/srv/broken_engine/hardware.py", "/usr/lib/python3.12/site-packages/torch_scatter/__init__.py"
    )
    (project / "worker.log").write_text(text, encoding="utf-8")
    (alone,) = document(run("explain", "worker.log", "--format", "json"))["stories"]
    assert (alone["blame"], alone["suspects"]) == ("met", [])
    for python in (venv, venv / "bin" / "python"):
        if not python.exists():
            continue  # on Windows it lies elsewhere
        said = document(run("explain", "worker.log", "--python", str(python), "--format", "json"))
        (story,) = said["stories"]
        assert story["culprit"] == {
            "path": "torch_scatter/__init__.py",
            "line": 3,
            "call": "torch.cuda.is_available",
            "text": 'suffix = "cuda" if torch.cuda.is_available() else "cpu"',
        }
        assert story["remedies"][0].startswith("Upgrade torch-scatter to 2.1.2 or newer")
        assert story["remedies"][0].endswith(" 2.0.6 is installed.")
        assert story["remedies"][1].startswith("Compute it lazily")
    result = run("explain", "worker.log", "--python", str(venv))
    assert "= help: 1. Upgrade torch-scatter to 2.1.2 or newer, where this is mended: " in result.stdout
    assert run("explain", "worker.log", "--python", str(project / "nowhere")).exit_code == 2


def called(*arguments: str, folder: Path, piped: str = "") -> subprocess.CompletedProcess[str]:
    """Call coldfork as a shell does."""
    line = [sys.executable, "-m", "coldfork", "explain", *arguments]
    return subprocess.run(
        line, cwd=folder, capture_output=True, text=True, input=piped, check=False, timeout=300
    )


FAILS = """import multiprocessing

print("on standard output", flush=True)
multiprocessing.set_start_method("spawn")
multiprocessing.set_start_method("spawn")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the recording beside it needs Linux or macOS")
def test_a_command_that_fails_is_explained_and_its_status_is_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(project / "state"))
    (project / "fails.py").write_text(FAILS, encoding="utf-8")
    done = called("--", sys.executable, "fails.py", folder=project)
    assert (done.returncode, done.stdout) == (1, "on standard output\n")
    assert "certain[context-already-set]" in done.stderr
    assert "fails.py:5" in done.stderr
    assert "recorded in " in done.stderr


def test_a_command_that_ends_well_is_left_alone(project: Path) -> None:
    done = called("--", "sh", "-c", "echo fine; exit 0", folder=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_the_status_is_the_commands_own_even_if_nothing_is_recognised(project: Path) -> None:
    done = called("--", "sh", "-c", "echo cuda >&2; exit 7", folder=project)
    assert done.returncode == 7
    assert "no known story was recognised" in done.stderr


def test_a_command_that_is_not_there_is_refused_in_one_line(project: Path) -> None:
    done = called("--", "no-such-command-here", folder=project)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert called("--", folder=project).returncode == 2
    assert called("a.log", "--", "true", folder=project).returncode == 2
