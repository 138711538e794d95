"""CONTRIBUTING and the pages behind it: every path exists, and the pictures show every room."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "coldfork"
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
ROOMS = (ROOT / "docs" / "contributing" / "rooms.md").read_text(encoding="utf-8")
#: More than this is not read before the first change.
MOST_LINES = 170
#: A path, as opposed to a command or a name: it has a slash or an ending.
PATH = re.compile(r"(?=.*(?:/|\.(?:py|md|toml|json)$))[\w./*-]+")
#: NAME, ROOM and such stand for whatever the reader has in mind.
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")


def prose() -> str:
    return re.sub(r"^```.*?^```", "", TEXT, flags=re.DOTALL | re.MULTILINE)


def paths() -> list[str]:
    """Every path in a code span, those inside commands too."""
    words = (word for span in re.findall(r"`([^`]+)`", prose()) for word in span.split())
    return [word for word in words if PATH.fullmatch(word) and not PLACEHOLDER.search(Path(word).stem)]


def exists(path: str) -> bool:
    """Whether a path leads somewhere, from the checkout or from the package."""
    return any(any(base.glob(path)) for base in (ROOT, PACKAGE))


def rooms(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}


def picture(after: str) -> str:
    """The first picture behind a heading."""
    return ROOMS.partition(after)[2].partition("```text\n")[2].partition("```")[0]


def test_every_path_exists() -> None:
    found = paths()
    assert len(found) > 40, "the paths are no longer found"
    assert [path for path in found if not exists(path)] == []


@pytest.mark.parametrize(
    ("path", "there"), [("rules/registry.py", True), ("tests/rules/", True), ("source/nowhere.py", False)]
)
def test_a_path_that_leads_nowhere_is_told_from_one_that_does(path: str, there: bool) -> None:
    assert PATH.fullmatch(path)
    assert exists(path) is there


def test_the_picture_of_the_house_shows_the_rooms_inside_the_rooms() -> None:
    shown = set(re.findall(r"(\w\w+)/", picture("# The rooms")))
    inside = {name for room in rooms(PACKAGE) - {"source"} for name in rooms(PACKAGE / room)}
    assert shown == rooms(PACKAGE) | inside


def test_the_picture_of_launch_shows_its_rooms_and_those_inside_them() -> None:
    shown = set(re.findall(r"(\w\w+)/ ", picture("## Inside `launch/`")))
    there = rooms(PACKAGE / "launch")
    assert there <= shown <= there | {name for room in there for name in rooms(PACKAGE / "launch" / room)}


def test_the_picture_of_source_shows_its_rooms() -> None:
    shown = set(re.findall(r"^(\w+)/ ", picture("## Inside `source/`"), re.MULTILINE))
    assert shown == rooms(PACKAGE / "source")


def test_contributing_is_read_in_five_minutes() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= MOST_LINES
