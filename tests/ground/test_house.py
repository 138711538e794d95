"""The shape of the house: rooms that can be surveyed, and modules of a readable size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "coldfork"
#: Folders of like members, each of them one of a kind that may have any number.
ALIKE = frozenset({"rules", "rules/processes", "observe/probes", "cli/commands"})


def folders() -> Iterator[tuple[str, list[str]]]:
    """Every folder of the package by its place, with the names of its modules."""
    for folder in sorted({path.parent for path in PACKAGE.rglob("*.py")}):
        names = sorted(path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "__main__"))
        yield folder.relative_to(PACKAGE).as_posix(), names


def test_a_folder_holds_at_most_fifteen_modules() -> None:
    crowded = {place: len(names) for place, names in folders() if len(names) > 15 and place not in ALIKE}
    assert not crowded, f"these want rooms of their own: {crowded}"


def test_no_prefix_stands_where_a_folder_belongs() -> None:
    shared = {
        place: prefixes
        for place, names in folders()
        if place not in ALIKE
        and (prefixes := [word for word, n in Counter(n.partition("_")[0] for n in names).items() if n > 1])
    }
    assert not shared, f"modules that begin alike belong into a folder: {shared}"


def test_every_module_has_a_readable_size() -> None:
    long = {
        path.relative_to(PACKAGE).as_posix(): length
        for path in PACKAGE.rglob("*.py")
        if (length := _lines_to_read(path.read_text(encoding="utf-8"))) > 350
    }
    assert not long, f"about 300 lines are enough for a module: {long}"


def _lines_to_read(text: str) -> int:
    """How many lines a module asks of a reader: one that is generated is data, and asks for none."""
    return 0 if text.startswith('"""Generated from ') else len(text.splitlines())


def test_every_folder_says_what_it_holds() -> None:
    for place, names in folders():
        start = PACKAGE / place / "__init__.py"
        if names and start.exists():
            assert start.read_text(encoding="utf-8").startswith(('"""', 'r"""')), place
