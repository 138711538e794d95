"""compiled.py is the TOML files, cheap to import, and the catalogue is quick to load."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import FrameType, ModuleType

import pytest

import coldfork
from coldfork.knowledge.catalogue import load
from coldfork.model.effects import PROFILES

ROOT = Path(__file__).resolve().parent.parent.parent
KNOWLEDGE = Path(coldfork.__file__).parent / "knowledge"


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tools/compile_knowledge.py as a module."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("compile_knowledge")


def test_an_edited_file_changes_the_digest(compiler: ModuleType, tmp_path: Path) -> None:
    text = (KNOWLEDGE / "pycuda.toml").read_text("utf-8")
    (tmp_path / "pycuda.toml").write_text(text, "utf-8")
    before = compiler.stamp(tmp_path)
    (tmp_path / "pycuda.toml").write_text(text.replace("creates-context", "initialises-driver", 1), "utf-8")
    after = compiler.stamp(tmp_path)
    assert [line for line in before.splitlines() if line.startswith("DIGEST")] != [
        line for line in after.splitlines() if line.startswith("DIGEST")
    ]


def test_importing_the_catalogue_loads_nothing_outside_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import coldfork.knowledge.catalogue as catalogue;"
        "from coldfork.model.effects import PROFILES;"
        "catalogue.load(PROFILES['cuda'], {'torch': '2.8.0+cu128'});"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names) - {'coldfork'}), 'tomllib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


def test_loading_is_quick() -> None:
    """10 ms is the promise; calls are counted instead, which take no longer on a busy machine."""
    versions = {"torch": "2.8.0", "triton": "3.3.1", "jax": "0.5.0", "flashinfer-python": "0.6.8"}
    calls = 0

    def count(_frame: FrameType, event: str, _given: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        load(PROFILES["cuda"], versions)
        first = calls
        load(PROFILES["cuda"], versions)
    finally:
        sys.setprofile(None)
    assert 1_000 < first < 15_000
    assert calls - first < 100  # a session asks the same again and again
