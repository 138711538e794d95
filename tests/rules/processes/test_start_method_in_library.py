"""Libraries that set the start method: the program that uses one does not start its workers as it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import coldfork
from tests.rules.processes.lines import ALONE

RULE = "start-method-in-library"
HEAD = "import multiprocessing\n\ndef stream(): pass\n\n"
SET = 'multiprocessing.set_start_method("fork")'
FAULTS = {
    "when-it-is-imported": f"{SET}  # fault\n",
    "by-force": 'multiprocessing.set_start_method("fork", force=True)  # fault\n',
    "in-a-class-body": f"class Streamer:\n    {SET}  # fault\n",
    "in-a-constructor": (
        f"class Streamer:\n    def __init__(self):\n        {SET}  # fault\n\ndef use(): Streamer()\n"
    ),
    "by-another-name": (
        "from multiprocessing import set_start_method as choose\n\ndef use():\n    choose('fork')  # fault\n"
    ),
    "in-a-function": f"def use():\n    {SET}  # fault\n",
}
SOUND = {
    "a-context": 'context = multiprocessing.get_context("fork")\n\ndef use(): context.Queue()\n',
    "below-the-guard": f'if __name__ == "__main__":\n    {SET}\n',
    "in-its-own-program": (
        'def main():\n    multiprocessing.set_start_method("fork")\n\n'
        'if __name__ == "__main__":\n    main()\n'
    ),
    "a-command": (
        "import argparse\n\ndef run(args: argparse.Namespace) -> None:\n"
        "    multiprocessing.set_start_method(args.method)\n"
    ),
    "a-command-of-a-parser": (
        "def run(args):\n    multiprocessing.set_start_method(args.method)\n\n"
        "def add_parser(commands):\n    commands.add_parser('run').set_defaults(func=run)\n"
    ),
    "a-question": "def use(): multiprocessing.get_start_method(allow_none=True)\n",
}
EVERY = {**FAULTS, **SOUND}
USER = """
import multiprocessing, engine.core
getattr(engine.core, "use", lambda: None)()
multiprocessing.set_start_method("spawn")
"""


def laid_out(body: str, folder: Path) -> list[int]:
    (folder / "engine").mkdir()
    (folder / "engine/__init__.py").write_text("")
    text = f"{HEAD}{body}"
    (folder / "engine/core.py").write_text(text)
    return [number for number, line in enumerate(text.split("\n"), 1) if line.endswith("# fault")]


def said(folder: Path) -> list[int]:
    report = coldfork.check([folder / "engine"], target_version="3.11")
    return [finding.line for finding in report.findings if finding.rule == RULE]


@pytest.mark.parametrize("name", EVERY)
def test_a_program_that_uses_it_cannot_set_its_own(name: str, tmp_path: Path) -> None:
    marked = laid_out(EVERY[name], tmp_path)
    assert said(tmp_path) == marked
    if ALONE:
        return
    command = [sys.executable, "-c", USER]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ("context has already been set" in ended.stderr) is bool(marked), ended.stderr


def test_the_function_behind_a_command_is_the_program(tmp_path: Path) -> None:
    laid_out(FAULTS["in-a-function"], tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\nengine = "engine.core:use"\n')
    assert said(tmp_path) == []


def test_a_method_is_the_library_s_though_a_program_comes_to_it(tmp_path: Path) -> None:
    marked = laid_out(FAULTS["in-a-constructor"], tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\nengine = "engine.core:use"\n')
    assert said(tmp_path) == marked


def test_a_script_sets_its_own(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f'{HEAD}multiprocessing.set_start_method("spawn")\nprint("training")\n'
    )
    report = coldfork.check([tmp_path], target_version="3.11")
    assert [finding.rule for finding in report.findings if finding.rule == RULE] == []
