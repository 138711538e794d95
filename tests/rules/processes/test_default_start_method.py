"""Processes that start by default: the same program ends differently where that is another method."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ALONE, ended, lines_of, marked, program

RULE = "default-start-method"
HEAD = """import multiprocessing
import torch

def work(i=0):
    torch.zeros(1, device="cuda")

"""
FAULTS = {
    "behind-a-wake": "torch.cuda.init()\none = multiprocessing.Process(target=work)\none.start()  # fault",
    "a-lambda": "one = multiprocessing.Process(target=lambda: work())\none.start()  # fault",
    "a-pool": (
        "torch.cuda.init()\nwith multiprocessing.Pool(1) as pool:  # fault\n    pool.map(work, range(2))"
    ),
}
SOUND = {
    "a-method-that-is-stated": (
        'one = multiprocessing.get_context("spawn").Process(target=work)\none.start()\none.join()'
    ),
    "a-method-that-was-set": (
        'multiprocessing.set_start_method("fork")\none = multiprocessing.Process(target=work)\none.start()'
    ),
    "in-a-cold-process": "one = multiprocessing.Process(target=work)\none.start()",
    "no-device": "one = multiprocessing.Process(target=print)\none.start()",
    "no-device-in-the-child": "torch.cuda.init()\none = multiprocessing.Process(target=print)\none.start()",
}
EVERY = {**FAULTS, **SOUND}
SPANNING = {
    "pyproject": ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.10"\n'),
    "poetry": ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\n'),
    "setup.cfg": ("setup.cfg", "[options]\npython_requires = >=3.8, !=3.9.0\n"),
    "setup.py": ("setup.py", 'from setuptools import setup\nsetup(name="x", python_requires=">=3.8")\n'),
}
OTHERS = {
    "only-older": (
        "pyproject.toml",
        '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.10,<3.14"\n',
    ),
    "only-newer": ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.14"\n'),
    "poetry-s-older": ("pyproject.toml", '[tool.poetry.dependencies]\npython = "~3.11"\n'),
    "unreadable": ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\nrequires-python = "new"\n'),
    "unsaid": ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\n'),
}


def laid_out(folder: Path, body: str, file: tuple[str, str]) -> str:
    name, said = file
    (folder / name).write_text(said)
    text = program(HEAD, body)
    (folder / "run.py").write_text(text)
    return text


@pytest.mark.parametrize("version", ["3.12", "3.14"])
@pytest.mark.parametrize("name", EVERY)
def test_a_default_that_differs_is_reported_where_a_device_is_concerned(
    name: str, version: str, tmp_path: Path
) -> None:
    text = laid_out(tmp_path, EVERY[name], SPANNING["pyproject"])
    assert lines_of(RULE, tmp_path, version) == marked(text)


@pytest.mark.parametrize("file", SPANNING)
def test_the_supported_pythons_are_read_from_the_project_s_file(file: str, tmp_path: Path) -> None:
    text = laid_out(tmp_path, FAULTS["behind-a-wake"], SPANNING[file])
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)


@pytest.mark.parametrize("file", OTHERS)
def test_a_project_with_one_default_is_left_alone(file: str, tmp_path: Path) -> None:
    laid_out(tmp_path, FAULTS["behind-a-wake"], OTHERS[file])
    assert lines_of(RULE, tmp_path, "3.11") == []


@pytest.mark.once
@pytest.mark.skipif(ALONE, reason="no process can start another one there")
def test_the_same_program_breaks_by_the_one_and_works_by_the_other(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    laid_out(tmp_path, FAULTS["behind-a-wake"], SPANNING["pyproject"])
    options = ("--strict", "--virtual", "h100")
    assert "coldfork: poisoned: " in ended(tmp_path, *options).stderr
    text = (tmp_path / "run.py").read_text()
    newer = text.replace("def main():\n", "def main():\n    multiprocessing.set_start_method('forkserver')\n")
    (tmp_path / "run.py").write_text(newer)
    assert "coldfork: poisoned: " not in ended(tmp_path, *options).stderr
