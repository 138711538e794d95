"""Installing a virtual device: for good or for a block, once, and never beside a real driver."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.virtual.conftest import Run

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def test_installing_imports_no_torch_and_no_other_package(run: Run) -> None:
    program = run(
        """
import sys, coldfork.virtual
coldfork.virtual.install("h100")
tops = {name.partition(".")[0] for name in sys.modules}
known = {"coldfork", "__main__", "sitecustomize", "usercustomize"}
tell(foreign=sorted(tops - sys.stdlib_module_names - known))
"""
    )
    assert [name for name in program.told["foreign"] if not name.startswith("_")] == []


def test_after_the_block_nothing_can_wake_it(run: Run) -> None:
    program = run(
        """
import coldfork.virtual
with coldfork.virtual.device("h100", count=2) as device:
    inside = device.state, device.count, device.name
from coldfork.virtual.installation import _PROCESS
tell(inside=inside, code=_PROCESS.machine.driver.initialise(), state=device.state)
"""
    )
    assert program.told == {"inside": ["cold", 2, "h100"], "code": 100, "state": "cold"}


def test_what_was_woken_in_the_block_stays_awake(run: Run) -> None:
    program = run(
        """
import coldfork.virtual
from coldfork.virtual.installation import _PROCESS
with coldfork.virtual.device("h100") as device:
    _PROCESS.machine.driver.initialise()
tell(code=_PROCESS.machine.driver.initialise(), state=device.state, level=device.level)
"""
    )
    assert program.told == {"code": 0, "state": "awake", "level": "driver"}


def test_the_same_device_may_be_asked_for_again_and_another_may_not(run: Run) -> None:
    program = run(
        """
import coldfork.virtual as virtual
with virtual.device("h100"):
    with virtual.device("h100"):
        pass
    from coldfork.virtual.installation import _PROCESS
    still = _PROCESS.machine.driver.initialise()
with virtual.device("h100"):
    pass
try:
    virtual.install("a100")
except virtual.VirtualDeviceError as error:
    tell(said=str(error), still=still, installed=repr(virtual.installed()))
"""
    )
    assert program.told == {
        "said": "use virtual:a100 in a process of its own: virtual:h100 is installed in this process "
        "and stays until it ends",
        "still": 0,
        "installed": "<virtual:h100, awake>",
    }


def test_asking_for_the_device_of_a_process_that_has_none_installs_none(run: Run) -> None:
    program = run(
        """
import sys, coldfork.virtual
before = list(sys.meta_path)
tell(none=coldfork.virtual.installed() is None, same=before == sys.meta_path)
"""
    )
    assert program.told == {"none": True, "same": True}


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_beside_a_real_driver_it_is_refused(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "real.c"
    source.write_text("int cuInit(unsigned flags) { return flags; }\n", encoding="utf-8")
    real = tmp_path / "libcuda.so.1"
    command = [str(COMPILER), "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(real), str(source)]
    subprocess.run(command, check=True)
    program = run(
        f"""
import ctypes, sys
real = ctypes.CDLL({os.fspath(real)!r})
import coldfork.virtual as virtual
finders = len(sys.meta_path)
try:
    virtual.install("h100")
except virtual.VirtualDeviceError as error:
    tell(said=str(error), installed=virtual.installed() is not None, hooks=len(sys.meta_path) - finders)
"""
    )
    assert program.told == {
        "said": "restart the process and install the virtual device first: the libcuda.so.1 of a real driver "
        "is loaded here, and a virtual device beside it would give wrong answers",
        "installed": False,
        "hooks": 0,
    }


def test_without_a_compiler_the_state_is_kept_in_python(run: Run, tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path / "nowhere"), "CC": None, "COLDFORK_CACHE_DIR": str(tmp_path / "other")}
    program = run(
        """
import os, coldfork.virtual
device = coldfork.virtual.install("h100", 2)
from coldfork.virtual.installation import _PROCESS
driver = _PROCESS.machine.driver
tell(library=device.library, reason=device.reason, cold=device.state)
if os.fork() == 0:
    tell(child_of_cold=[driver.initialise(), device.state])
    os._exit(0)
os.wait()
tell(code=driver.initialise(), awake=device.state)
if os.fork() == 0:
    tell(child_of_awake=[driver.initialise(), device.state])
    os._exit(0)
os.wait()
""",
        environment=nowhere,
    )
    assert program.told == {
        "library": None,
        "reason": "there is no C compiler (cc, gcc or clang) on PATH",
        "cold": "cold",
        "child_of_cold": [0, "awake"],
        "code": 0,
        "awake": "awake",
        "child_of_awake": [3, "poisoned"],
    }


def test_the_wrapped_loader_of_a_module_stays_what_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "somewhere.py").write_text("value = 1\n", encoding="utf-8")
    program = run(
        """
import importlib.machinery, sys
from coldfork.virtual.imports import AfterImport
seen = []
AfterImport(
    {"somewhere": lambda module: seen.append(module.value), "json": lambda module: seen.append("json")}
).install()
import somewhere, json
tell(
    seen=seen,
    loader=type(somewhere.__spec__.loader) is importlib.machinery.SourceFileLoader,
    name=somewhere.__spec__.loader.name,
    again=importlib.reload(somewhere).value,
    twice=seen,
)
"""
    )
    assert program.told == {
        "seen": ["json", 1, 1],
        "loader": True,
        "name": "somewhere",
        "again": 1,
        "twice": ["json", 1, 1],
    }
