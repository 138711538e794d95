"""Decisions in real processes: the virtual device drives the rows of CUDA, and deciding changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"

PRELUDE = """
import json, os, signal, sys, threading
import coldfork
told = {}

def decided(**options):
    decision = coldfork.decide(**options)
    return [decision.method, [reason.code for reason in decision.against("fork")]]

def status(accelerator="cuda"):
    return next([one.status, one.level] for one in coldfork.state() if one.accelerator == accelerator)

def in_child(ask):
    receiving, sending = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)
        os.write(sending, json.dumps(ask()).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads Linux's /proc")


def run(program: str, *arguments: str, folder: Path | None = None, **variables: str) -> dict[str, Any]:
    """Return what a program prints that a fresh interpreter runs after the prelude."""
    dropped = ("COLDFORK_GUARD", "COLDFORK_VIRTUAL", "CUDA", "OMP")
    given = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            f"{PRELUDE}\n{textwrap.dedent(program)}\nprint(json.dumps(told))",
        ],
        env=given | variables,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.must_hold
def test_cuda_at_every_stage_on_the_virtual_device() -> None:
    pytest.importorskip("torch")
    said = run(
        """
        import coldfork.virtual
        told["nothing"] = [status(), decided(), decided(strict=True)]
        coldfork.virtual.install("h100", 2)
        told["device"] = [status(), decided(), decided(strict=True)]
        import torch
        told["torch"] = [status(), decided(), decided(strict=True)]
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        told["hidden"] = [status(), decided(), decided(strict=True)]
        del os.environ["CUDA_VISIBLE_DEVICES"]
        told["child of cold"] = in_child(lambda: [status(), decided()])
        torch.cuda.is_available()
        told["driver"] = [status(), torch.cuda.is_initialized(), decided()]
        told["child of driver"] = in_child(lambda: [status(), decided()])
        torch.cuda.current_device()
        told["context"] = [status(), decided()]
        told["child of context"] = in_child(lambda: [status(), decided()])
        """
    )
    cold, fork = ["cold", None], ["fork", []]
    strict = ["spawn", ["framework-and-device"]]
    assert said["nothing"] == [["absent", None], fork, fork]
    assert said["device"] == [cold, fork, fork]
    assert said["torch"] == [cold, fork, strict]
    assert said["hidden"] == [cold, fork, fork]
    # What a child has inherited cannot be told where nobody recorded it at the fork.
    assert said["child of cold"] == [["unknown", None], ["spawn", ["cuda-unknown", "openmp-unknown"]]]
    assert said["driver"] == [["awake", "driver"], False, ["spawn", ["cuda-awake"]]]
    assert said["child of driver"][1][0] == "spawn"
    assert said["context"] == [["awake", "context"], ["spawn", ["cuda-awake"]]]
    assert said["child of context"][1][0] == "spawn"


@pytest.mark.must_hold
def test_under_the_guard_a_child_knows_cold_from_poisoned_and_the_waker_by_name(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "waker.py").write_text("import torch\n\nSEEN = torch.cuda.is_available()\n", encoding="utf-8")
    said = run(
        """
        import coldfork.virtual
        coldfork.virtual.install("h100")
        coldfork.guard("log")
        import torch
        told["child of cold"] = in_child(lambda: [status(), decided()])
        import waker
        told["line"] = coldfork.decide().line()
        told["waker"] = next(one.waker.module for one in coldfork.state() if one.accelerator == "cuda")
        told["child"] = in_child(lambda: [status(), decided(), coldfork.decide().reasons[0].waker.module])
        """,
        PYTHONPATH=os.pathsep.join([str(SOURCES), str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    )
    assert said["child of cold"] == [["cold", None], ["fork", []]]
    assert said["line"].startswith("spawn, because cuda is awake here (level driver) (woken by ")
    assert said["waker"] == "waker"
    assert said["child"] == [["poisoned", None], ["spawn", ["cuda-poisoned"]], "waker"]


def test_without_pytorch_nothing_speaks_against_a_fork() -> None:
    said = run("told['decided'] = decided(); told['line'] = str(coldfork.decide())")
    assert said == {"decided": ["fork", []], "line": "fork, because nothing speaks against it"}


def test_the_states_are_the_evidence() -> None:
    said = run(
        """
        decision = coldfork.decide()
        told["same"] = decision.evidence == coldfork.state()
        told["names"] = [one.accelerator for one in decision.evidence]
        """
    )
    assert said["same"]
    assert said["names"] == [
        "cuda",
        "rocm",
        "xpu",
        "opencl",
        "jax",
        "jax-cpu",
        "openmp",
        "polars",
        "tokenizers",
    ]


@pytest.mark.must_hold
def test_deciding_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "target.py").write_text("raise SystemExit('the target was imported')\n", encoding="utf-8")
    said = run(
        """
        import logging, multiprocessing, signal, warnings
        from coldfork.start import decide as home
        def picture():
            return {
                "environment": dict(os.environ),
                "method": multiprocessing.get_start_method(allow_none=True),
                "descriptors": sorted(os.listdir("/proc/self/fd")),
                "threads": sorted(os.listdir("/proc/self/task")),
                "filters": [str(one) for one in warnings.filters],
                "handlers": [str(signal.getsignal(one)) for one in (signal.SIGCHLD, signal.SIGALRM)],
                "folder": os.getcwd(),
                "path": list(sys.path),
            }
        coldfork.decide()
        coldfork.decide("target:work")
        before, modules = picture(), set(sys.modules)
        told["target"] = decided(target="target:work", strict=True)
        told["same"] = picture() == before
        told["imported"] = sorted(set(sys.modules) - modules)
        told["the target"] = "target" in sys.modules
        try:
            os.waitpid(-1, os.WNOHANG)
            told["children"] = True
        except ChildProcessError:
            told["children"] = False
        """,
        PYTHONPATH=os.pathsep.join([str(SOURCES), str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        COLDFORK_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert said == {
        "target": ["fork", []],
        "same": True,
        "imported": [],
        "the target": False,
        "children": False,
    }


@pytest.mark.must_hold
def test_a_clean_server_is_used_where_it_pays_and_works_although_the_parent_is_dirty(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import json, multiprocessing, os
            import coldfork

            def work():
                import torch
                torch.ones(4_000_000).exp().sum().item()

            def line():
                return str(coldfork.decide())

            def start(context):
                process = context.Process(target=work)
                process.start()
                process.join(60)
                return process.exitcode

            if __name__ == "__main__":
                work()
                told = {"without": line()}
                # A module that wakes nothing; without it the server would have nothing to preload.
                multiprocessing.set_forkserver_preload(["decimal"])
                told["with"] = line()
                context = coldfork.get_context()
                told["method"] = context.get_start_method()
                told["exit"] = start(context)
                told["running"] = line()
                os.environ["CUDA_VISIBLE_DEVICES"] = "1"
                told["changed"] = coldfork.decide().method
                told["why"] = [one.text for one in coldfork.decide().against("forkserver")]
                print(json.dumps(told))
            """
        ),
        encoding="utf-8",
    )
    given = {
        key: value for key, value in os.environ.items() if not key.startswith(("COLDFORK", "CUDA", "OMP"))
    }
    given["PYTHONPATH"] = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    given["OMP_NUM_THREADS"] = "2"
    done = subprocess.run(
        [sys.executable, str(program)], env=given, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said.pop("without").startswith("spawn, because this thread has run OpenMP regions")
    assert said.pop("with").startswith("forkserver, because this thread has run OpenMP regions")
    assert said.pop("running").startswith("forkserver, because ")
    assert said == {
        "method": "forkserver",
        "exit": 0,
        "changed": "spawn",
        "why": ["its server was started with a different environment (CUDA_VISIBLE_DEVICES)"],
    }


def test_a_child_forked_from_a_fresh_thread_has_no_pool_to_wait_for() -> None:
    pytest.importorskip("torch")
    said = run(
        """
        import torch
        torch.set_num_threads(2)
        def work():
            torch.ones(4_000_000).exp().sum().item()
        work()
        told["main"] = decided()[1]
        answers = []
        def elsewhere():
            answers.append(decided()[1])
            work()
            answers.append(decided()[1])
        thread = threading.Thread(target=elsewhere)
        thread.start(); thread.join()
        told["elsewhere"] = answers
        """
    )
    mine = "openmp-pool-of-this-thread"
    assert said == {"main": [mine], "elsewhere": [[], [mine]]}
