"""Choices by PyTorch's flag: the driver may be awake while it is False, and then the fork breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

import coldfork
from tests.rules.processes.lines import ended, is_run, lines_of, marked

RULE = "initialised-flag-as-fork-guard"
HEAD = "import os, multiprocessing\nimport torch\n\ndef work():\n    torch.zeros(1, device='cuda')\n\n"
USE = """
if __name__ == "__main__":
    torch.cuda.is_available()
    choose()
    method = os.environ.get("WORKER_MULTIPROC_METHOD") or multiprocessing.get_start_method()
    worker = multiprocessing.get_context(method).Process(target=work)
    worker.start()
    worker.join()
"""
FAULTS = {
    "a-variable": """
def choose():
    reasons = []
    if torch.cuda.is_initialized():  # fault
        reasons.append("the device is in use")
    if reasons:
        os.environ["WORKER_MULTIPROC_METHOD"] = "spawn"
""",
    "a-method": """
def choose():
    multiprocessing.set_start_method("spawn" if torch.cuda.is_initialized() else "fork")  # fault
""",
    "through-a-function": """
def is_awake():
    if not torch.cuda._is_compiled():
        return False
    return torch.cuda.is_initialized()

def choose():
    if is_awake():  # fault
        os.environ["WORKER_MULTIPROC_METHOD"] = "spawn"
""",
}
SOUND = {
    "always": """
def choose():
    multiprocessing.set_start_method("spawn")
    print(torch.cuda.is_available())
""",
    "wherever-there-is-a-device": """
def choose():
    if torch.cuda.is_available() or torch.cuda.is_initialized():
        os.environ["WORKER_MULTIPROC_METHOD"] = "spawn"
""",
}
OTHERS = {
    "a-question-about-something-else": (
        "def choose():\n    if torch.cuda.is_initialized():\n        torch.cuda.synchronize()\n"
        "    return multiprocessing.get_context('spawn')\n"
    ),
    "a-question-of-its-own": "def seed():\n    if torch.cuda.is_initialized():\n        print('seeded')\n",
    "another-flag": (
        "def choose():\n    if torch.distributed.is_initialized():\n"
        "        multiprocessing.set_start_method('spawn')\n"
    ),
    "the-driver-too": (
        "def choose():\n    if torch.cuda.is_initialized() or is_driver_awake():\n"
        "        multiprocessing.set_start_method('spawn')\n"
    ),
}
EVERY = {**FAULTS, **SOUND}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    text = f"{HEAD}{EVERY[name]}{USE}"
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    if is_run(name, EVERY):
        pytest.importorskip("torch")
        told = ended(tmp_path, "--strict", "--virtual", "h100").stderr
        assert ("coldfork: poisoned: " in told) is (name in FAULTS), told


@pytest.mark.parametrize("name", OTHERS)
def test_other_questions_are_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(f"{HEAD}{OTHERS[name]}")
    assert lines_of(RULE, tmp_path, "3.11") == []


def test_the_flag_may_be_asked_in_another_module(tmp_path: Path) -> None:
    package = tmp_path / "engine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "flags.py").write_text(
        "import torch\n\ndef xpu_is_initialized(): return torch.xpu.is_initialized()\n"
    )
    (package / "system.py").write_text(
        "import multiprocessing\nfrom .flags import xpu_is_initialized\n\n"
        "class Engine:\n    def context(self):\n"
        "        return multiprocessing.get_context('spawn' if xpu_is_initialized() else 'fork')\n"
    )
    report = coldfork.check([package], target_version="3.11")
    (found,) = [finding for finding in report.findings if finding.rule == RULE]
    assert (found.path, found.line) == ("engine/system.py", 6)
    assert "torch.xpu.is_initialized()" in found.message
