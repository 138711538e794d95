"""Failures at the start: signs are found in real outputs, and the list of failures has them all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.cli.main import COMMANDS
from coldfork.knowledge.troubles import TROUBLES, seen_in

DAEMON = """
import multiprocessing
multiprocessing.current_process()._config["daemon"] = True
multiprocessing.Process(target=print).start()
"""
LIST = Path(__file__).resolve().parents[2] / "docs" / "stories" / "index.md"


def test_the_list_of_failures_has_every_sign() -> None:
    text = LIST.read_text(encoding="utf-8")
    assert [trouble.name for trouble in TROUBLES if f"| {trouble.sign} |" not in text] == []


def test_names_are_unique_and_commands_exist() -> None:
    names = [trouble.name for trouble in TROUBLES]
    assert len(set(names)) == len(names)
    for trouble in TROUBLES:
        if trouble.command is not None:
            assert trouble.command.split()[:1] == ["coldfork"]
            assert trouble.command.split()[1] in COMMANDS


@pytest.mark.parametrize(
    ("name", "program"),
    [
        (
            "no-main-guard",
            "import multiprocessing\nmultiprocessing.get_context('spawn').Process(target=print).start()\n",
        ),
        (
            "context-already-set",
            "import multiprocessing\nfor _ in range(2): multiprocessing.set_start_method('spawn')\n",
        ),
        (
            "daemonic",
            DAEMON,
        ),
    ],
)
def test_a_sign_is_recognised_in_what_python_really_says(name: str, program: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert [trouble.name for trouble in seen_in(said.stderr)] == [name]


def test_nothing_is_recognised_in_an_ordinary_output() -> None:
    assert list(seen_in("loaded 3 shards\nTraceback (most recent call last):\nValueError: no\n")) == []


def test_every_pattern_finds_the_words_it_is_for() -> None:
    for trouble in TROUBLES:
        if trouble.pattern is not None and trouble.name != "forkserver-eof":
            quoted = " ".join(re.findall(r"`([^`]+)`", trouble.sign))
            assert trouble in seen_in(quoted), trouble.name
