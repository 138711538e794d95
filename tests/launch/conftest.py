"""A folder of modules to probe, and the surroundings in which a virtual driver can be woken."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coldfork.launch.probe.probe import ProbeRequest, probe
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.probes import ModuleProbe, Probing
from tests.launch.scripting import Bench

WAKE = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"

Write = Callable[..., Path]
Surroundings = Callable[..., ProbeSetup]
Probe = Callable[..., ModuleProbe]


@pytest.fixture(autouse=True)
def reports_are_described(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compare the reports that a test's scripts left with the schema."""
    yield
    bench = getattr(request.node, "funcargs", {}).get("bench")
    if isinstance(bench, Bench):
        bench.require_described_reports()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write modules into the folder that is probed: `write(engine__core="...")` for engine/core.py.

    `engine____init__` is engine/__init__.py.
    """

    def write(**modules: str) -> Path:
        for name, text in modules.items():
            for special in ("init", "main"):
                name = name.replace(f"____{special}__", f"/<{special}>")
            name = name.replace("__", "/").replace("<", "__").replace(">", "__")
            file = tmp_path / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def surroundings(tmp_path: Path, cache: Path) -> Surroundings:
    """A virtual driver and the test's own folder."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")

    def make(**changes: object) -> ProbeSetup:
        base = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
        base |= {"COLDFORK_CACHE_DIR": str(cache), "PYTHONPATH": str(tmp_path)}
        fields: dict[str, object] = {
            "python": sys.executable,
            "virtual": "h100",
            "timeout": 60.0,
            "base": base,
        }
        return ProbeSetup(**{**fields, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture
def probed(surroundings: Surroundings) -> Probe:
    """Probe one module."""

    def run(module: str, **changes: object) -> ModuleProbe:
        result: Probing = probe(ProbeRequest((module,), surroundings(**changes)))
        (only,) = result.modules
        return only

    return run
