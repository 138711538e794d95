"""CUDA's own account of who initialised it, in processes that inherit it from one another."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.observe.processes import SOURCES, run, variables, write

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the injection library needs Linux"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler to build it with"
    ),
]

PROGRAM = """
import ctypes, json, os, subprocess, sys
from coldfork import virtual
from coldfork.observe.injection import Injection, build

virtual.install("h100")
injection = Injection(build())
assert injection.arm()
if len(sys.argv) > 1:
    sys.exit(subprocess.run([sys.executable, __file__], timeout=60).returncode)


def wake():
    ctypes.CDLL("libcuda.so.1").cuInit(0)


wake()
seen = injection.seen("cuda")
print([(frame["line"], frame["function"]) for frame in seen.frames], injection.seen("cuda"))
"""


@pytest.mark.parametrize("arguments", [[], ["in a child"]], ids=["by itself", "inherited"])
def test_a_process_that_inherits_the_library_tells_its_wake_once(
    arguments: list[str], tmp_path: Path
) -> None:
    write(tmp_path, {"program.py": PROGRAM})
    environment = {**variables(SOURCES), "COLDFORK_CACHE_DIR": str(tmp_path / "cache")}
    process = run([str(tmp_path / "program.py"), *arguments], environment, tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    wake, call = (PROGRAM.splitlines().index(line) + 1 for line in ("def wake():", "wake()"))
    assert process.stdout == f"{[(call, '<module>'), (wake + 1, 'wake')]} None\n"
