"""Decides which characters may be printed, and replaces the others with escapes.

Source lines, paths and messages come from files that anyone may have written. Terminals obey control
characters, strict JSON readers reject lone surrogates, and XML 1.0 cannot represent most control characters.
So every renderer passes foreign text through here.
"""

from __future__ import annotations

import codecs
import unicodedata
from typing import NamedTuple


def printable(text: str) -> str:
    """Return the text with invisible characters as Python escapes, and tabs as spaces.

    This covers the C0 and C1 controls, escape sequences, direction overrides, zero-width characters, line and
    paragraph separators and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text.expandtabs(4))


def one_line(text: str) -> str:
    """Return the text on one line, with each run of white space reduced to one space."""
    return " ".join(text.split())


def well_formed(text: str) -> str:
    """Return the text with lone surrogates, which come from undecodable file names, as escapes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def xml_safe(text: str) -> str:
    """Return the text with characters that XML 1.0 forbids as escapes."""
    if text.isprintable():
        return text
    return "".join(c if _is_xml_character(c) else _escape(c) for c in text)


def cells(text: str) -> int:
    """Return the number of terminal columns that the text occupies."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(c) for c in text)


class Alphabet(NamedTuple):
    """The characters that an output stream can encode."""

    encoding: str
    ellipsis: str

    def clean(self, text: str) -> str:
        """Return foreign text made safe for the stream: all characters are visible and can be encoded."""
        return fitting(printable(text), self.encoding)

    def first_line(self, text: str) -> str:
        """Return the first line of foreign text, made safe; a mark shows if more lines follow."""
        first, *rest = text.strip().splitlines() or [""]
        line = self.clean(first.strip())
        return f"{line} {self.ellipsis}" if rest else line

    def cut(self, text: str, width: int | None) -> str:
        """Return clean text, shortened to this many columns; with None, return it unchanged."""
        if width is None or cells(text) <= width:
            return text
        room = width - cells(self.ellipsis)
        kept: list[str] = []
        for character in text:
            room -= _cells_of(character)
            if room < 0:
                break
            kept.append(character)
        return "".join(kept).rstrip() + self.ellipsis

    def pad(self, text: str, width: int) -> str:
        """Return clean text, padded with spaces to this many columns."""
        return text + " " * max(0, width - cells(text))


def alphabet(encoding: str | None) -> Alphabet:
    """Return the alphabet of a stream with this encoding, or ASCII's if Python does not know the encoding."""
    name = encoding or "utf-8"
    try:
        codecs.lookup(name)
        sayable = "…".encode(name, "replace").decode(name, "replace") == "…"
    except (LookupError, UnicodeError):
        return Alphabet("ascii", "...")
    return Alphabet(name, "…" if sayable else "...")


def fitting(text: str, encoding: str) -> str:
    """Return the text; characters that the encoding lacks are written as escapes."""
    if text.isascii():
        return text
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _is_xml_character(character: str) -> bool:
    # XML allows a bare carriage return but reads it back as a newline, so it is escaped as well.
    point = ord(character)
    return point in (0x9, 0xA) or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000


def _cells_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
