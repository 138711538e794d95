"""A cap on the memory of devices: who is told of it, in which words, and what is said where nobody is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from coldfork import ScriptResult, WorkerPool, run_script
from coldfork.launch.devices import memory_cap
from coldfork.launch.devices.memory_cap import DeviceMemoryCap
from coldfork.model.errors import UsageError
from coldfork.virtual.management import GIB, VirtualInstance, boards
from tests.launch.lease.conftest import Host
from tests.launch.scripting import SECONDS, caller, variables
from tests.launch.sidebyside import said_by

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

NOBODY = "neither MPS nor a framework with a cap of its own was found here"
LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
TORCH, CUDA_TORCH = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"
JAX, OLDER_JAX = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"


class Packages:
    """The packages of an interpreter, each with the file that shows which cap it can be told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, file: str = "__init__.py", text: str = "") -> None:
        """Have a package; to import it is an error, because nobody may."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text or "raise SystemExit('imported')", encoding="utf-8")

    def add_torch(self, key: str = "per_process_memory_fraction") -> None:
        """A torch whose allocator knows this key."""
        self.add("torch", "include/c10/cuda/CUDAAllocatorConfig.h", f'keys{{"backend", "{key}"}};')

    def add_jax(self, *, new: bool) -> None:
        """One that reads the newer variable, or only the older one."""
        names = [f"os.getenv('{name}', '')" for name in ((JAX, OLDER_JAX) if new else (OLDER_JAX,))]
        self.add("jaxlib", "xla_client.py", "\n".join(names))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    """Packages of a test's own, and none of those that happen to be installed here."""
    packages = Packages(tmp_path / "packages")
    monkeypatch.setattr(
        memory_cap,
        "_PROGRAM",
        f"import sys\nsys.path[:] = [p for p in sys.path if "
        f"'site-packages' not in p] + [{str(packages.folder)!r}]\n{memory_cap._PROGRAM}",
    )
    return packages


def capped(host: Host, given: Mapping[str, str] | None = None, most: int = 4 * GIB) -> DeviceMemoryCap:
    return memory_cap.cap(most, host.sees(**(given or {})), sys.executable)


def test_nobody_can_be_told(host: Host, packages: Packages) -> None:
    assert capped(host) == DeviceMemoryCap(4 * GIB, {}, (), NOBODY)


def test_torch_is_told_the_part_of_its_devices(host: Host, packages: Packages) -> None:
    packages.add_torch()
    found = capped(host)
    assert (found.by, found.why_not) == (("torch",), None)
    assert found.variables == {TORCH: "per_process_memory_fraction:0.050000"}


def test_a_torch_that_does_not_know_the_key_is_told_nothing(host: Host, packages: Packages) -> None:
    """It would raise when it wakes."""
    packages.add_torch(key="max_split_size_mb")
    found = capped(host)
    assert (found.by, found.variables) == ((), {})
    assert found.why_not == "this torch does not know per_process_memory_fraction"


@pytest.mark.parametrize(
    ("setting", "written"),
    [
        ("expandable_segments:True", "expandable_segments:True,per_process_memory_fraction:0.050000"),
        ("per_process_memory_fraction:0.01", "per_process_memory_fraction:0.010000"),
        (
            "per_process_memory_fraction:0.9,backend:native",
            "backend:native,per_process_memory_fraction:0.050000",
        ),
        (
            "roundup_power2_divisions:[256:1,512:2],backend:native",
            "roundup_power2_divisions:[256:1,512:2],backend:native,per_process_memory_fraction:0.050000",
        ),
    ],
)
@pytest.mark.parametrize("name", [TORCH, CUDA_TORCH])
def test_what_torch_was_told_already_stays(
    host: Host, packages: Packages, name: str, setting: str, written: str
) -> None:
    packages.add_torch()
    assert capped(host, {name: setting}).variables == {name: written}


def test_of_devices_of_several_sizes_none_gives_more(host: Host, packages: Packages) -> None:
    packages.add_torch()
    host.show([replace(one, memory=(40 + 5 * at) * GIB) for at, one in enumerate(boards(8))])
    assert capped(host).variables == {TORCH: f"per_process_memory_fraction:{4 / 75 - 5e-7:.6f}"}
    one = capped(host, {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert one.variables == {TORCH: "per_process_memory_fraction:0.100000"}


def test_an_instance_is_as_large_as_itself(host: Host, packages: Packages) -> None:
    packages.add_torch()
    whole, *others = boards(8)
    host.show([replace(whole, instances=(VirtualInstance("MIG-1", memory=10 * GIB),)), *others])
    found = capped(host, {"CUDA_VISIBLE_DEVICES": "MIG-1"})
    assert found.variables == {TORCH: "per_process_memory_fraction:0.400000"}


def test_a_cap_beyond_the_device_is_all_of_it(host: Host, packages: Packages) -> None:
    packages.add_torch()
    packages.add_jax(new=True)
    assert capped(host, most=100 * GIB).variables == {
        TORCH: "per_process_memory_fraction:1.000000",
        JAX: "0.750000",
    }


@pytest.mark.parametrize(
    ("new", "given", "written"),
    [
        (True, {}, {JAX: "0.050000"}),
        (False, {}, {OLDER_JAX: "0.050000"}),
        (True, {OLDER_JAX: ".5"}, {OLDER_JAX: "0.050000"}),
        (True, {JAX: ".01"}, {JAX: "0.010000"}),
    ],
)
def test_jax_is_told_in_the_variable_that_it_knows(
    host: Host, packages: Packages, new: bool, given: dict[str, str], written: dict[str, str]
) -> None:
    packages.add_jax(new=new)
    found = capped(host, given)
    assert (found.by, found.variables) == (("jax",), written)


def test_jax_without_an_allocator_of_its_own_takes_no_cap(host: Host, packages: Packages) -> None:
    packages.add_jax(new=True)
    found = capped(host, {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"})
    assert (found.by, found.variables) == ((), {})
    assert found.why_not == "XLA_PYTHON_CLIENT_ALLOCATOR=platform takes no cap"


@pytest.mark.parametrize(("given", "told"), [("", 4 * GIB), (str(GIB), GIB), ("50%", 4 * GIB)])
def test_cupy_is_told_in_bytes(host: Host, packages: Packages, given: str, told: int) -> None:
    packages.add("cupy")
    found = capped(host, {"CUPY_GPU_MEMORY_LIMIT": given})
    assert (found.by, found.variables, found.why_not) == (
        ("cupy",),
        {"CUPY_GPU_MEMORY_LIMIT": str(told)},
        None,
    )


def test_where_the_size_is_not_known_a_part_of_it_is_not_either(host: Host, packages: Packages) -> None:
    packages.add_torch()
    packages.add("cupy")
    host.show([])
    found = capped(host)
    assert found.by == ("cupy",)
    assert found.why_not is not None
    assert found.why_not.startswith("cannot tell how large the devices are: ")
    assert capped(host, {"CUDA_VISIBLE_DEVICES": "-1"}).why_not == "it sees no device"


def served(folder: Path, pid: int) -> str:
    """A folder of pipes, as the control daemon of MPS makes it."""
    folder.mkdir()
    os.mkfifo(folder / "control")
    (folder / "nvidia-cuda-mps-control.pid").write_text(f"{pid}\n", encoding="ascii")
    return str(folder)


def test_mps_is_told_for_each_device_and_alone(host: Host, packages: Packages, tmp_path: Path) -> None:
    packages.add_torch()
    pipes = served(tmp_path / "pipes", os.getpid())
    found = capped(host, {"CUDA_MPS_PIPE_DIRECTORY": pipes})
    assert (found.by, found.why_not) == (("mps",), None)
    assert found.variables == {LIMIT: ",".join(f"{number}=4096M" for number in range(8))}


def test_the_smaller_share_of_mps_holds(host: Host, packages: Packages, tmp_path: Path) -> None:
    host.show(boards(2))
    pipes = served(tmp_path / "pipes", os.getpid())
    found = capped(host, {"CUDA_MPS_PIPE_DIRECTORY": pipes, LIMIT: "0=1G,1=20G,5=30G"})
    assert found.variables == {LIMIT: "0=1G,1=4096M,5=30G"}


def test_a_daemon_that_has_ended_serves_nobody(host: Host, packages: Packages, tmp_path: Path) -> None:
    gone = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], os.environ)
    os.waitpid(gone, 0)
    assert capped(host, {"CUDA_MPS_PIPE_DIRECTORY": served(tmp_path / "pipes", gone)}).by == ()


def script(host: Host, packages: Packages, monkeypatch: pytest.MonkeyPatch, **how: Any) -> ScriptResult:
    """Run a script on this host that prints what it was told."""
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    place = packages.folder.parent / "script.py"
    place.write_text(f"import os; print(os.environ.get({TORCH!r}))", encoding="utf-8")
    return run_script(place, timeout=SECONDS, max_device_memory="4GiB", **how)


def test_result_and_report_say_who_was_told(
    host: Host, packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages.add_torch()
    result = script(host, packages, monkeypatch, max_memory="2 GiB")
    told = {TORCH: "per_process_memory_fraction:0.050000"}
    assert result.stdout == f"{told[TORCH]}\n"
    cap = {"most": 4 * GIB, "by": ["torch"], "variables": told, "why_not": None}
    assert result.caps is not None
    assert result.caps["device_memory"] == result.report["caps"]["device_memory"] == cap
    assert result.caps["memory"]["most"] == 2 * GIB
    assert result.report["environment"]["set"][TORCH] == told[TORCH]


def test_it_is_said_that_nobody_was(
    host: Host, packages: Packages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    result = script(host, packages, monkeypatch)
    assert result.stdout == "None\n"
    assert caplog.messages == [f"no device memory cap: {NOBODY}"]
    assert result.caps == {
        "memory": None,
        "cpu": None,
        "device_memory": {"most": 4 * GIB, "by": [], "variables": {}, "why_not": NOBODY},
    }


def test_the_command_says_that_nobody_was(host: Host, tmp_path: Path) -> None:
    """With an interpreter that has nothing installed."""
    (tmp_path / "script.py").write_text("import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))")
    python = Path(sys.base_prefix, "bin", "python3")
    words = ["exec", "--no-report", "--python", str(python), "--max-device-memory", "4GiB", "script.py"]
    bare = memory_cap.frameworks_of(str(python), variables(host.environment))
    if bare != memory_cap.Frameworks():
        pytest.skip(f"{python} has frameworks")
    done = said_by([sys.executable, "-P", "-m", "coldfork", *words], tmp_path, "", host.environment)
    assert done.errors == f"coldfork: no device memory cap: {NOBODY}\n"


def test_the_workers_of_a_pool_are_told(
    host: Host, packages: Packages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    with WorkerPool(1, max_device_memory="4GiB") as pool:
        assert pool.submit(os.getenv, TORCH).result(SECONDS) is None
    assert caplog.messages == [f"no device memory cap: {NOBODY}"]
    packages.add_torch()
    with WorkerPool(2, devices=2, max_device_memory="4GiB", env={TORCH: "backend:native"}) as pool:
        told = pool.submit(os.getenv, TORCH).result(SECONDS)
    assert told == "backend:native,per_process_memory_fraction:0.050000"
    assert TORCH not in os.environ
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("size", ["plenty", 0, -1, True])
def test_what_is_no_size_is_refused(host: Host, tmp_path: Path, size: Any) -> None:
    place = tmp_path / "script.py"
    place.touch()
    with pytest.raises(UsageError, match="max_device_memory"):
        run_script(place, max_device_memory=size, report=False)
    with pytest.raises(UsageError, match="max_device_memory"):
        WorkerPool(1, max_device_memory=size)


def require(name: str) -> None:
    """Skip where a package is not installed; it is not imported here."""
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def asked(program: str, environment: dict[str, str]) -> str:
    """Return the output of a program that finds the packages installed here."""
    done = subprocess.run(
        caller(program),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_torch_that_is_installed_takes_it(host: Host) -> None:
    """Its allocator for CUDA is not there to be asked on this machine; its headers name the key."""
    require("torch")
    found = capped(host)
    if memory_cap.frameworks_of(sys.executable, host.environment).torch:
        assert found.variables[TORCH] == "per_process_memory_fraction:0.050000"
        asked_torch = "import torch; print(torch._C._accelerator_getAllocatorSettings())"
        assert found.variables[TORCH] in asked(asked_torch, found.variables)


def test_the_jax_that_is_installed_reads_it(host: Host) -> None:
    require("jaxlib")
    found = capped(host)
    assert "jax" in found.by
    program = """
        from jaxlib import xla_client
        print(xla_client.generate_pjrt_gpu_plugin_options()["memory_fraction"])
    """
    assert asked(program, found.variables) == "0.05\n"
