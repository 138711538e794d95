"""Suites of tests that are run for real, in processes of their own, with the plugin loaded."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
SECONDS = 180

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
        """Return the printed text, without the heading and without times."""
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


VARIABLES = {
    "PATH": os.environ["PATH"],
    "HOME": os.environ.get("HOME", "/"),
    "PYTHONPATH": str(SOURCES),
    "PYTHONDONTWRITEBYTECODE": "1",
    "COLUMNS": "80",
    # An installed coldfork would bring the plugin a second time, and others are none of our business.
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


class Prepared:
    """A process that has imported pytest, and forks one for each run of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("prepared.py"))],
            env=VARIABLES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], folder: Path, variables: Mapping[str, str], output: Path) -> Result:
        """Run pytest with these arguments."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "variables": dict(variables),
            "output": str(output),
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            raise subprocess.TimeoutExpired(arguments, SECONDS)
        status = int(self._process.stdout.readline())
        return Result(status, output.read_text(encoding="utf-8"))

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    """One such process for all tests of a worker."""
    made = Prepared()
    yield made
    made.end()


@pytest.fixture
def suite(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    cache: Path,
    write: Callable[[Mapping[str, str]], Path],
    prepared: Prepared,
) -> Run:
    """Write files and run pytest on them: `suite({"test_a.py": ...}, "--coldfork")`.

    What it runs in is forked from a process that has imported pytest, unless a variable has to be there when
    Python starts, or it is to be `fresh`, or has workers: one that was forked may not be called cold.
    """
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")

    def run(
        files: Mapping[str, str],
        *arguments: str,
        environment: Mapping[str, str | None] | None = None,
        remembers: bool = False,
        fresh: bool = False,
    ) -> Result:
        write(files)
        memory = () if remembers else ("-p", "no:cacheprovider")
        wanted = {**VARIABLES, "COLDFORK_CACHE_DIR": str(cache), **(environment or {})}
        variables = {name: value for name, value in wanted.items() if value is not None}
        words = ["-p", "coldfork.plugins.pytest_plugin", *ALWAYS, *memory, *arguments]
        plain = not any(name.startswith(("PYTHON", "LD_")) for name in environment or {})
        if plain and not fresh and "xdist" not in arguments:
            output = tmp_path_factory.mktemp("printed") / "output"
            return prepared.run(words, tmp_path, variables, output)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=tmp_path,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Result(done.returncode, done.stdout)

    return run


#: Not a user's settings, and no warning that would be overlooked.
ALWAYS = ("-W", "error", "--color=no", "--strict-markers", "--rootdir=.")
WATCHED = ("--coldfork", "--coldfork-virtual", "h100")
