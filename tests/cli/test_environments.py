"""Which packages a check reads, in real virtual environments, and what its last lines say of them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import coldfork

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform == "win32", reason="links to what is installed stand for installing it"),
]

CODE = "import rich\nimport tinydriver\n\ntinydriver.start()\n"
DRIVER = "import torch\n\n\ndef start():\n    return torch.cuda.get_device_name()\n"


class Environment:
    """A virtual environment that holds coldfork and what it depends on."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        (self.packages,) = folder.glob("lib/python3*/site-packages")

    def install_coldfork(self) -> None:
        """Link coldfork and its dependencies into the environment, with their metadata."""
        ours = Path(coldfork.__file__).parent
        (self.packages / "coldfork").symlink_to(ours)
        info = self.packages / "coldfork-0.1.0.dist-info"
        info.mkdir()
        requirements = importlib.metadata.requires("coldfork") or []
        (info / "METADATA").write_text("".join(f"Requires-Dist: {line}\n" for line in requirements))
        (info / "RECORD").write_text("coldfork/__init__.py,,\n")
        for name in _closure(requirements):
            for file in importlib.metadata.distribution(name).files or ():
                installed = Path(str(file.locate()))
                top = installed.parents[len(file.parts) - 2] if len(file.parts) > 1 else installed
                if file.parts[0] not in ("..", "__pycache__") and not (self.packages / top.name).exists():
                    (self.packages / top.name).symlink_to(top)

    def install(self, name: str, text: str = "") -> None:
        """Put a module into the environment."""
        (self.packages / f"{name}.py").write_text(text)


def _closure(requirements: list[str]) -> Iterator[str]:
    """The distributions that these requirements lead to."""
    from packaging.requirements import Requirement

    seen: set[str] = set()
    pending = [Requirement(line) for line in requirements]
    while pending:
        one = pending.pop()
        if one.name in seen or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        seen.add(one.name)
        yield one.name
        pending += [Requirement(line) for line in importlib.metadata.requires(one.name) or []]


@pytest.fixture
def own(tmp_path: Path) -> Environment:
    """An environment that was made for coldfork."""
    made = Environment(tmp_path / "tool")
    made.install_coldfork()
    return made


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A package that imports rich, which coldfork brings along, and a library that wakes the device."""
    package = tmp_path / "project" / "engine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(CODE)
    return package


def check(
    own: Environment, code: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run coldfork from its own environment, in the folder of the project."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    kept = {name: value for name, value in kept.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return subprocess.run(
        [str(own.python), "-m", "coldfork", "check", "engine", "--no-cache", "--exit-zero", *arguments],
        cwd=code.parent,
        env={**kept, "PYTHONUTF8": "1", **variables},
        capture_output=True,
        text=True,
        check=True,
    )


def document(own: Environment, code: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    """The JSON of a check."""
    made: dict[str, Any] = json.loads(check(own, code, "--format", "json", *arguments, **variables).stdout)
    return made


def told(result: subprocess.CompletedProcess[str]) -> str:
    """The output as one line, whatever its width."""
    return " ".join(result.stdout.split())


def test_what_came_with_coldfork_is_not_taken_for_the_projects(own: Environment, code: Path) -> None:
    found = document(own, code)
    assert (found["stats"]["modules"], found["findings"]) == (1, [])
    assert found["environment"] == {
        "path": str(own.packages),
        "origin": "own",
        "read": False,
        "absent": ["rich", "tinydriver"],
        "unset": [],
    }
    assert told(check(own, code)).endswith(
        "packages: not read (and not looked for in coldfork's own environment): "
        "rich, tinydriver; name their environment with --python PATH"
    )


def test_nor_where_its_environment_is_active(own: Environment, code: Path) -> None:
    active = {"VIRTUAL_ENV": str(own.packages.parents[2])}
    assert document(own, code, **active)["stats"]["modules"] == 1


def test_an_environment_that_holds_what_is_imported_is_read(own: Environment, code: Path) -> None:
    own.install("tinydriver", DRIVER)
    found = document(own, code)
    (finding,) = found["findings"]
    assert (finding["path"], finding["line"]) == ("engine/__init__.py", 4)
    assert found["stats"]["modules"] > 2, "rich is there, too"
    assert (found["environment"]["origin"], found["environment"]["absent"]) == ("own", [])
    assert f" packages: read from {own.packages}, coldfork's own environment " in told(check(own, code))


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ("named", "packages: read from {}; imported but not found there: rich"),
        ("active", "packages: read from {}, the active environment; imported but not found there: rich"),
        (
            "neighbour",
            "packages: read from {}, the environment beside the code; imported but not found there: rich",
        ),
    ],
)
def test_another_environment_is_read_and_named(
    origin: str, said: str, own: Environment, code: Path, tmp_path: Path
) -> None:
    folder = code.parent / ".venv" if origin == "neighbour" else tmp_path / "other"
    other = Environment(folder)
    other.install("tinydriver", DRIVER)
    arguments = ("--python", str(other.python)) if origin == "named" else ()
    variables = {"VIRTUAL_ENV": str(folder)} if origin == "active" else {}
    found = document(own, code, *arguments, **variables)
    assert [finding["line"] for finding in found["findings"]] == [4]
    assert (found["environment"]["origin"], found["environment"]["absent"]) == (origin, ["rich"])
    shown = other.packages.relative_to(code.parent) if origin == "neighbour" else other.packages
    assert f" {said.format(shown)} " in told(check(own, code, *arguments, **variables))


def test_code_that_needs_nothing_hears_nothing(own: Environment, code: Path) -> None:
    (code / "__init__.py").write_text("import os\n")
    text = check(own, code).stdout
    assert text.startswith("no finding on cuda: looked at 1 module in ")
    assert text.count("\n") == 1


def test_what_is_not_found_is_what_the_code_cannot_do_without(own: Environment, code: Path) -> None:
    (code / "__init__.py").write_text(
        "import zeta\ntry:\n    import fast\nexcept ImportError:\n    pass\nif X:\n    import other\n"
        "import alpha.b, json\nfrom engine import a\n"
    )
    (code / "a.py").write_text("from zeta.c import d\nfrom . import nothing\n")
    (code / "tests").mkdir()
    (code / "tests" / "test_a.py").write_text("import pytest\n")
    assert document(own, code)["environment"]["absent"] == ["zeta", "alpha"]


def test_what_takes_a_variable_that_is_unset_is_left_alone_and_named(own: Environment, code: Path) -> None:
    own.install("tinydriver", f"import os\nif os.environ.get('TINY_DEBUG'):\n    import tinydebug\n{DRIVER}")
    own.install("tinydebug", DRIVER)
    found = document(own, code)
    assert found["environment"]["unset"] == [{"package": "tinydriver", "variable": "TINY_DEBUG"}]
    said = "; not followed: imports of tinydriver that need TINY_DEBUG set\n"
    assert f"own environment{said}" in check(own, code).stdout


def test_sarif_says_it_too(own: Environment, code: Path) -> None:
    log = json.loads(check(own, code, "--format", "sarif").stdout)
    (notification,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert notification["level"] == "note"
    assert notification["message"]["text"].startswith("packages: not read")
