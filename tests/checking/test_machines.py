"""Where nobody names a machine, a check asks about those whose accelerators the code uses."""

from __future__ import annotations

from pathlib import Path

import pytest

import coldfork
from coldfork.checking import environment
from coldfork.model.effects import PROFILES

NAMES_A_GPU = "import torch\nN = torch.cuda.get_device_name()\n"
MAKES_AN_ARRAY = "import jax.numpy as jnp\nA = jnp.array([1])\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.coldfork]\nsite-packages = ["packages"]\n', "utf-8")
    (tmp_path / "pkg").mkdir()
    return tmp_path / "pkg"


def check(folder: Path, profile: str | None = None, **files: str) -> coldfork.Report:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return coldfork.check(folder, profile=profile)


def woken(report: coldfork.Report) -> list[tuple[str | None, str]]:
    return sorted((cause.accelerator, cause.path) for cause in report.causes)


def test_code_without_jax_is_asked_about_one_machine(folder: Path) -> None:
    report = check(folder, __init__="", a=NAMES_A_GPU)
    assert report.profiles == ("cuda",)
    assert woken(report) == [("cuda", "pkg/a.py")]


def test_code_that_uses_jax_is_asked_about_jax_too(folder: Path) -> None:
    report = check(folder, __init__="", a=NAMES_A_GPU, b=MAKES_AN_ARRAY)
    assert report.profile == "cuda"
    assert report.profiles == ("cuda", "jax-gpu")
    assert woken(report) == [("cuda", "pkg/a.py"), ("jax", "pkg/b.py")]
    assert report.failing == 2
    assert {finding.accelerator: report.profile_of(finding.accelerator) for finding in report.findings} == {
        "cuda": "cuda",
        "jax": "jax-gpu",
    }


def test_a_machine_that_is_named_is_the_only_one(folder: Path) -> None:
    report = check(folder, "cuda", __init__="", b=MAKES_AN_ARRAY)
    assert report.profiles == ("cuda",)
    assert woken(report) == []


def test_jax_behind_an_import_counts(folder: Path) -> None:
    (folder.parent / "packages" / "layers.py").write_text(MAKES_AN_ARRAY, encoding="utf-8")
    report = check(folder, __init__="import layers\n")
    assert report.profiles == ("cuda", "jax-gpu")
    assert woken(report) == [("jax", "pkg/__init__.py")]


def test_a_session_notices_that_the_code_begins_to_use_jax(folder: Path) -> None:
    (folder / "__init__.py").write_text("", encoding="utf-8")
    with coldfork.CheckSession(cache=False) as session:
        assert session.check(folder).profiles == ("cuda",)
        (folder / "b.py").write_text(MAKES_AN_ARRAY, encoding="utf-8")
        assert woken(session.check(folder)) == [("jax", "pkg/b.py")]
        (folder / "b.py").unlink()
        assert session.check(folder).profiles == ("cuda",)


def test_a_script_that_jax_makes_a_program_is_no_library(folder: Path) -> None:
    """Whether a module is a program is asked only of one that wakes something, on either machine."""
    alone = folder.parent / "train.py"
    alone.write_text(f"{MAKES_AN_ARRAY}print(A)\n", encoding="utf-8")
    assert [cause.audience for cause in coldfork.check(alone).causes] == ["script"]


def test_only_machines_with_more_are_asked_about_besides() -> None:
    assert [machine.name for machine in environment.with_more(PROFILES["cuda"])] == ["jax-gpu"]
    assert list(environment.with_more(PROFILES["jax-gpu"])) == []
