"""Which characters may leave coldfork, and how the others are written.

Source lines, paths and messages come from files that anybody may have written. A terminal obeys control
characters, a strict JSON reader refuses lone surrogates, XML 1.0 has no way to say most controls: every
renderer passes what it did not write itself through here.
"""

from __future__ import annotations

import codecs
import unicodedata
from dataclasses import dataclass


def printable(text: str) -> str:
    """Write everything that is not a visible character or a space as a Python escape; tabs become spaces.

    Covers the C0 and C1 controls, escape sequences, direction overrides, zero-width characters, line and
    paragraph separators and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text.expandtabs(4))


def one_line(text: str) -> str:
    """Join the lines of a text and its runs of spaces, as for a condition that spans lines."""
    return " ".join(text.split())


def well_formed(text: str) -> str:
    """Write lone surrogates, which come from undecodable file names, as escapes; all else stays."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def xml_safe(text: str) -> str:
    """Write the characters that XML 1.0 forbids as escapes; all else stays."""
    if text.isprintable():
        return text
    return "".join(c if _is_xml_character(c) else _escape(c) for c in text)


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(c) for c in text)


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What the receiving stream can say."""

    encoding: str
    ellipsis: str

    def clean(self, text: str) -> str:
        """Make foreign text safe for the stream: nothing invisible, nothing it cannot encode."""
        return fitting(printable(text), self.encoding)

    def first_line(self, text: str) -> str:
        """Make the first line of foreign text safe, marking that more lines follow."""
        first, *rest = text.strip().splitlines() or [""]
        line = self.clean(first.strip())
        return f"{line} {self.ellipsis}" if rest else line

    def cut(self, text: str, width: int | None) -> str:
        """Shorten clean text to so many columns; without a width it stays as it is."""
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
        """Fill clean text with spaces to so many columns."""
        return text + " " * max(0, width - cells(text))


def alphabet(encoding: str | None) -> Alphabet:
    """The alphabet of a stream with this encoding; ASCII when the encoding is unknown to Python."""
    name = encoding or "utf-8"
    try:
        codecs.lookup(name)
        sayable = "…".encode(name, "replace").decode(name, "replace") == "…"
    except (LookupError, UnicodeError):
        return Alphabet("ascii", "...")
    return Alphabet(name, "…" if sayable else "...")


def fitting(text: str, encoding: str) -> str:
    """Write the characters that the encoding lacks as escapes."""
    if text.isascii():
        return text
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _is_xml_character(character: str) -> bool:
    # A bare carriage return is legal but reads back as a newline, so it is written as an escape too.
    point = ord(character)
    return point in (0x9, 0xA) or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000


def _cells_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
