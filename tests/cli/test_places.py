"""Report paths, turned into paths that open from where the user stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.checking.places import locator


@pytest.mark.parametrize(
    ("stand", "given", "located"),
    [
        (".", "src", "src/engine/core.py"),
        (".", ".", "src/engine/core.py"),
        (".", "src/engine", "src/engine/core.py"),
        (".", "src/engine/core.py", "src/engine/core.py"),
        ("src", ".", "engine/core.py"),
        ("src", "engine", "engine/core.py"),
        ("src/engine", ".", "../engine/core.py"),
        ("src/engine", "core.py", "../engine/core.py"),
        ("src/engine", "..", "../engine/core.py"),
    ],
)
def test_what_was_checked_is_found(
    project: Path, monkeypatch: pytest.MonkeyPatch, stand: str, given: str, located: str
) -> None:
    monkeypatch.chdir(project / stand)
    found = locator((), [Path(given)])("engine/core.py")
    assert found == located
    assert Path(found).read_text(encoding="utf-8") == "import torch\n"


def test_an_absolute_path_stays_absolute(project: Path) -> None:
    assert locator((), [project / "src"])("engine/core.py") == (project / "src/engine/core.py").as_posix()


def test_what_lies_elsewhere_stays_as_it_is(project: Path) -> None:
    assert locator((), [Path("src")])("torch/cuda/__init__.py") == "torch/cuda/__init__.py"
