"""Launchers that start processes on behalf of a program, by PyTorch, Accelerate and vLLM."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ended, is_run, lines_of, marked, program

HEAD = """import torch
import torch.multiprocessing as mp

def work(rank=0, step=1):
    torch.zeros(1, device="cuda")

"""
FORKING, SENDING = "fork-after-device-init", "unpicklable-target"
SPAWNED = {
    "sent": (SENDING, "mp.spawn(lambda rank: 1, nprocs=1)  # fault", "pickle"),
    "forked": (
        FORKING,
        'torch.cuda.init()\nmp.start_processes(work, (1,), 1, start_method="fork")  # fault',
        "coldfork: poisoned: ",
    ),
    "sound": (FORKING, "torch.cuda.init()\nmp.spawn(print, args=(1,), nprocs=1)", ""),
}


@pytest.mark.parametrize("name", SPAWNED)
def test_torch_starts_what_it_is_told_to(name: str, tmp_path: Path) -> None:
    rule, body, told = SPAWNED[name]
    text = program(HEAD, body)
    (tmp_path / "run.py").write_text(text)
    assert lines_of(rule, tmp_path, "3.11") == marked(text)
    if is_run(name, SPAWNED):
        pytest.importorskip("torch")
        process = ended(tmp_path, "--strict", "--virtual", "h100")
        assert told in process.stderr
        assert bool(process.returncode) is bool(told), process.stderr


@pytest.mark.parametrize(("number", "faults"), [("", 0), (", num_processes=1", 0), (", num_processes=2", 1)])
def test_a_notebook_s_launcher_forks_more_than_one(number: str, faults: int, tmp_path: Path) -> None:
    launch = (
        f"from accelerate import notebook_launcher\ntorch.cuda.init()\nnotebook_launcher(work, (1,){number})"
    )
    (tmp_path / "run.py").write_text(program(HEAD, launch))
    assert len(lines_of(FORKING, tmp_path, "3.11")) == faults


@pytest.mark.parametrize(("method", "faults"), [("spawn", 1), ("fork", 0)])
def test_an_engine_of_vllm_that_spawns_needs_a_guard(method: str, faults: int, tmp_path: Path) -> None:
    text = f'import os\nos.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "{method}"\n'
    (tmp_path / "run.py").write_text(f"{text}from vllm import LLM\nengine = LLM(model='x')\nprint(engine)\n")
    assert len(lines_of("missing-main-guard", tmp_path, "3.11")) == faults
