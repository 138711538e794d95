"""The modules that importing coldfork loads. The budget is a list, because times differ between machines."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "coldfork"


def loaded_by(statement: str) -> set[str]:
    """The modules that a statement adds to those of a bare interpreter."""
    program = (
        "import sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "added = sorted(set(sys.modules) - before); import json; print(json.dumps(added))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(json.loads(done.stdout))


def imported_by(path: Path) -> Iterator[str]:
    """The top-level name of everything a file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.must_hold
def test_importing_coldfork_loads_two_modules() -> None:
    assert loaded_by("import coldfork") <= {"__future__", "coldfork"}


@pytest.mark.must_hold
def test_a_public_name_loads_its_home_and_nothing_else_of_coldfork() -> None:
    loaded = loaded_by("import coldfork; coldfork.ColdforkError")
    ours = {name for name in loaded if name.partition(".")[0] == "coldfork"}
    assert ours == {"coldfork", "coldfork.model", "coldfork.model.errors"}


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("statement", "spared"),
    [
        ("import coldfork; coldfork.guard('warn')", {"re", "typing", "dataclasses", "logging"}),
        ("import coldfork; coldfork.decide()", {"hashlib", "subprocess"}),
        ("import coldfork; coldfork.run_script", {"subprocess", "concurrent.futures.thread"}),
        ("import coldfork; coldfork.lease", {"tempfile", "shutil"}),
        ("import coldfork; coldfork.WorkerPool", {"asyncio", "dataclasses", "inspect", "pathlib", "typing"}),
        ("import coldfork.launch.server.zygote.server", {"dataclasses", "inspect", "logging", "typing"}),
        ("import coldfork.launch.pool.local.service", {"dataclasses", "concurrent.futures", "logging"}),
        ("import coldfork.cli.main", {"dataclasses", "unicodedata"}),
        ("import coldfork.launch.supervisor.main", {"contextlib", "ctypes", "socket", "typing"}),
    ],
)
def test_what_starts_often_is_spared_what_it_may_not_need(statement: str, spared: set[str]) -> None:
    assert loaded_by(statement) & spared == set()


@pytest.mark.must_hold
def test_the_model_uses_the_standard_library_only() -> None:
    for path in (PACKAGE / "model").rglob("*.py"):
        foreign = set(imported_by(path)) - sys.stdlib_module_names - {"coldfork"}
        assert not foreign, f"{path.name} imports {foreign}"


@pytest.mark.once
def test_the_dependencies_declared_are_those_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    imported = {name for path in PACKAGE.rglob("*.py") for name in imported_by(path)}
    filled_in = {"torch"}  # by the virtual device, where the program has imported it
    hosts = {"pytest", "pluggy"}  # load our plugins, and so are there
    # Where a meter of the first was handed in, or the others were asked for.
    extras = {"opentelemetry", "ray", "lsprotocol", "pygls", "mcp"}
    assert imported - sys.stdlib_module_names - {"coldfork"} - filled_in - hosts - extras == declared
