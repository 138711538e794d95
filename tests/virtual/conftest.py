"""Runs programs in interpreters of their own: a virtual device stays in a process until it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

_TELL = """
import json as _json, os as _os
def tell(**facts):
    with open(_os.environ["TOLD"], "a") as file:
        file.write(_json.dumps(facts) + "\\n")
"""


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


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the whole run, so that the C parts are compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(cache: Path, tmp_path: Path) -> Run:
    """Run a program that may call `tell(name=value)`; a program that fails fails the test."""

    def run(
        code: str, *, environment: Mapping[str, str | None] | None = None, fails: bool = False
    ) -> Program:
        given = {
            name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "COLDFORK_"))
        }
        given |= {"PYTHONPATH": str(SOURCE), "COLDFORK_CACHE_DIR": str(cache), "PYTHONWARNINGS": "error"}
        for name, value in (environment or {}).items():
            given.pop(name, None)
            if value is not None:
                given[name] = value
        told = tmp_path / "told"
        script = tmp_path / "program.py"
        script.write_text(_TELL + textwrap.dedent(code), encoding="utf-8")
        told.write_text("", encoding="utf-8")
        process = subprocess.run(
            [sys.executable, str(script)],
            env=given | {"TOLD": str(told)},
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            check=False,
        )
        program = Program(process, told.read_text(encoding="utf-8"))
        assert fails or program.status == 0, program.errors
        return program

    return run
