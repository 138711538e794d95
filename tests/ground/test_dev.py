"""`./dev` in a folder of its own, with an interpreter that only writes down what it was asked to do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(os.name != "posix", reason="./dev is a POSIX shell script"),
]

# Plays python3: answers the question about its version, "makes" environments whose python copies itself,
# and writes down every start.
INTERPRETER = """#!/bin/sh
echo "$*" | head -n 1 >>"$JOURNAL"
case "$*" in
*_base_executable*) echo "${ANSWER:-fit py399 $0}" ;;
*"-m venv"*) sleep "${SLOW:-0}"; mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
*"-m pip"*) sleep "${SLOW:-0}"; [ -z "${OFFLINE:-}" ] || exit 1 ;;
*"-m coldfork"*) echo "coldfork ran in $PWD with $*" ;;
*near.py*) echo "${NEAR:-}"; [ -n "${NEAR:-}" ] || exit 2 ;;
*"-m pytest"*) echo "pytest ran in $PWD with $*${PYTHONDONTWRITEBYTECODE+ and compiles all anew}" ;;
esac
"""


#: How tests are dealt out: to one process more than there are processors.
SHARED = f"-n {os.sysconf('SC_NPROCESSORS_ONLN') + 1} --dist worksteal"


class Clone:
    """A checkout that holds only what `./dev` reads, and the fake interpreter on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a clone with spaces"
        self.root.mkdir()
        shutil.copy(ROOT / "dev", self.root)
        (self.root / "pyproject.toml").write_text("[dependency-groups]\n", encoding="utf-8")
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.journal = folder / "journal"
        self.home = folder / "empty home"
        self.home.mkdir()
        self.provide("python3")

    def provide(self, name: str, text: str = INTERPRETER) -> Path:
        """Put an interpreter on the PATH."""
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        """An environment with nothing of the developer's own in it."""
        path = f"{self.bin}:{self.root / 'tools'}:{os.defpath}"
        return {"PATH": path, "JOURNAL": str(self.journal), "HOME": str(self.home), **more}

    def start(self, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.Popen[str]:
        """Start `./dev` without waiting for it."""
        return subprocess.Popen(
            [str(self.root / "dev"), *arguments],
            cwd=cwd or self.root,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def dev(self, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        """Run `./dev` and return what it said."""
        process = self.start(*arguments, cwd=cwd, **more)
        out, err = process.communicate(timeout=600)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def starts(self) -> list[str]:
        """How the interpreter was started since the last time, oldest first."""
        lines = self.journal.read_text(encoding="utf-8").splitlines() if self.journal.exists() else []
        self.journal.unlink(missing_ok=True)
        return lines


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_help_needs_no_python_and_lists_every_command(clone: Clone) -> None:
    done = clone.dev("help")
    assert done.returncode == 0
    for command in (
        *("coldfork", "test", "lint", "format", "bench", "integration", "mutants"),
        *("knowledge", "reference", "docs", "help"),
    ):
        assert f"\n  {command} " in done.stdout
    assert clone.starts() == []
    assert not (clone.root / ".venv").exists()


def test_an_unknown_command_is_refused_by_name(clone: Clone) -> None:
    done = clone.dev("tset")
    assert done.returncode == 2
    assert "there is no command 'tset'" in done.stderr


def test_the_first_run_sets_up_and_the_second_starts_one_python(clone: Clone) -> None:
    first = clone.dev("coldfork", "check", "a b")
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"coldfork ran in {clone.root} with -P -m coldfork check a b\n"
    assert any("-m venv" in start for start in clone.starts())
    second = clone.dev("coldfork", "check", "a b")
    assert second.stdout == first.stdout
    assert second.stderr == ""
    assert clone.starts() == ["-P -m coldfork check a b"]


def test_it_runs_where_you_stand_but_tests_from_the_root(clone: Clone, tmp_path: Path) -> None:
    assert f"ran in {tmp_path} with" in clone.dev("coldfork", "--version", cwd=tmp_path).stdout
    assert (
        f"ran in {clone.root} with -m pytest {SHARED} -k x"
        in clone.dev("test", "-k", "x", cwd=tmp_path).stdout
    )


def test_what_is_generated_has_a_command_and_lint_checks_it(clone: Clone, tmp_path: Path) -> None:
    tools = {"knowledge": "compile_knowledge", "reference": "cli_reference", "docs": "rule_pages"}
    for command, tool in tools.items():
        assert clone.dev(command, cwd=tmp_path).returncode == 0
        assert f"tools/{tool}.py" in clone.starts()
    assert clone.dev("lint").returncode == 0
    assert {f"tools/{tool}.py --check" for tool in tools.values()} <= set(clone.starts())


@pytest.mark.parametrize(
    ("words", "asked", "passed_on"),
    [
        (["--near"], "HEAD", ""),
        (["--near", "-q"], "HEAD", " -q"),
        (["--near", "main", "-k", "x"], "main", " -k x"),
    ],
)
def test_near_runs_what_the_tool_chooses(clone: Clone, words: list[str], asked: str, passed_on: str) -> None:
    clone.dev("test")
    clone.starts()
    done = clone.dev("test", *words, NEAR="tests/a.py\ntests/b.py")
    assert (
        done.stdout
        == f"pytest ran in {clone.root} with -m pytest {SHARED} tests/a.py tests/b.py{passed_on}\n"
    )
    assert f"tools/near.py {asked}" in clone.starts()


def test_what_the_tests_import_is_compiled_once(clone: Clone) -> None:
    done = clone.dev("test", PYTHONDONTWRITEBYTECODE="1")
    assert done.stdout == f"pytest ran in {clone.root} with -m pytest {SHARED}\n"


def test_near_runs_nothing_when_the_tool_fails(clone: Clone) -> None:
    done = clone.dev("test", "--near", "no-such-commit")
    assert (done.returncode, "pytest ran" in done.stdout) == (2, False)


def test_a_changed_pyproject_is_installed_again_and_an_untouched_one_is_not(clone: Clone) -> None:
    clone.dev("test")
    clone.starts()
    os.utime(clone.root / "pyproject.toml")
    clone.dev("test")
    assert not any("pip" in start for start in clone.starts())
    (clone.root / "pyproject.toml").write_text("[dependency-groups]\ntest = []\n", encoding="utf-8")
    clone.dev("test")
    starts = clone.starts()
    assert sum("-m pip" in start for start in starts) == 1
    assert not any("-m venv" in start for start in starts)


def test_only_the_group_that_a_command_needs_is_installed(clone: Clone) -> None:
    assert "installing for .venv/py399: coldfork\n" in clone.dev("coldfork").stderr
    assert "installing for .venv/py399: test runtimes\n" in clone.dev("test").stderr


def test_a_copied_checkout_gets_an_environment_of_its_own(clone: Clone, tmp_path: Path) -> None:
    clone.dev("coldfork")
    copy = tmp_path / "copy"
    shutil.copytree(clone.root, copy)
    clone.starts()
    clone.root = copy
    assert clone.dev("coldfork").returncode == 0
    assert any("-m venv" in start for start in clone.starts())


def test_two_at_once_make_one_environment(clone: Clone) -> None:
    both = [clone.start("coldfork", SLOW="1") for _ in range(2)]
    said = [process.communicate(timeout=600) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    starts = clone.starts()
    assert sum("-m venv" in start for start in starts) == 1
    assert sum("-m pip" in start for start in starts) == 1
    assert not (clone.root / ".venv" / "lock").exists()


def test_the_lock_of_a_process_that_died_is_taken_over(clone: Clone) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lock = clone.root / ".venv" / "lock"
    lock.mkdir(parents=True)
    (lock / "pid").write_text(f"{dead.pid}\n", encoding="utf-8")
    assert clone.dev("coldfork").returncode == 0


def test_an_interrupted_setup_leaves_no_lock_and_the_next_run_repairs(clone: Clone) -> None:
    process = clone.start("coldfork", SLOW="2")
    deadline = time.monotonic() + 600
    while not (clone.root / ".venv" / "lock" / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 143
    assert not (clone.root / ".venv" / "lock").exists()
    assert clone.dev("coldfork").returncode == 0


def test_a_failed_installation_is_an_error_and_is_tried_again(clone: Clone) -> None:
    failed = clone.dev("coldfork", OFFLINE="yes")
    assert failed.returncode == 2
    assert "pip could not install coldfork" in failed.stderr
    assert failed.stdout == ""
    assert clone.dev("coldfork").returncode == 0


OLD = "#!/bin/sh\necho old 3.9.18\n"


def test_an_old_python3_is_named_and_a_newer_one_is_found(clone: Clone) -> None:
    clone.provide("python3", OLD)
    clone.provide("python3.12")
    done = clone.dev("coldfork")
    assert done.returncode == 0
    sentence = "python3 is Python 3.9.18, and coldfork needs 3.11 or newer; using python3.12\n"
    assert sentence in done.stderr
    assert clone.dev("coldfork").stderr == ""


def test_without_any_new_enough_python_it_says_so_in_one_sentence(clone: Clone) -> None:
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        clone.provide(name, OLD)
    done = clone.dev("coldfork")
    assert done.returncode == 2
    assert done.stderr == (
        "error: python3 is Python 3.9.18, and coldfork needs 3.11 or newer; "
        "COLDFORK_PYTHON=PATH names another one\n"
    )


def test_the_interpreter_asked_for_is_used_or_refused_but_never_replaced(clone: Clone) -> None:
    clone.provide("other", INTERPRETER.replace("py399", "py377"))
    assert clone.dev("coldfork", COLDFORK_PYTHON="other").returncode == 0
    assert (clone.root / ".venv" / "py377").is_dir()
    clone.provide("ancient", OLD)
    refused = clone.dev("coldfork", COLDFORK_PYTHON="ancient")
    assert refused.returncode == 2
    assert refused.stderr == "error: ancient is Python 3.9.18, and coldfork needs 3.11 or newer\n"
    bare = clone.dev("coldfork", COLDFORK_PYTHON="python3", ANSWER="bare 3.11.2")
    assert "has no venv module" in bare.stderr


def test_the_real_interpreter_passes_the_examination(clone: Clone) -> None:
    done = clone.dev(
        "coldfork", "--help", COLDFORK_PYTHON=sys.executable, PIP_NO_INDEX="1", PIP_FIND_LINKS=""
    )
    tag = f"py{sys.version_info.major}{sys.version_info.minor}"
    assert f"setting up .venv/{tag}" in done.stderr
    assert done.returncode == 2, "an empty pyproject.toml cannot be installed"
    assert (clone.root / ".venv" / tag / "bin" / "python").exists()
