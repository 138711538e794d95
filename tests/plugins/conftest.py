"""Suites of tests that are run for real, in processes of their own, with the plugin loaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"

#: A package of which one module initialises the driver in a class body, and another imports it.
ENGINE = {
    "engine/__init__.py": "",
    "engine/attention.py": """
        import ctypes

        CUDA = ctypes.CDLL("libcuda.so.1")


        def version():
            return CUDA.cuInit(0)


        class Builder:
            support = version()
        """,
    "engine/api.py": "import engine.attention\n",
    "engine/quiet.py": "X = 1\n",
}

#: What wakes the virtual driver when it is called, and not before.
DRIVER = """
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")


    def wake():
        cuda.cuInit(0)
"""


@dataclass(frozen=True)
class Result:
    """How a test run ended, and what it printed."""

    status: int
    printed: str

    @property
    def text(self) -> str:
        """What was printed, without the heading and without times."""
        _, _, behind = self.printed.partition("rootdir: ")
        body = behind.partition("\n\n")[2] if behind else self.printed
        body = re.sub(r"in \d+\.\d+s( \([\d:]+\))?", "in Ts", body)
        body = re.sub(r"(?<= in )[\d.]+ m?s", "S s", re.sub(r"loaded \d+ modules", "loaded N modules", body))
        return re.sub(r"[=_!]{3,} ?(.*?) ?[=_!]{3,}", r"== \1 ==", body)

    @property
    def outcomes(self) -> str:
        """The last line: `1 failed, 2 passed`."""
        return self.printed.strip().splitlines()[-1].strip("= ").rpartition(" in ")[0]


Run = Callable[..., Result]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Put the files of a suite into a folder of their own."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def suite(tmp_path: Path, cache: Path, write: Callable[[Mapping[str, str]], Path]) -> Run:
    """Write files and run pytest on them: `suite({"test_a.py": ...}, "--coldfork")`."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")

    def run(
        files: Mapping[str, str],
        *arguments: str,
        environment: Mapping[str, str | None] | None = None,
        remembers: bool = False,
    ) -> Result:
        write(files)
        memory = () if remembers else ("-p", "no:cacheprovider")
        variables: dict[str, str | None] = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "PYTHONPATH": str(SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLDFORK_CACHE_DIR": str(cache),
            "COLUMNS": "80",
            # An installed coldfork would bring the plugin a second time, and others are none of our business.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **(environment or {}),
        }
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "coldfork.plugins.pytest_plugin",
                *ALWAYS,
                *memory,
                *arguments,
            ],
            cwd=tmp_path,
            env={name: value for name, value in variables.items() if value is not None},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            check=False,
        )
        return Result(done.returncode, done.stdout)

    return run


#: Not a user's settings, and no warning that would be overlooked.
ALWAYS = ("-W", "error", "--color=no", "--strict-markers", "--rootdir=.")
WATCHED = ("--coldfork", "--coldfork-virtual", "h100")
