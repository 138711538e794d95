"""The test list of the note that coldfork's isolated scripts come from, point by point, in its own service.

A speech service has touched the device. It hands transcripts to `post.py`, which punctuates them in worker
processes that use the device as well, and which died with "Cannot re-initialize CUDA in forked subprocess".
Here a service calls coldfork as it would, and each test reads one point of the list off what came back. What
can vary within a point is in `test_script_isolation.py`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import coldfork
from coldfork.knowledge.troubles import seen_in
from tests.launch.scripting import Bench, variables

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
    pytest.mark.must_hold,
]

METHODS = ["spawn", "forkserver"]
CONTEXTS = {"spawn": "SpawnContext", "forkserver": "ForkServerContext"}
RAW = "we begin at nine. the first speaker is ada"
POLISHED = ["We begin at nine.", "The first speaker is ada."]

POST = """
import ctypes, json, multiprocessing, os, sys
import coldfork

def driver():
    return ctypes.CDLL("libcuda.so.1")

def cuda():
    return next(one.status for one in coldfork.state() if one.accelerator == "cuda")

def polish(sentence):
    method, before, code = multiprocessing.get_start_method(), cuda(), driver().cuInit(0)
    return {"text": sentence.capitalize() + ".", "method": method, "before": before, "code": code}

if __name__ == "__main__":
    told = {"before": cuda(), "planted": ["planted_by_the_service" in sys.modules, "/planted" in sys.path]}
    told["method"] = multiprocessing.get_start_method()
    told["context"] = type(multiprocessing.get_context()).__name__
    told["environment"] = dict(os.environ)
    told["code"] = driver().cuInit(0)
    count = ctypes.c_int()
    driver().cuDeviceGetCount(ctypes.byref(count))
    told["devices"] = count.value
    with multiprocessing.Pool(1, maxtasksperchild=1) as pool:
        told["sentences"] = pool.map(polish, sys.stdin.read().split(". "), chunksize=1)
    print(json.dumps(told))
"""

SERVICE = """
import asyncio, ctypes, json, os, sys
import coldfork

post, runs = sys.argv[1:]
coldfork.virtual.install("h100", 2)
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
sys.modules["planted_by_the_service"] = sys
sys.path.insert(0, "/planted")

async def transcript(method):
    result = await coldfork.arun_script(
        post, start_method=method, devices=[1], env={"SPEAKER": "Ada"}, stdin=%(raw)r, log_dir=runs
    )
    return {
        "output": result.stdout, "errors": result.stderr, "ok": result.ok, "enforced": result.enforced,
        "report": result.report,
    }

async def main():
    before = dict(os.environ)
    answers = dict(zip(%(methods)r, await asyncio.gather(*map(transcript, %(methods)r))))
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    status = next(one.status for one in coldfork.state() if one.accelerator == "cuda")
    child = os.fork()
    if child == 0:
        os._exit(driver.cuInit(0))
    forked = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    kept = os.environ == before
    print(json.dumps({"answers": answers, "status": status, "count": count.value, "kept": kept,
        "forked": forked}))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables that give a process two virtual devices."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")
    # The fork of the service in the test is meant, and Python warns of it beside threads.
    cache = tmp_path_factory.mktemp("cache")
    return {"COLDFORK_VIRTUAL": "h100:2", "COLDFORK_CACHE_DIR": str(cache), "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, device: dict[str, str]) -> dict[str, Any]:
    """Return the service's words after it has had one transcript polished with each method."""
    bench = Bench(tmp_path_factory.mktemp("service"))
    post = bench.write(POST, "post.py")
    said = ran(SERVICE % {"raw": RAW, "methods": METHODS}, post, bench.runs, extra=device)
    bench.require_described_reports()
    answers: dict[str, Any] = json.loads(said)
    for answer in answers["answers"].values():
        assert answer["ok"], answer["errors"]
        answer["told"] = json.loads(answer["output"])
    return answers


def ran(program: str, *words: object, extra: dict[str, str]) -> str:
    """Return the output of a service."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env=variables(extra),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("method", METHODS)
def test_the_start_method_is_enforced(service: dict[str, Any], method: str) -> None:
    answer = service["answers"][method]
    assert answer["enforced"]
    assert (answer["told"]["method"], answer["told"]["context"]) == (method, CONTEXTS[method])
    assert {sentence["method"] for sentence in answer["told"]["sentences"]} == {method}
    assert answer["report"]["start_method"] == answer["report"]["child"]["enforced"] == method


def test_the_start_method_is_validated(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(coldfork.ColdforkError, match="spwan"):
        bench.run("pass", start_method="spwan")
    with pytest.raises(coldfork.ColdforkError, match="vfork"):
        bench.run("pass", env={"MULTIPROCESSING_START_METHOD": "vfork"})
    assert not bench.runs.exists()


@pytest.mark.parametrize("method", METHODS)
def test_the_context_is_isolated(service: dict[str, Any], method: str) -> None:
    answer = service["answers"][method]
    in_service = {state["accelerator"]: state["status"] for state in answer["report"]["parent"]["states"]}
    assert in_service["cuda"] == "awake"
    # Neither the script nor its workers have anything of that, and each can wake the device for itself.
    assert answer["told"]["before"] in ("absent", "cold")
    assert answer["told"]["code"] == 0
    assert {sentence["code"] for sentence in answer["told"]["sentences"]} == {0}
    assert {sentence["before"] for sentence in answer["told"]["sentences"]} <= {"absent", "cold"}
    # The service keeps its own, and a fork of it would still be handed what it cannot use.
    assert (service["status"], service["count"], service["forked"]) == ("awake", 2, 3)


@pytest.mark.parametrize("method", METHODS)
def test_the_environment_is_the_scripts_own(service: dict[str, Any], method: str) -> None:
    answer = service["answers"][method]
    seen = answer["told"]["environment"]
    assert seen["MULTIPROCESSING_START_METHOD"] == method
    assert seen["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
    assert seen["TOKENIZERS_PARALLELISM"] == "false"
    assert (seen["CUDA_VISIBLE_DEVICES"], answer["told"]["devices"]) == ("1", 1)
    assert seen["SPEAKER"] == answer["report"]["environment"]["set"]["SPEAKER"] == "Ada"
    assert service["kept"]


@pytest.mark.parametrize("method", METHODS)
def test_imports_are_isolated(service: dict[str, Any], method: str) -> None:
    assert service["answers"][method]["told"]["planted"] == [False, False]


@pytest.mark.parametrize("method", METHODS)
def test_the_log_says_what_somebody_needs_who_was_not_there(service: dict[str, Any], method: str) -> None:
    """Start method and device state of the parent are above; here the command, the environment, the waker."""
    report = service["answers"][method]["report"]
    assert report["command"][1].endswith("post.py")
    assert report["environment"]["relevant"]["CUDA_VISIBLE_DEVICES"] == "1"
    (wake,) = report["child"]["wakes"]
    assert (wake["accelerator"], wake["waker"]["module"]) == ("cuda", "__main__")


@pytest.mark.parametrize("method", METHODS)
def test_all_of_it_together(service: dict[str, Any], method: str) -> None:
    assert [sentence["text"] for sentence in service["answers"][method]["told"]["sentences"]] == POLISHED


@pytest.mark.parametrize("inherit", [True, False])
def test_the_share_of_a_device_reaches_the_script_and_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, inherit: bool
) -> None:
    """Everything about CUDA MPS that can be shown without a GPU; the recipe is `docs/how-to/mps.md`."""
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", "/run/ada/mps/pipe")
    monkeypatch.setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50")
    bench = Bench(tmp_path)
    result = bench.run(
        """
        import multiprocessing, os

        def shown():
            return sorted(f"{name}={value}" for name, value in os.environ.items() if "_MPS_" in name)

        if __name__ == "__main__":
            with multiprocessing.Pool(1) as pool:
                assert pool.apply(shown) == shown()
            print(*shown(), sep=os.linesep)
        """,
        inherit_env=inherit,
        env={"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25"},
    )
    share = {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25", "CUDA_MPS_PIPE_DIRECTORY": "/run/ada/mps/pipe"}
    assert result.stdout.splitlines() == [f"{name}={value}" for name, value in share.items()], result.stderr
    assert share.items() <= result.report["environment"]["relevant"].items()
    bench.require_described_reports()


# --- torch, with which it happened ---

TORCH_POST = """
import multiprocessing, sys
from coldfork import virtual
if virtual.installed() is None:
    virtual.install("h100", 2)
import torch
torch.set_num_threads(1)

def polish(sentence):
    torch.cuda.init()
    return sentence.capitalize() + "."

if __name__ == "__main__":
    print("at first", torch.cuda.is_initialized(), torch.get_default_dtype(), flush=True)
    torch.cuda.init()
    with multiprocessing.Pool(1) as pool:
        for sentence in pool.map(polish, sys.stdin.read().split(". ")):
            print(sentence)
"""

TORCH_SERVICE = """
import asyncio, json, sys
import coldfork
coldfork.virtual.install("h100", 2)
import torch
torch.set_default_dtype(torch.float64)
torch.cuda.init()
post, runs, raw = sys.argv[1:]

async def plainly():
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, post, stdin=pipe, stdout=pipe, stderr=pipe)
    output, errors = await process.communicate(raw.encode())
    return process.returncode, output.decode(), errors.decode()

async def main():
    plain, isolated = await asyncio.gather(plainly(), coldfork.arun_script(post, stdin=raw, log_dir=runs))
    print(json.dumps({
        "plain": plain, "isolated": [isolated.status, isolated.stdout, isolated.stderr],
        "ours": [torch.cuda.is_initialized(), str(torch.get_default_dtype())],
    }))

asyncio.run(main())
"""


@pytest.mark.once
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="from 3.14 on Python does not fork by itself")
def test_torch_contexts_are_separate_and_the_error_of_the_note_is_gone(
    tmp_path: Path, device: dict[str, str]
) -> None:
    pytest.importorskip("torch")
    bench = Bench(tmp_path)
    post = bench.write(TORCH_POST, "post.py")
    told = json.loads(ran(TORCH_SERVICE, post, bench.runs, RAW, extra=device))
    bench.require_described_reports()
    status, output, errors = told["plain"]
    assert (status, output) == (1, "at first False torch.float32\n")
    assert "Cannot re-initialize CUDA in forked subprocess" in errors
    status, output, errors = told["isolated"]
    assert (status, output) == (0, "\n".join(["at first False torch.float32", *POLISHED, ""])), errors
    assert told["ours"] == [True, "torch.float64"]
    # The table of troubles knows it, and names the call that has just worked.
    (trouble,) = seen_in(told["plain"][2])
    assert trouble.name == "cuda-in-forked-child"
    assert any("coldfork.run_script" in remedy for remedy in trouble.remedies)
