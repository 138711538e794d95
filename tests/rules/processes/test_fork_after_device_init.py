"""Programs that fork too late: what `check` says of each is what happens when it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import coldfork
from tests.amounts import step
from tests.rules.processes.lines import ALONE, ended, lines_of, marked, without_packages
from tests.rules.processes.programs_that_fork import FAULTS, SOUND

RULE = "fork-after-device-init"
EVERY = {**FAULTS, **SOUND}


def laid_out(text: str, folder: Path) -> dict[str, list[int]]:
    """Write the files of a program; the lines of each that are at fault."""
    parts = text.split("### ")
    files = {"run.py": parts[0]} if len(parts) == 1 else {}
    for part in parts[1:]:
        name, _, body = part.partition("\n")
        files[name] = body
    marked = {}
    for name, body in files.items():
        (folder / name).write_text(body)
        marked[name] = [n for n, line in enumerate(body.split("\n"), 1) if line.endswith("# fault")]
    return {name: lines for name, lines in marked.items() if lines}


def said(folder: Path, version: str = "3.11") -> dict[str, list[int]]:
    without_packages(folder)
    report = coldfork.check([folder], target_version=version)
    found: dict[str, list[int]] = {}
    for finding in report.findings:
        if finding.rule == RULE:
            found.setdefault(Path(finding.path).name, []).append(finding.line)
    return found


@pytest.mark.parametrize("name", EVERY)
def test_the_line_that_forks_too_late_is_named_and_no_other(name: str, tmp_path: Path) -> None:
    marked = laid_out(EVERY[name], tmp_path)
    assert said(tmp_path) == marked


@pytest.mark.once
@pytest.mark.parametrize("name", list(EVERY)[:: step(5)])
def test_it_is_what_happens(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    fails = bool(laid_out(EVERY[name], tmp_path))
    command = [sys.executable, "-m", "coldfork", "run", "--strict", "--virtual", "h100", "run.py"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    # The virtual device computes nothing: a child that may use it ends as well, but for another reason.
    assert ("coldfork: poisoned: " in ended.stderr) is fails, ended.stderr
    assert ended.returncode or not fails


def test_a_notebook_is_a_program(tmp_path: Path) -> None:
    texts = (
        "import multiprocessing, torch\ndef work(i): torch.ones(1, device='cuda')\n",
        "torch.cuda.init()\n",
        "with multiprocessing.Pool(2) as pool:\n    pool.map(work, range(4))\n",
    )
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for text in texts
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "nb.ipynb").write_text(json.dumps(notebook))
    without_packages(tmp_path)
    report = coldfork.check([tmp_path], target_version="3.11")
    (found,) = [finding for finding in report.findings if finding.rule == RULE]
    assert found.text == "with multiprocessing.Pool(2) as pool:"
    assert [way.role for way in found.ways] == ["before", "child"]
    assert "into a module" in found.remedy


def test_the_default_method_is_that_of_the_target_version(tmp_path: Path) -> None:
    laid_out(FAULTS["a-process-by-default"], tmp_path)
    assert said(tmp_path, "3.13")
    assert not said(tmp_path, "3.14")


def test_of_an_edited_program_the_session_knows(tmp_path: Path) -> None:
    laid_out(SOUND["a-child-without-a-device"], tmp_path)
    without_packages(tmp_path)
    text = (tmp_path / "run.py").read_text()
    with coldfork.CheckSession(cache=False) as session:
        before = session.check([tmp_path])
        edited = text.replace("return i * 2", "return torch.ones(i, device='cuda')")
        after = session.check([tmp_path], overlays={tmp_path / "run.py": edited})
        again = session.check([tmp_path])
    found = [
        [finding.rule for finding in one.findings if finding.rule == RULE] for one in (before, after, again)
    ]
    assert found == [[], [RULE], []]


@pytest.mark.skipif(sys.platform == "emscripten", reason="no process can start another one there")
def test_what_was_remembered_is_told_again(tmp_path: Path) -> None:
    laid_out(FAULTS["a-pool"], tmp_path)
    without_packages(tmp_path)
    command = [sys.executable, "-m", "coldfork", "check", ".", "--format", "json", "--exit-zero"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    told = []
    for _ in range(2):
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        told.append(json.loads(ended.stdout)["findings"])
    assert told[0] == told[1]
    assert [finding["rule"] for finding in told[0]] == [RULE]
    assert [way["role"] for way in told[0][0]["ways"]] == ["program", "before", "child"]


LAUNCH = """import multiprocessing

def launch(work): multiprocessing.get_context('fork').Process(target=work).start()
"""
CLICKED = """
import click
import torch
from click import command as made
from engine.launch import launch

def work(): torch.zeros(1, device="cuda")

@made()
@click.option("--count", default=1)
def main(count):
    torch.cuda.init()
    for _ in range(count):
        launch(work)
"""


@pytest.mark.parametrize("where", ["pyproject", "poetry", "setup.cfg", "wheel"])
def test_what_commands_call_is_followed_wherever_they_are_listed(where: str, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine/__init__.py").write_text("")
    (tmp_path / "engine/cli.py").write_text(CLICKED)
    (tmp_path / "engine/launch.py").write_text(LAUNCH)
    listed = "engine = engine.cli:main"
    texts = {
        "pyproject": ("pyproject.toml", '[project.scripts]\nengine = "engine.cli:main"\n'),
        "poetry": ("pyproject.toml", '[tool.poetry.scripts]\nengine = "engine.cli:main"\n'),
        "setup.cfg": ("setup.cfg", f"[options.entry_points]\nconsole_scripts =\n    {listed}\n"),
        "wheel": ("engine-1.0.dist-info/entry_points.txt", f"[console_scripts]\n{listed}\n"),
    }
    name, text = texts[where]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert said(tmp_path) == {"launch.py": [3]}
    (tmp_path / name).write_text("")
    assert said(tmp_path) == {}


SETTING = 'import multiprocessing\n\nmultiprocessing.set_start_method("spawn", force=True)\n'
#: By what is imported: the files of a package that sets the method, or does not.
SETTERS = {
    "by-the-module": ({"launcher.py": SETTING}, []),
    "by-its-package": ({"__init__.py": SETTING, "launcher.py": ""}, []),
    "by-what-it-imports": ({"launcher.py": "import engine.deeper\n", "deeper.py": SETTING}, []),
    "by-none": ({"launcher.py": ""}, ["run.py"]),
    "by-a-function": ({"launcher.py": f"def use():\n    {SETTING.splitlines()[-1]}\n"}, ["run.py"]),
}
BY_DEFAULT = """import multiprocessing
import sys

import torch

import engine.launcher

def work():
    torch.cuda.synchronize()

if __name__ == "__main__":
    torch.cuda.init()
    child = multiprocessing.Process(target=work)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


def importing(setter: str, folder: Path) -> None:
    """Write a program that starts a child by default, and the package that it imports."""
    (folder / "engine").mkdir()
    for name, text in {"__init__.py": "", **SETTERS[setter][0]}.items():
        (folder / "engine" / name).write_text(text)
    (folder / "run.py").write_text(BY_DEFAULT)


@pytest.mark.parametrize("setter", SETTERS)
def test_a_method_that_an_import_has_set_holds(setter: str, tmp_path: Path) -> None:
    importing(setter, tmp_path)
    expected = SETTERS[setter][1]
    assert list(said(tmp_path)) == expected
    if ALONE or sys.version_info >= (3, 14):
        return
    asked = "import multiprocessing, engine.launcher; print(multiprocessing.get_start_method())"
    told = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert told.stdout == ("fork\n" if expected else "spawn\n")


@pytest.mark.skipif(
    ALONE or sys.version_info >= (3, 14), reason="the default is another, or no process starts"
)
@pytest.mark.parametrize(("setter", "status"), [("by-the-module", 0), ("by-none", 1)])
def test_the_method_that_an_import_has_set_decides(setter: str, status: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    importing(setter, tmp_path)
    told = ended(tmp_path, "--virtual", "h100")
    assert told.returncode == status, told.stderr


LAUNCHING = """
import multiprocessing, sys
import torch

def work():
    torch.cuda.synchronize()

def launch():
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()  # fault
    child.join()
    sys.exit(child.exitcode)

"""
#: Commands of one program: `train` wakes the device before it forks, and `info` does not.
COMMANDS = {
    "argparse": """
import argparse

def train(args):
    torch.cuda.init()
    launch()

def info(args):
    launch()

def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for command in (train, info):
        print(commands.add_parser(command.__name__))
    commands.choices["train"].set_defaults(func=train)
    commands.choices["info"].set_defaults(func=info)
    args = parser.parse_args()
    args.func(args)
""",
    "click": """
import click

@click.group()
def main():
    pass

@main.command()
def train():
    torch.cuda.init()
    launch()

@main.command()
def info():
    launch()
""",
}


@pytest.mark.parametrize("library", COMMANDS)
def test_what_a_parser_of_command_lines_calls_is_followed(library: str, tmp_path: Path) -> None:
    text = f"{LAUNCHING}{COMMANDS[library]}\nif __name__ == '__main__':\n    main()\n"
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    harmless = text.replace("    torch.cuda.init()\n", "")
    (tmp_path / "run.py").write_text(harmless)
    assert lines_of(RULE, tmp_path, "3.11") == []
    if ALONE:
        return
    pytest.importorskip("torch")
    (tmp_path / "run.py").write_text(text)
    command = [sys.executable, "-m", "coldfork", "run", "--virtual", "h100", "run.py"]
    ends = {}
    for name in ("train", "info"):
        one = subprocess.run([*command, name], cwd=tmp_path, capture_output=True, timeout=120, check=False)
        ends[name] = one.returncode
    assert ends == {"train": 1, "info": 0}


def test_what_a_package_is_started_as_imports_what_lies_in_it(tmp_path: Path) -> None:
    """A relative import of a program is one of the package that it lies in, and of no other."""
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine/core.py").write_text("import torch\n\ndef work(): torch.zeros(1, device='cuda')\n")
    (tmp_path / "engine/__init__.py").write_text(
        "import multiprocessing, torch\nfrom . import core\nfrom .core import work\n"
        "from .absent import other\n\n"
        "class App:\n    @staticmethod\n    def run():\n        torch.cuda.init()\n"
        "        multiprocessing.get_context('fork').Process(target=core.work).start()\n"
    )
    (tmp_path / "empty").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[project.scripts]\nengine = "engine:App.run"\n[tool.coldfork]\nsite-packages = ["empty"]\n'
    )
    report = coldfork.check([tmp_path / "engine"], target_version="3.11")
    assert [(finding.rule, finding.line) for finding in report.findings] == [(RULE, 10)]
    assert report.statistics.modules == 2


def test_somebody_who_edits_a_long_program_is_answered_in_time(tmp_path: Path) -> None:
    calls = "".join(f"    work({n})\n" for n in range(1_500))
    text = f"import multiprocessing\n\ndef work(i):\n    return i\n\nif __name__ == '__main__':\n{calls}"
    (tmp_path / "run.py").write_text(text)
    with coldfork.CheckSession(cache=False) as session:
        whole = session.check([tmp_path])
        hurried = session.check([tmp_path], overlays={tmp_path / "run.py": f"{text}    work(0)\n"})
    assert whole.unfinished == ()
    assert [(one.path, one.what) for one in hurried.unfinished] == [("run.py", "budget")]


HANDED = """
import multiprocessing, torch

def work(i=0): torch.zeros(1, device="cuda")

if __name__ == "__main__":
    torch.cuda.init()
    multiprocessing.get_context("fork").Process(target={target}).start()
    print(coldfork.decide({target}).method)
"""


@pytest.mark.once
@pytest.mark.parametrize("target", ["work", "lambda: work()"])
def test_the_remedy_names_what_decide_chooses(target: str, tmp_path: Path) -> None:
    """While the program runs and where its source is read, one is told the same."""
    pytest.importorskip("torch")
    text = HANDED.format(target=target)
    (tmp_path / "run.py").write_text(text)
    without_packages(tmp_path)
    report = coldfork.check([tmp_path / "run.py"], target_version="3.11")
    (found,) = [finding for finding in report.findings if finding.rule == RULE]
    assert found.consequence == "the child fails, because its function touches cuda (run.py:4)"
    (tmp_path / "run.py").write_text(f"import coldfork\n{text}")
    told = ended(tmp_path, "--virtual", "h100").stdout.split()
    assert [f'get_context("{method}")' for method in told if method in found.remedy] == [
        'get_context("spawn")'
    ]
    assert ("a lambda" in found.remedy) is ("lambda" in target)
