"""Runs programs in interpreters of their own: a virtual device stays in a process until it ends."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SOURCE = Path(__file__).resolve().parents[2] / "src"

_TELL = """
import json as _json, os as _os
def tell(**facts):
    with open(_os.environ["TOLD"], "a") as file:
        file.write(_json.dumps(facts) + "\\n")
"""


_SECONDS = 120
"""Longer than any program takes, however busy the machine is."""


class Program:
    """How a program ended, what it told, and what it printed."""

    def __init__(self, process: subprocess.CompletedProcess[str], told: str) -> None:
        self.status = process.returncode
        self.printed = process.stdout
        self.errors = process.stderr
        self.told: dict[str, Any] = {}
        for line in told.splitlines():
            self.told.update(json.loads(line))


Run = Callable[..., Program]


class Beginning:
    """A process that ran the beginning of a program, from which each end of it is forked."""

    def __init__(self, code: str, cache: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "prepared.py"), _TELL + code],
            env=variables(cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def go_on(self, script: Path, more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run the end of a program in a child, with some more variables."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        output, errors = script.with_suffix(".output"), script.with_suffix(".errors")
        request = {
            "script": str(script),
            "variables": dict(more),
            "folder": str(script.parent),
            "output": str(output),
            "errors": str(errors),
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], _SECONDS)[0]:
            self.end()
            raise subprocess.TimeoutExpired(str(script), _SECONDS)
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(
            [str(script)], status, output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8")
        )

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def variables(cache: Path) -> dict[str, str]:
    """Return the environment variables of a program."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "COLDFORK_"))}
    return given | {"PYTHONPATH": str(SOURCE), "COLDFORK_CACHE_DIR": str(cache), "PYTHONWARNINGS": "error"}


@pytest.fixture(scope="session")
def begun(cache: Path) -> Iterator[Callable[[str], Beginning]]:
    """The processes that have run a beginning, each made when it is first asked for."""
    made: dict[str, Beginning] = {}

    def begun(code: str) -> Beginning:
        if code not in made:
            made[code] = Beginning(code, cache)
        return made[code]

    yield begun
    for beginning in made.values():
        beginning.end()


@pytest.fixture
def run(cache: Path, begun: Callable[[str], Beginning], tmp_path: Path) -> Run:
    """Run a program that may call `tell(name=value)`; a program that fails fails the test.

    `after` is its beginning: imports and no more, which take seconds where torch is among them. It is run
    once for all tests that begin so, and what follows in a child forked from there. The variables of the
    environment are then set after the beginning.
    """

    def run(
        code: str,
        *,
        after: str | None = None,
        environment: Mapping[str, str | None] | None = None,
        fails: bool = False,
    ) -> Program:
        given = variables(cache)
        for name, value in (environment or {}).items():
            given.pop(name, None)
            if value is not None:
                given[name] = value
        told = tmp_path / "told"
        told.write_text("", encoding="utf-8")
        given["TOLD"] = str(told)
        script = tmp_path / "program.py"
        if after is None:
            script.write_text(_TELL + textwrap.dedent(code), encoding="utf-8")
            process = subprocess.run(
                [sys.executable, str(script)],
                env=given,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                cwd=tmp_path,
                check=False,
            )
        else:
            script.write_text(textwrap.dedent(code), encoding="utf-8")
            process = begun(after).go_on(script, given)
        program = Program(process, told.read_text(encoding="utf-8"))
        assert fails or program.status == 0, program.errors
        return program

    return run
