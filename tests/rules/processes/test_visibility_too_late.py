"""Variables that the driver has read by then: what is written later changes nothing, as a program sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ALONE, ended, is_run, lines_of, marked, program

RULE = "visibility-too-late"
HEAD = "import os, subprocess, sys\nimport torch\n\n"
HIDE = 'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # fault'
SEEN = 'print("seen" if torch.cuda.is_available() else "hidden")'
FAULTS = {
    "behind-a-context": f"torch.cuda.init()\n{HIDE}",
    "behind-the-driver": f"print(torch.cuda.is_available())\n{HIDE}",
    "behind-a-choice": f"torch.cuda.set_device(0)\n{HIDE}",
    "by-update": 'torch.cuda.init()\nos.environ.update({"CUDA_VISIBLE_DEVICES": "-1"})  # fault',
    "by-setdefault": 'torch.cuda.init()\nos.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # fault',
}
SOUND = {
    "in-time": HIDE.replace("  # fault", ""),
    "behind-what-wakes-nothing": f"torch.ones(1)\nprint(torch.__version__)\n{HIDE}".replace("  # fault", ""),
}
EVERY = {**FAULTS, **SOUND}


#: What a module does that imports torch before the program that imports it writes the variable.
MODULES = {
    "def make():\n    return torch.nn.Linear(1, 1)\n": "hidden\n",
    "HAS_CUDA = torch.cuda.is_available()\n": "seen\n",
    "DEVICE = torch.cuda.current_device()\n": "seen\n",
}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    text = program(HEAD, f"{EVERY[name]}\n{SEEN}")
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    if not is_run(name, EVERY):
        return
    pytest.importorskip("torch")
    told = ended(tmp_path, "--virtual", "h100").stdout
    assert told.endswith("seen\n" if name in FAULTS else "hidden\n"), told


@pytest.mark.parametrize(
    "start",
    ["subprocess.run([sys.executable, '-c', 'pass'], check=True)", "os.execv(sys.executable, sys.argv)"],
)
def test_for_the_processes_that_a_function_starts_it_is_in_time(start: str, tmp_path: Path) -> None:
    text = program(HEAD, f"torch.cuda.init()\n{HIDE.replace('  # fault', '')}\n{start}")
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == []


MANAGERS = {
    "a-function": """
@contextlib.contextmanager
def only(device):
    os.environ["CUDA_VISIBLE_DEVICES"] = device
    yield
""",
    "a-class": """
class only:
    def __init__(self, device):
        self.device = device
    def __enter__(self):
        os.environ["CUDA_VISIBLE_DEVICES"] = self.device
    def __exit__(self, *problem):
        pass
""",
}
AROUND = {
    "a-process": (False, "subprocess.run([sys.executable, '-c', 'pass'], check=True)"),
    "nothing-else": (True, "torch.cuda.device_count()"),
}


@pytest.mark.parametrize("inside", AROUND)
@pytest.mark.parametrize("manager", MANAGERS)
def test_a_context_manager_sets_it_for_what_is_started_inside(
    manager: str, inside: str, tmp_path: Path
) -> None:
    late, statement = AROUND[inside]
    body = f'torch.cuda.init()\nwith only("-1"):\n    {statement}'
    text = program(f"import contextlib\n{HEAD}{MANAGERS[manager]}", body)
    (tmp_path / "run.py").write_text(text)
    assert bool(lines_of(RULE, tmp_path, "3.11")) is late


def test_the_lines_of_a_program_set_it_for_the_processes_that_they_start(tmp_path: Path) -> None:
    start = "subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    (tmp_path / "run.py").write_text(
        f"{HEAD}if __name__ == '__main__':\n    torch.cuda.init()\n    {HIDE}\n    {start}\n"
    )
    assert lines_of(RULE, tmp_path, "3.11") == []


@pytest.mark.parametrize("body", MODULES)
def test_an_import_that_wakes_the_driver_is_too_early(body: str, tmp_path: Path) -> None:
    late = MODULES[body] == "seen\n"
    (tmp_path / "model.py").write_text(f"import torch\n\n{body}")
    hide = HIDE if late else HIDE.replace("  # fault", "")
    text = f"import os\nimport model\n{hide}\nimport torch\n{SEEN}\n"
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    if ALONE:
        return
    pytest.importorskip("torch")
    told = ended(tmp_path, "--virtual", "h100").stdout
    assert told.endswith(MODULES[body]), told


def test_a_helper_sets_it_for_the_processes_that_its_caller_starts(tmp_path: Path) -> None:
    helper = "def prepare():\n    torch.cuda.init()\n    " + HIDE + "\n\n"
    start = "subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    (tmp_path / "run.py").write_text(program(HEAD + helper, f"prepare()\n{start}"))
    assert lines_of(RULE, tmp_path, "3.11") == []
    text = program(HEAD + helper, "prepare()")
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)


def test_a_variable_of_another_driver_is_its_own(tmp_path: Path) -> None:
    other = HIDE.replace("CUDA_", "ROCR_").replace("  # fault", "")
    (tmp_path / "run.py").write_text(program(HEAD, f"torch.cuda.init()\n{other}"))
    assert lines_of(RULE, tmp_path, "3.11") == []


def test_a_function_of_a_library_may_be_too_late_by_itself(tmp_path: Path) -> None:
    text = f"{HEAD}def select(device):\n    torch.cuda.set_device(0)\n    {HIDE}\n"
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
