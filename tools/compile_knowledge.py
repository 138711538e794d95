"""Compiles knowledge/*.toml into knowledge/compiled.py, so that start-up reads no TOML: `./dev knowledge`"""

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
HEADER = '''"""Generated from the TOML files beside it by tools/compile_knowledge.py; edit those, not this."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from typing import Any

Rows = tuple[tuple[Any, ...], ...]
'''


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
    content = "\n".join(sections)
    digest = blake2b(content.encode(), digest_size=12).hexdigest()
    return f"{HEADER}\nDIGEST = {digest!r}\n\n{content}"


def plain(row: object) -> object:
    """The row as bare tuples: a literal that needs no names."""
    return tuple(plain(item) for item in row) if isinstance(row, tuple) else row


def main() -> int:
    """Write compiled.py, or with --check only say whether it is current."""
    try:
        text = render(KNOWLEDGE)
    except (KnowledgeError, tomllib.TOMLDecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    return settle("Compile knowledge/*.toml into knowledge/compiled.py.", "./dev knowledge", {TARGET: text})


if __name__ == "__main__":
    sys.exit(main())
