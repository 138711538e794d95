"""The text that the models learn: coldfork's own pages about its rules, as bytes."""

from __future__ import annotations

from pathlib import Path

PAGES = Path(__file__).resolve().parents[3] / "docs" / "rules"
VOCABULARY = 256


def corpus(limit: int = 24_000) -> bytes:
    """The beginning of the pages, one after the other."""
    return b"\n".join(page.read_bytes() for page in sorted(PAGES.glob("*.md")))[:limit]


def encode(text: str) -> list[int]:
    """One token a byte."""
    return list(text.encode())


def decode(tokens: list[int]) -> str:
    """Return the text of some tokens."""
    return bytes(tokens).decode(errors="replace")
