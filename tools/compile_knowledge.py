"""Compiles knowledge/*.toml into knowledge/compiled.py, so that start-up reads no TOML: `./dev knowledge`

knowledge/stamp.py gets what a digest of the catalogue is made of, so that a recalled answer reads neither.
"""

from __future__ import annotations

import sys
import tomllib
from hashlib import blake2b
from pathlib import Path

from coldfork.knowledge.entries import Library
from coldfork.knowledge.schema import read
from coldfork.model.errors import KnowledgeError
from generated_files import settle

KNOWLEDGE = Path(__file__).resolve().parent.parent / "src" / "coldfork" / "knowledge"
TARGET = KNOWLEDGE / "compiled.py"
STAMP = KNOWLEDGE / "stamp.py"
HEADER = '''"""Generated from the TOML files beside it by tools/compile_knowledge.py; edit those, not this."""

# fmt: off
from __future__ import annotations
'''
ROWS = """
# ruff: noqa: E501
from typing import Any

Rows = tuple[tuple[Any, ...], ...]

"""


def libraries(folder: Path) -> list[Library]:
    """Read every library's file, in the order of their names."""
    return [read(tomllib.loads(path.read_text("utf-8")), path.name) for path in sorted(folder.glob("*.toml"))]


def render(folder: Path) -> str:
    """The text of compiled.py for the TOML files in `folder`."""
    found = libraries(folder)
    sections = []
    for field in Library._fields:
        rows = [plain(row) for library in found for row in getattr(library, field)]
        body = "".join(f"    {row!r},\n" for row in rows)
        sections.append(f"{field.upper()}: Rows = (\n{body})\n")
    return HEADER + ROWS + "\n".join(sections)


def stamp(folder: Path) -> str:
    """The text of stamp.py: a digest of the entries, and the distributions whose versions they ask for.

    A row has a distribution's name and those of others with the same versions.
    """
    digest = blake2b(render(folder).encode(), digest_size=12).hexdigest()
    found = libraries(folder)
    others = [alias for library in found for alias in library.aliases]
    asked = {
        row.distribution
        for library in found
        for field in Library._fields
        for row in getattr(library, field)
        if getattr(row, "versions", "")
    }
    rows = [(name, *(other.name for other in others if other.of == name)) for name in sorted(asked)]
    body = "".join(f"    {row!r},\n" for row in rows)
    return f"{HEADER}\nDIGEST = {digest!r}\n\nVERSIONED: tuple[tuple[str, ...], ...] = (\n{body})\n"


def plain(row: object) -> object:
    """The row as bare tuples: a literal that needs no names."""
    return tuple(plain(item) for item in row) if isinstance(row, tuple) else row


def main() -> int:
    """Write compiled.py, or with --check only say whether it is current."""
    try:
        files = {TARGET: render(KNOWLEDGE), STAMP: stamp(KNOWLEDGE)}
    except (KnowledgeError, tomllib.TOMLDecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    return settle("Compile knowledge/*.toml into knowledge/compiled.py.", "./dev knowledge", files)


if __name__ == "__main__":
    sys.exit(main())
