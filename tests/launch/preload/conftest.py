"""A folder of modules that a worker imports, and the search in it, on the virtual device."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("a zygote needs Linux", allow_module_level=True)

from coldfork.launch.preload.search import PreloadRequest, preload
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.preloads import Preloading

Search = Callable[..., Preloading]
Fill = Callable[[dict[str, str]], Path]


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Write these modules into the folder."""

    def write(modules: dict[str, str]) -> Path:
        for name, text in modules.items():
            file = tmp_path / f"{name.replace('.', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def search(tmp_path: Path, surroundings: Callable[..., ProbeSetup]) -> Search:
    """Search for what may be preloaded, or check a list."""

    def find(*wanted: str, kept: tuple[str, ...] | None = None, timeout: float = 60) -> Preloading:
        setup = surroundings(virtual="h100", timeout=timeout)
        return preload(PreloadRequest(wanted, setup, kept))

    return find
