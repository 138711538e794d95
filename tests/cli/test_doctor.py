"""`coldfork doctor`: exit statuses, formats, refusals, and that it wakes nothing in its own process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import coldfork.report.schemas
from coldfork.diagnose.doctor import registry

pytestmark = pytest.mark.once

Run = Callable[..., Result]
SCHEMA = Path(coldfork.report.__path__[0], "schemas", "doctor.schema.json")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the driver's files are Linux's")
needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="the driver's stand-in is written in C"
)

#: Every call is written down with the process that made it, as is the library's being loaded.
DRIVER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int note(const char *what) {
    char line[128];
    int length = snprintf(line, sizeof line, "%s %d\n", what, (int)getpid());
    int file = open(getenv("DRIVER_NOTES"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file >= 0) { if (write(file, line, length)) {} close(file); }
    return 0;
}
"""
LIBCUDA = (
    DRIVER
    + r"""
__attribute__((constructor)) static void loaded(void) { note("libcuda"); }
int cuInit(unsigned flags) { return note("cuInit"); }
int cuDriverGetVersion(int *version) { *version = 12080; return note("cuDriverGetVersion"); }
int cuDeviceGetCount(int *count) { *count = 1; return note("cuDeviceGetCount"); }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Stand-in", length); return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return note("cuDevicePrimaryCtxRetain"); }
int cuDevicePrimaryCtxRelease(int device) { return 0; }
"""
)
LIBNVML = (
    DRIVER
    + r"""
__attribute__((constructor)) static void loaded(void) { note("libnvidia-ml"); }
int nvmlInit_v2(void) { return note("nvmlInit_v2"); }
int nvmlShutdown(void) { return note("nvmlShutdown"); }
const char *nvmlErrorString(int code) { return "none"; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "570.86.15", length); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12080; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(long)(index + 1);
    return 0;
}
int nvmlDeviceGetName(void *device, char *text, unsigned length) {
    strncpy(text, "Stand-in", length);
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
    snprintf(text, length, "GPU-1b2c3d4e-0000-4000-8000-00000000000%ld", (long)device);
    return 0;
}
int nvmlDeviceGetComputeMode(void *device, unsigned *mode) { *mode = device == (void *)2 ? 3 : 0; return 0; }
int nvmlDeviceGetPersistenceMode(void *device, unsigned *mode) { *mode = 1; return 0; }
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *next) { *now = *next = 0; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *m) { m[0] = 80; m[1] = 79; m[2] = 1; return 0; }
"""
)
UUID = "GPU-1b2c3d4e-0000-4000-8000-000000000001"


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a driver and an NVML that write down who calls them."""
    folder = tmp_path_factory.mktemp("drivers")
    for name, text in (("libcuda.so.1", LIBCUDA), ("libnvidia-ml.so.1", LIBNVML)):
        source = folder / f"{name}.c"
        source.write_text(text, encoding="utf-8")
        command = ["cc", "-shared", "-fPIC", "-w", "-o", str(folder / name), str(source)]
        subprocess.run(command, check=True, capture_output=True)
    return folder


class Doctor:
    """`coldfork doctor` before a driver that takes notes."""

    def __init__(self, drivers: Path, folder: Path) -> None:
        self._notes = folder / "notes"
        self._folder = folder
        self.variables = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("CUDA_", "COLDFORK_"))
            },
            "LD_LIBRARY_PATH": str(drivers),
            "DRIVER_NOTES": str(self._notes),
            "COLDFORK_CACHE_DIR": str(folder / "cache"),
        }

    def run(self, *arguments: str, program: Sequence[str] = ("-m", "coldfork")) -> tuple[int, str, str]:
        """The process, its output, and its errors."""
        command = [sys.executable, *program, "doctor", *arguments]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=self._folder, env=self.variables, stdout=pipe, stderr=pipe, text=True
        ) as process:
            said, complaint = process.communicate(timeout=120)
        return process.pid, said, complaint

    def notes(self) -> list[tuple[str, int]]:
        lines = self._notes.read_text(encoding="utf-8").splitlines()
        return [(what, int(pid)) for what, _, pid in (line.partition(" ") for line in lines)]


@pytest.fixture
def doctor(drivers: Path, tmp_path: Path) -> Doctor:
    return Doctor(drivers, tmp_path)


def answers(said: str) -> dict[str, Any]:
    """The checks of the JSON that was printed, after a look whether the schema describes it."""
    document = json.loads(said)
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    return {one["check"]: one for one in document["checks"]}


@linux
@needs_compiler
@pytest.mark.must_hold
def test_it_asks_the_driver_in_another_process_and_wakes_no_device(doctor: Doctor) -> None:
    own, said, complaint = doctor.run("--format", "json")
    checks = answers(said)
    assert complaint == ""
    assert checks["nvml"]["message"] == "NVML answers for 2 devices"
    assert checks["compute-mode"]["message"] == (
        "device 1 is EXCLUSIVE_PROCESS: it admits one process at a time, or none"
    )
    assert checks["persistence"]["status"] == "ok"
    notes = doctor.notes()
    assert {"libcuda", "cuDriverGetVersion", "nvmlInit_v2", "nvmlShutdown"} <= {what for what, _ in notes}
    assert "cuInit" not in {what for what, _ in notes}
    assert own not in {pid for _, pid in notes}
    assert len({pid for _, pid in notes}) == 1


@linux
@needs_compiler
@pytest.mark.must_hold
def test_with_touch_another_process_wakes_them_and_its_own_does_not(doctor: Doctor) -> None:
    own, said, _ = doctor.run("touch", "--touch", "--format", "json")
    assert answers(said)["touch"]["message"].startswith("1 device made a context, in ")
    assert answers(said)["touch"]["details"] == ["Stand-in"]
    notes = doctor.notes()
    assert {"cuInit", "cuDevicePrimaryCtxRetain"} <= {what for what, _ in notes}
    assert own not in {pid for _, pid in notes}


@linux
@needs_compiler
def test_naming_the_check_is_not_asking_for_it(doctor: Doctor) -> None:
    _, said, _ = doctor.run("touch")
    assert "no device is woken unless coldfork doctor --touch asks for it" in said
    assert not doctor._notes.exists()


@linux
@needs_compiler
def test_its_own_process_stays_cold_and_light(doctor: Doctor) -> None:
    program = (
        "import sys\n"
        "from coldfork.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    heavy = ('torch', 'numpy', 'jax', 'rich', 'coldfork.source.analysis')\n"
        "    loaded = [name for name in heavy if name in sys.modules]\n"
        "    import coldfork\n"
        "    states = {one.accelerator: one.status for one in coldfork.state()}\n"
        "    print(loaded, states['cuda'].value, file=sys.stderr)\n"
    )
    _, _, complaint = doctor.run(program=("-c", program))
    assert complaint == "[] absent\n"


@linux
@needs_compiler
def test_markdown_names_neither_devices_nor_people(doctor: Doctor, tmp_path: Path) -> None:
    doctor.variables |= {"HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": f"{UUID},x"}
    (tmp_path / "env" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    _, said, _ = doctor.run("--python", str(tmp_path / "env"), "--format", "markdown")
    assert "| nvml | ok | NVML answers for 2 devices |" in said
    assert "| visible-devices | fail | CUDA_VISIBLE_DEVICES=GPU-<uuid>,x: 'x' means nothing" in said
    assert "in ~/env |" in said
    assert UUID not in said
    assert str(tmp_path) not in said


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_json_lists_every_check_and_counts_them(run: Run) -> None:
    result = run("doctor", "--format", "json")
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert list(answers(result.stdout)) == list(registry.folders())
    assert sum(document["counts"].values()) == len(document["checks"])
    assert document["python"]
    assert result.exit_code == (1 if document["counts"]["fail"] else 0)


def test_a_failure_ends_with_1_and_a_warning_with_0(run: Run) -> None:
    bad = run("doctor", "visible-devices", env={"CUDA_VISIBLE_DEVICES": "0,0"})
    assert (bad.exit_code, bad.stderr) == (1, "")
    assert (
        bad.stdout.splitlines()[-1] == "Next: coldfork doctor visible-devices checks again once it is fixed"
    )
    hidden = run("doctor", "visible-devices", env={"CUDA_VISIBLE_DEVICES": ""})
    assert (hidden.exit_code, hidden.stdout.splitlines()[-2]) == (0, "1 check: 1 to look at")


def test_the_checks_are_listed_with_what_they_look_at(run: Run) -> None:
    lines = run("doctor", "--list-checks").stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == list(registry.folders())
    assert "  nofile                  How many files a process may have open: `ulimit -n`" in lines
    assert [line for line in lines if not line.startswith(" ")] == [
        name for name, _ in registry.GROUPS.values()
    ]


def test_a_wrong_name_and_a_wrong_python_are_refused(run: Run, project: Path) -> None:
    result = run("doctor", "nvm")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "coldfork: there is no check 'nvm'; did you mean nvml?\n"
    result = run("doctor", "--python", "nowhere/python")
    assert (result.exit_code, result.stderr) == (2, "coldfork: --python nowhere/python: no such file\n")


def test_another_environment_is_examined_without_being_run(run: Run, project: Path) -> None:
    site = project / "other" / "lib" / "python3.12" / "site-packages"
    for name, requires in (("torch-2.9.0", ""), ("vllm-0.11.0", "Requires-Dist: torch==2.8.0\n")):
        (site / f"{name}.dist-info").mkdir(parents=True)
        (site / f"{name}.dist-info" / "METADATA").write_text(requires, encoding="utf-8")
    (site / "boom.pth").write_text("import os; os._exit(9)\n", encoding="utf-8")
    result = run("doctor", "vllm", "python", "--python", "other")
    assert result.exit_code == 1
    assert "vLLM 0.11.0 asks for torch==2.8.0, but 2.9.0 is installed" in result.stdout
    assert "Python 3.12 on " in result.stdout
    assert result.stdout.endswith("Next: coldfork doctor vllm --python other checks again once it is fixed\n")


def test_a_result_goes_into_a_file(run: Run, project: Path) -> None:
    result = run("doctor", "nofile", "--format", "json", "--output", "health.json")
    assert result.stdout == ""
    assert list(answers((project / "health.json").read_text(encoding="utf-8"))) == ["nofile"]


def test_the_packages_are_read_when_their_check_is_named(run: Run, project: Path) -> None:
    site = project / "other" / "lib" / "python3.12" / "site-packages"
    (site / "waker").mkdir(parents=True)
    (site / "waker" / "__init__.py").write_text("import torch\ntorch.cuda.init()\n", encoding="utf-8")
    result = run("doctor", "packages", "--python", "other")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "importing these wakes a device: waker" in result.stdout
    assert "waker: cuda, certain, by torch.cuda.init in waker/__init__.py:2" in result.stdout
    assert "only when" in run("doctor", "--python", "other", "--verbose").stdout
    assert "these wakes a device: waker" in run("doctor", "--python", "other", "--packages").stdout
