"""The isolation of a script in detail: method, context, environment, imports, torch.

`test_script_of_a_service.py` shows all of it in the service that it was made for.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.launch.scripting import SOURCE, Bench, variables

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux")

TELL_METHODS = """
import json, multiprocessing, os, sys

def child(pipe):
    pipe.send([multiprocessing.get_start_method(), multiprocessing.get_start_method(), os.getppid()])

if __name__ == "__main__":
    told = {"chosen": multiprocessing.get_start_method(allow_none=True)}
    told["default"] = multiprocessing.get_start_method()
    told["context"] = type(multiprocessing.get_context()).__name__
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=child, args=(theirs,))
    process.start()
    told["child"] = ours.recv()[0]
    process.join()
    import subprocess
    told["another"] = subprocess.run(
        [sys.executable, "-c", "import multiprocessing; print(multiprocessing.get_start_method())"],
        capture_output=True, text=True, check=True).stdout.strip()
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1) as pool:
        told["pool"] = pool.submit(multiprocessing.get_start_method).result()
    print(json.dumps(told))
"""
CONTEXTS = {"spawn": "SpawnContext", "forkserver": "ForkServerContext", "fork": "ForkContext"}
WAKE = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def device(cache: Path) -> dict[str, str]:
    """Return the variables that give a process two virtual devices."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")
    return {"COLDFORK_VIRTUAL": "h100:2", "COLDFORK_CACHE_DIR": str(cache)}


def said(result: Any) -> Any:
    assert result.ok, result.stderr
    return json.loads(result.stdout)


# --- the start method, enforced and validated ---


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_coldforks_own_choice_does_not_go_back_to_fork(bench: Bench, method: str) -> None:
    result = bench.run(
        """
        import coldfork
        print(coldfork.get_context().get_start_method(), coldfork.decide().reasons[0].code)
        """,
        start_method=method,
        env={"PYTHONPATH": str(SOURCE)},
    )
    assert result.stdout == "spawn method-asked-for\n"


@pytest.mark.must_hold
@pytest.mark.parametrize("method", list(CONTEXTS))
def test_the_method_asked_for_is_the_default_everywhere(bench: Bench, method: str) -> None:
    result = bench.run(TELL_METHODS, start_method=method)
    assert said(result) == {
        "chosen": None,
        "default": method,
        "context": CONTEXTS[method],
        "child": method,
        "another": method,
        "pool": method,
    }
    assert result.enforced
    assert result.start_method == method


def test_plain_python_ignores_the_variable(bench: Bench) -> None:
    """The reason for all of this: without coldfork the variable is a wish."""
    environment = variables({"MULTIPROCESSING_START_METHOD": "forkserver"})
    plain = subprocess.run(
        [sys.executable, "-c", "import multiprocessing; print(multiprocessing.get_start_method())"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert plain == ("forkserver" if sys.version_info >= (3, 14) else "fork")


def test_a_script_that_chooses_the_same_method_may_do_so_as_it_could_alone(bench: Bench) -> None:
    text = """
    import multiprocessing
    multiprocessing.set_start_method("spawn")
    print(multiprocessing.get_start_method())
    try:
        multiprocessing.set_start_method("spawn")
    except RuntimeError as error:
        print(error)
    multiprocessing.set_start_method("spawn", force=True)
    """
    alone = subprocess.run([sys.executable, bench.write(text)], capture_output=True, text=True, check=True)
    assert bench.run(text).stdout == alone.stdout == "spawn\ncontext has already been set\n"


def test_another_method_may_be_chosen_while_nothing_is_awake(bench: Bench) -> None:
    result = bench.run(
        """
        import multiprocessing, os
        if __name__ == "__main__":
            multiprocessing.set_start_method("fork")
            process = multiprocessing.Process(target=print, args=("forked",), kwargs={"flush": True})
            process.start()
            process.join()
            print(multiprocessing.get_start_method(), process.exitcode)
        """
    )
    assert (result.stdout, result.stderr) == ("forked\nfork 0\n", "")


@pytest.mark.must_hold
@pytest.mark.parametrize(
    "choose",
    [
        "multiprocessing.set_start_method('fork'); start = multiprocessing",
        "start = multiprocessing.get_context('fork')",
    ],
)
@pytest.mark.parametrize("mode", ["strict", "raise", "off"])
def test_a_fork_beside_an_awake_device_follows_the_guard(
    bench: Bench, device: dict[str, str], choose: str, mode: str
) -> None:
    result = bench.run(
        f"""
        import multiprocessing
        {WAKE.strip()}
        if __name__ == "__main__":
            {choose}
            process = start.Process(target=print, args=("forked",), kwargs={{"flush": True}})
            process.start()
            process.join()
        """,
        env={**device, "COLDFORK_GUARD": mode},
    )
    if mode != "strict":
        # The process prints, and touches nothing.
        assert (result.stdout, result.status) == ("forked\n", 0), result.stderr
    else:
        assert (result.stdout, result.status) == ("", 1)
        assert result.exception is not None
        assert result.exception["type"] == "UnsafeForkError"


def test_a_method_that_is_overridden_in_the_environment_is_enforced(bench: Bench) -> None:
    result = bench.run(TELL_METHODS, env={"MULTIPROCESSING_START_METHOD": "forkserver"})
    assert said(result)["default"] == "forkserver"
    assert (result.start_method, result.enforced) == ("forkserver", True)


def test_the_method_is_enforced_also_when_the_site_imports_multiprocessing_first(bench: Bench) -> None:
    bench.write("import multiprocessing", "site/sitecustomize.py")
    result = bench.run(TELL_METHODS, env={"PYTHONPATH": str(bench.folder / "site")})
    assert said(result)["default"] == "spawn"


# --- context isolation ---


@pytest.mark.must_hold
def test_a_device_awake_in_the_caller_is_cold_in_the_script(bench: Bench, device: dict[str, str]) -> None:
    """The service of the note: it holds the device, and its script wakes the device for itself."""
    script = bench.write(
        """
        import ctypes
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int()
        before = driver.cuDeviceGetCount(ctypes.byref(count))
        print(before, driver.cuInit(0), driver.cuDeviceGetCount(ctypes.byref(count)), count.value)
        """
    )
    forking = bench.write("import os\nif os.fork() == 0:\n    os._exit(DRIVER.cuInit(0))\n", "forking.py")
    service = f"""
import ctypes, json, os
from coldfork import run_script, virtual
virtual.install("h100", 2)
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
child = os.fork()
if child == 0:
    os._exit(driver.cuInit(0))
forked = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
result = run_script({str(script)!r}, log_dir={str(bench.runs)!r}, check=True)
parent = {{state["accelerator"]: state["status"] for state in result.report["parent"]["states"]}}
ours = {{state["accelerator"]: state["status"] for state in result.states}}
print(json.dumps([forked, result.stdout, parent["cuda"], ours["cuda"], [dict(w) for w in result.wakes]]))
"""
    assert forking.exists()
    done = subprocess.run(
        [sys.executable, "-c", service],
        env=variables(device),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    forked, output, in_parent, in_script, wakes = json.loads(done.stdout)
    assert forked == 3  # what a forked child gets: CUDA_ERROR_NOT_INITIALIZED
    assert output == "3 0 0 2\n"
    assert (in_parent, in_script) == ("awake", "awake")
    (wake,) = wakes
    assert wake["accelerator"] == "cuda"


def test_the_line_that_woke_the_device_in_the_script_is_named(bench: Bench, device: dict[str, str]) -> None:
    bench.write("import engine_core\n", "engine.py")
    bench.write(WAKE, "engine_core.py")
    result = bench.run("import engine\nprint('done')", env=device)
    (wake,) = result.wakes
    assert (wake["accelerator"], wake["level"]) == ("cuda", "driver")
    # Two watch here, the report's and the guard's; each import stands there once.
    chain = [(site["module"], site["line"]) for site in wake["waker"]["import_chain"]]
    assert chain == [("__main__", 1), ("engine", 1), ("engine_core", None)]
    report = json.loads((result.run_dir / "report.json").read_text(encoding="utf-8"))
    assert report["child"]["wakes"][0]["waker"]["module"] == "engine_core"


@pytest.mark.parametrize("next_import", ["import wave", "import helper; helper.imports()"])
def test_what_the_script_itself_woke_is_not_blamed_on_the_next_import(
    bench: Bench, device: dict[str, str], next_import: str
) -> None:
    bench.write("def imports():\n    import wave\n", "helper.py")
    # Beside `multiprocessing` the guard watches too, and its door is already open when the report's looks.
    result = bench.run(f"import multiprocessing\n{WAKE}\n{next_import}\n", env=device)
    (wake,) = result.wakes
    assert (wake["waker"]["module"], wake["waker"]["import_chain"]) == ("__main__", [])


def test_a_script_that_was_killed_has_told_who_woke_the_device(bench: Bench, device: dict[str, str]) -> None:
    bench.write(WAKE, "engine_core.py")
    result = bench.run("import engine_core, os; os.kill(os.getpid(), 9)", env=device)
    assert result.signal == "SIGKILL"
    assert [wake["accelerator"] for wake in result.wakes] == ["cuda"]


# --- the environment ---


def test_the_script_sees_the_table_and_what_was_set(bench: Bench) -> None:
    result = bench.run(
        "import json, os; print(json.dumps(dict(os.environ)))",
        env={"MINE": "x", "TOKENIZERS_PARALLELISM": "true"},
    )
    seen = said(result)
    assert seen["MULTIPROCESSING_START_METHOD"] == "spawn"
    assert seen["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
    assert (seen["TOKENIZERS_PARALLELISM"], seen["MINE"]) == ("true", "x")
    assert result.report["environment"]["set"]["MINE"] == "x"
    assert "COLDFORK_CHANNEL" not in seen


def test_the_callers_environment_is_not_touched(bench: Bench) -> None:
    before = dict(os.environ)
    bench.run("import os; os.environ['LEAKED'] = 'x'", env={"MINE": "x"})
    assert dict(os.environ) == before


def test_without_inheritance_the_script_sees_only_what_it_needs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLERS_OWN", "x")
    seen = said(bench.run("import json, os; print(json.dumps(dict(os.environ)))", inherit_env=False))
    assert "CALLERS_OWN" not in seen
    assert seen["PATH"] == os.environ["PATH"]


def test_devices_are_those_chosen_among_the_callers(
    bench: Bench, device: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    text = f"""
    {WAKE.strip()}
    import os
    count = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count))
    print(os.environ["CUDA_VISIBLE_DEVICES"], count.value)
    """
    assert bench.run(text, env=device).stdout == "1 1\n"
    assert bench.run(text, env=device, devices=[0]).stdout == "1 1\n"
    assert bench.run(text, env=device, devices=[]).stdout == "-1 0\n"


# --- imports ---


@pytest.mark.must_hold
def test_nothing_the_caller_imported_or_changed_is_in_the_script(bench: Bench) -> None:
    sys.modules["planted_by_the_caller"] = sys
    sys.path.insert(0, "/planted/by/the/caller")
    try:
        result = bench.run(
            "import sys; print('planted_by_the_caller' in sys.modules, '/planted/by/the/caller' in sys.path)"
        )
    finally:
        del sys.modules["planted_by_the_caller"]
        sys.path.remove("/planted/by/the/caller")
    assert result.stdout == "False False\n"


def test_enforcing_imports_nothing_that_the_script_would_not_have(bench: Bench) -> None:
    heavy = {"multiprocessing", "json", "re", "typing", "dataclasses", "asyncio", "socket", "logging"}
    text = f"import sys; print(sorted(set(sys.modules) & {heavy!r}))"
    plain = subprocess.run(
        [sys.executable, bench.write(text)], env=variables(), capture_output=True, text=True, check=True
    )
    assert bench.run(text).stdout == plain.stdout


def test_the_script_finds_its_own_modules_first_and_not_ours(bench: Bench) -> None:
    bench.write("NAME = 'mine'", "coldfork_streaming.py")
    result = bench.run("import sys, coldfork_streaming; print(coldfork_streaming.NAME, sys.path[0])")
    assert result.stdout == f"mine {bench.folder}\n"
    paths = "import sys; print([p for p in sys.path if 'startup' in p or 'coldfork' in p.rpartition('/')[2]])"
    assert bench.run(paths).stdout == "[]\n"


# --- torch ---


def test_torch_in_the_script_has_nothing_of_the_callers(bench: Bench) -> None:
    pytest.importorskip("torch")
    script = bench.write(
        """
        import torch
        if __name__ == "__main__":
            print(torch.get_num_threads(), torch.get_default_dtype(), torch.initial_seed() == 1234)
            import torch.multiprocessing as mp
            print(mp.get_start_method(), type(mp.get_context()).__name__)
            import multiprocessing.pool
            with mp.Pool(1) as pool:
                print(pool.map(abs, [-3]))
        """
    )
    service = f"""
import torch
torch.set_default_dtype(torch.float64)
torch.manual_seed(1234)
from coldfork import run_script
result = run_script({str(script)!r}, log_dir={str(bench.runs)!r}, env={{"OMP_NUM_THREADS": "1"}}, check=True)
print(result.stdout, end="")
"""
    done = subprocess.run(
        [sys.executable, "-c", service],
        env=variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "1 torch.float32 False\nspawn SpawnContext\n[3]\n", done.stderr
