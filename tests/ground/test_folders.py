"""The folders beside the package: which of them may use which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ground.test_imports import imported_by

ROOT = Path(__file__).resolve().parents[2]
#: What each folder may use of the others. Published packages are what benchmarks and integrations share;
#: an integration drives the browser that tests drive.
MAY_USE = {
    "benchmarks": {"published"},
    "integrations": {"published", "tests"},
    "published": set[str](),
    "tools": set[str](),
}


@pytest.mark.once
@pytest.mark.parametrize("folder", MAY_USE)
def test_a_folder_uses_only_those_below_it(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    others = MAY_USE.keys() | {"hardware", "tests"}
    used = {path.relative_to(ROOT).as_posix(): set(imported_by(path)) & others for path in files}
    wrong = {path: names - MAY_USE[folder] - {folder} for path, names in used.items()}
    assert not {path: names for path, names in wrong.items() if names}


def test_the_picture_of_the_house_shows_every_room() -> None:
    picture = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The house")[2]
    drawn = set(re.findall(r"^(?:floor \d|ground|) +(\w+)/ ", picture, re.MULTILINE))
    rooms = {path.parent.name for path in (ROOT / "src" / "coldfork").glob("*/__init__.py")}
    assert rooms <= drawn
