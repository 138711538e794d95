"""`coldfork completion`: scripts that shells accept, and what they complete."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import Result

pytestmark = pytest.mark.once

Run = Callable[..., Result]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_calls_coldfork(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_COLDFORK_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_accepts_its_script(run: Run) -> None:
    script = run("completion", "bash").stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=60)


def test_another_shell_is_refused(run: Run) -> None:
    result = run("completion", "tcsh")
    assert result.exit_code == 2
    assert "bash" in result.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("coldfork ba", "baseline"),
        ("coldfork check --fail", "--fail-on"),
        ("coldfork check --profile cuda-w", "cuda-without-nvml"),
        ("coldfork check --rules eag", "eager-reexport"),
        ("coldfork rule waking", "waking-import"),
        ("coldfork baseline pr", "prune"),
    ],
)
def test_commands_flags_values_and_rules_are_completed(words: str, offered: str) -> None:
    environment = {
        **os.environ,
        "_COLDFORK_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "coldfork"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert offered in done.stdout
