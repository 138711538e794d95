"""Variables of the environment: what a server starts with, and which of them mean another server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.launch.server import variables
from coldfork.launch.server.zygote.handle import zygote
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "warm-workers.md"


def worker_s(context: object, name: str) -> str | None:
    """A variable, as a worker has it."""
    answers = context.SimpleQueue()  # type: ignore[attr-defined]
    process = context.Process(target=targets.tell_variable, args=(answers, name))  # type: ignore[attr-defined]
    process.start()
    found: str | None = answers.get()
    process.join(LIMIT)
    return found


def test_the_page_names_every_variable_that_is_read_early() -> None:
    table = (
        PAGE.read_text(encoding="utf-8").partition("## Variables that come too late")[2].partition("\n## ")[0]
    )
    named = set(re.findall(r"`([A-Z_]+)\*?`", table))
    assert {prefix for prefix, _ in variables.READ_EARLY} <= named
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS"} <= named


def test_pools_of_threads_are_held_at_one_in_the_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setenv("MKL_NUM_THREADS", "6")
    with zygote() as made:
        made.wait(LIMIT)
        pairs = Path(f"/proc/{made.pid}/environ").read_text(encoding="utf-8").split("\0")
        served = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        assert {name: served.get(name) for name in variables.HELD} == variables.HELD
        assert "MKL_NUM_THREADS" not in served
        assert worker_s(made.context, "OMP_NUM_THREADS") == "5"
        assert worker_s(made.context, "MKL_NUM_THREADS") == "6"
        assert worker_s(made.context, "PYTORCH_NVML_BASED_CUDA_CHECK") is None


def test_a_variable_that_the_interpreter_has_read_means_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with zygote() as made:
        before = made.wait(LIMIT).pid
        monkeypatch.setenv("PYTHONHASHSEED", "7")
        assert worker_s(made.context, "PYTHONHASHSEED") == "7"
        assert made.pid not in (before, None)
        another = made.pid
        assert worker_s(made.context, "PYTHONHASHSEED") == "7"
        assert made.pid == another


@pytest.mark.once
def test_so_does_one_that_a_preloaded_module_has_read_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "huggingface_hub.py").write_text(
        "import os\nHOME = os.environ.get('HF_HOME')\n", encoding="utf-8"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with zygote(["huggingface_hub"]) as made:
        before = made.wait(LIMIT).pid
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
        assert worker_s(made.context, "NUMBA_DISABLE_JIT") == "1"
        assert made.pid == before
        monkeypatch.setenv("HF_HOME", str(tmp_path))
        assert worker_s(made.context, "HF_HOME") == str(tmp_path)
        assert made.pid != before


@pytest.mark.once
def test_other_rights_mean_another_server(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import ctypes\n"
        "import coldfork\n"
        "def work():\n"
        "    print(*(line for line in open('/proc/self/status') if 'NoNewPrivs' in line), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    with coldfork.zygote() as zygote:\n"
        "        before = zygote.wait().pid\n"
        "        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
        "        process = zygote.context.Process(target=work)\n"
        "        process.start()\n"
        "        process.join()\n"
        "        print('another', zygote.pid != before)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    # A caller that may gain no rights any more has no worker that may.
    assert done.stdout.split() == ["NoNewPrivs:", "1", "another", "True"]


def test_the_example_of_the_page_works(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert (done.stdout, done.stderr) == ("[0, 1, 4, 9]\n", "")
