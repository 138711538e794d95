"""A keeper of its own for every test that asks for one, which is gone with everything of it afterwards."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("warm servers need Linux", allow_module_level=True)

from coldfork.launch.script import environment
from coldfork.launch.script.call import ScriptResult
from coldfork.launch.server.warm import control
from coldfork.model.running import WarmServer
from tests.launch.scripting import Bench


class WarmBench(Bench):
    """Scripts that are started by servers."""

    def prepare(self, modules: Sequence[str] = ("json",), **how: Any) -> WarmServer:
        """Have a server made ready."""
        return control.prepare(modules, environment.build("spawn").variables, **how)

    def warm(self, text: str, *args: str, modules: Sequence[str] = ("json",), **how: Any) -> ScriptResult:
        """Run a script that has to be started by a server."""
        result = self.run(text, *args, warm=modules, **how)
        assert result.cold_because is None
        return result

    def cold(self, text: str = "pass", modules: Sequence[str] = ("json",), **how: Any) -> str:
        """Why no server starts a script."""
        result = self.run(text, warm=modules, **how)
        assert not result.warm
        assert result.cold_because is not None
        return result.cold_because


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for what lives while a user is logged in; its path is short, as a socket's must be."""
    folder = Path(tempfile.mkdtemp(prefix="cf-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    try:
        control.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def bench(tmp_path: Path, runtime: Path) -> WarmBench:
    assert runtime.is_dir()
    return WarmBench(tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmBench]:
    """One keeper with a server that has `json` and `http.client` ready, for all tests of a module."""
    folder = Path(tempfile.mkdtemp(prefix="cf-"))
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    try:
        made = WarmBench(tmp_path_factory.mktemp("scripts"))
        made.prepare(["json"])
        yield made
        control.stop()
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
        shutil.rmtree(folder)
