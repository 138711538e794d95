"""A project to stand in, the command to call, and an engine that sees what a test says it sees."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from coldfork.cli.main import cli
from coldfork.model.effects import Chain, Effect, EffectKind, Position, Step, StepKind, Verdict
from coldfork.model.observations import IgnoreComment, Observation, Statistics, Unreadable
from coldfork.source.analysis import Analysis, Request

Run = Callable[..., Result]


class Engine:
    """Stands in for the analysis: remembers what was asked and answers what it was told to see."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.effects: tuple[Effect, ...] = ()
        self.unreadable: tuple[Unreadable, ...] = ()
        self.ignores: tuple[IgnoreComment, ...] = ()
        self.modules = 3

    def sees(self, *effects: Effect) -> None:
        self.effects = effects

    def analyse(self, request: Request, progress: object = None) -> Observation:
        self.requests.append(request)
        statistics = Statistics(self.modules, self.modules, 0, 0.1, self.modules)
        return Observation(request.profile.name, self.effects, self.unreadable, self.ignores, statistics)

    @property
    def request(self) -> Request:
        return self.requests[-1]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that sees nothing until it is told to."""
    made = Engine()
    monkeypatch.setattr(
        Analysis,
        "observe",
        lambda self, progress=None: made.analyse(self.request, progress),
    )
    return made


@pytest.fixture
def effect() -> Callable[..., Effect]:
    """Make an effect on a line of `engine/core.py`."""

    def make(line: int = 7, **changes: Any) -> Effect:
        text = changes.get("text", "SMS = torch.cuda.get_device_properties(0)")
        path = changes.get("path", "engine/core.py")
        sink = Step(StepKind.SINK, "torch.cuda.get_device_properties")
        fields: dict[str, Any] = {
            "kind": EffectKind.CREATES_CONTEXT,
            "accelerator": "cuda",
            "verdict": Verdict.CERTAIN,
            "module": "engine.core",
            "path": path,
            "line": line,
            "end_line": line,
            "column": 6,
            "text": text,
            "position": Position.MODULE,
            "chain": Chain((Step(StepKind.MODULE, "engine.core", path, line, text), sink)),
        }
        return Effect(**{**fields, **changes})

    return make


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `src/engine/core.py`, stood in, with no setting of the machine reaching into it."""
    package = tmp_path / "src" / "engine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "core.py").write_text("import torch\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("COLDFORK_") or name in ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def run(project: Path) -> Run:
    """Call the command inside the project."""

    def call(*arguments: str, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(cli, arguments, env=env)

    return call


@pytest.fixture
def configure(project: Path) -> Callable[[str], Path]:
    """Write the project's `[tool.coldfork]`."""

    def write(table: str) -> Path:
        file = project / "pyproject.toml"
        file.write_text(f"[tool.coldfork]\n{table}", encoding="utf-8")
        return file

    return write


@pytest.fixture
def write(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Write files into an empty folder, and stand in it."""
    folder = project / "checkout"
    (folder / "nothing").mkdir(parents=True)
    monkeypatch.chdir(folder)

    def put(files: dict[str, str]) -> None:
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")

    return put
