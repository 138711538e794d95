"""Read a Python file the way Python's own tokenizer would, and say in one line why it cannot be read."""

from __future__ import annotations

import os
import re

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_UTF8 = ("utf-8", "utf8", "utf_8", "u8", "cp65001", "utf-8-sig", "utf_8_sig")
LARGEST_FILE = 8_000_000
TOO_LARGE = f"larger than {LARGEST_FILE // 1_000_000} MB, and was left alone"
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class CannotRead(Exception):
    """A file that cannot be analysed: `reason` in words, with the place if there is one."""

    def __init__(self, reason: str, line: int = 1, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


def read_source(path: str) -> bytes:
    """The source of a file as `normalise` leaves it."""
    return normalise(read_bytes(path))


def read_bytes(path: str) -> bytes:
    """A file as it is, in four calls to the system: there are thousands of them."""
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            size = os.fstat(descriptor).st_size
            if size > LARGEST_FILE:
                raise CannotRead(TOO_LARGE)
            parts = []
            while part := os.read(descriptor, size + 1):
                parts.append(part)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise CannotRead((error.strerror or str(error)).lower()) from None
    return b"".join(parts)


def normalise(raw: bytes) -> bytes:
    """The source as UTF-8 with `\\n` newlines and a final one, no BOM, no encoding declaration to obey."""
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise CannotRead("contains a NUL byte", line)
    head = raw[: _end_of_second_line(raw)]
    if b"coding" in head:
        declared = _COOKIE.search(head)
        if declared is not None:
            raw = _recode(raw, declared)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not raw.endswith(b"\n"):
        raw += b"\n"
    return raw


def _end_of_second_line(raw: bytes) -> int:
    first = raw.find(b"\n")
    second = raw.find(b"\n", first + 1) if first >= 0 else -1
    return second if second >= 0 else min(len(raw), 400)


def _recode(raw: bytes, declared: re.Match[bytes]) -> bytes:
    """The source in UTF-8, its encoding declaration blanked so that nothing obeys it twice."""
    name = declared.group(1).decode("ascii", "replace")
    if name.lower() in _UTF8:
        return raw
    try:
        text = raw.decode(name)
    except LookupError:
        raise CannotRead(f"declares the unknown encoding {name!r}") from None
    except (UnicodeDecodeError, UnicodeError):
        raise CannotRead(f"is not the {name!r} that it declares") from None
    except Exception as error:  # a codec may raise anything
        raise CannotRead(f"cannot be decoded as {name!r}: {error}") from None
    blank = b" " * (declared.end() - declared.start() - 1)
    recoded = text.encode("utf-8", "surrogatepass")
    return recoded[: declared.start()] + b"#" + blank + recoded[declared.end() :]
