"""Reads Python files as Python's own tokenizer does, and explains in one line why a file cannot be read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coldfork.source.files.notebooks import Notebook

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
NOTEBOOK = ".ipynb"
_UTF8 = ("utf-8", "utf8", "utf_8", "u8", "cp65001", "utf-8-sig", "utf_8_sig")
LARGEST_FILE = 8_000_000
TOO_LARGE = f"larger than {LARGEST_FILE // 1_000_000} MB, so it was skipped"
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class CannotRead(Exception):
    """Raised if a file cannot be analysed: `reason` says why, with the position if it is known."""

    def __init__(self, reason: str, line: int = 1, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


#: The size and times of a file.
Stamp = tuple[int, int, int]
_DIGEST = 16


class Reader:
    """Reads the Python source of a path, from the file or from an overlay: a text that replaces the file.

    `overlays` are the replacing texts by absolute path; a file of that name need not exist.
    """

    def __init__(self, overlays: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._overlays = overlays
        self._inside: dict[str, dict[str, bool]] = {}
        """For each folder, the names that overlays add, each with whether it is a folder."""
        for path in overlays:
            child, is_folder = path, False
            while (folder := os.path.dirname(child)) != child:
                self._inside.setdefault(folder, {})[os.path.basename(child)] = is_folder
                child, is_folder = folder, True

    def overlaid_in(self, folder: str) -> Mapping[str, bool]:
        """Return the names that overlays add to a folder, each with whether it is a folder."""
        return self._inside.get(folder, {})

    def names_in(self, folder: str) -> frozenset[str]:
        """Return the names in a folder, including those of overlays."""
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        return frozenset([*names, *self.overlaid_in(folder)])

    def is_file(self, path: str) -> bool:
        """Return whether a path is a file, or is replaced by an overlay."""
        return path in self._overlays or os.path.isfile(path)

    def is_overlaid(self, path: str) -> bool:
        """Return whether an overlay replaces the file."""
        return path in self._overlays

    def is_regular(self, path: str) -> bool:
        """Return whether a path is a regular file or an overlay: reading a pipe or a device could block."""
        if path in self._overlays:
            return True
        try:
            return stat.S_ISREG(os.stat(path).st_mode)
        except OSError:
            return False

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder, or would be one if all overlays were written to files."""
        return path in self._inside or os.path.isdir(path)

    def read_bytes(self, path: str) -> bytes:
        """Return the Python source of a path before normalisation; for a notebook, that of its cells."""
        raw = self.raw(path)
        return raw if not path.endswith(NOTEBOOK) else self._notebook(raw).source

    def cell(self, path: str, line: int) -> tuple[int | None, int]:
        """Return the cell of a notebook that contains a line, and the line within it; None and the line
        elsewhere.
        """
        if not path.endswith(NOTEBOOK):
            return None, line
        try:
            return self._notebook(self.raw(path)).place(line)
        except CannotRead:
            return None, line

    def raw(self, path: str) -> bytes:
        """Return the content of a path as it is stored; for a notebook, that is JSON."""
        overlay = self._overlays.get(path)
        return read_bytes(path) if overlay is None else overlay

    @staticmethod
    def _notebook(raw: bytes) -> Notebook:
        from coldfork.source.files import notebooks  # few projects have any

        try:
            return notebooks.read(raw)
        except notebooks.NotANotebook as problem:
            raise CannotRead(str(problem)) from None

    def read_source(self, path: str) -> bytes:
        """Return the Python source of a path, as `normalise` returns it."""
        return normalise(self.read_bytes(path))

    def stamp(self, path: str) -> Stamp | None:
        """Return the size and times of a file, at least one of which changes with every edit.

        An overlay's stamp is derived from its text, and never equals a file's.
        """
        overlay = self._overlays.get(path)
        if overlay is not None:
            return len(overlay), int.from_bytes(hash_of(overlay)), -1
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def content_hash(self, path: str) -> bytes:
        """Return the hash of a file's Python source, or else of its raw content, or of nothing if it is
        unreadable.
        """
        try:
            return hash_of(self.read_bytes(path))
        except CannotRead:
            pass
        try:
            with open(path, "rb") as file:
                return hash_of(file.read())
        except OSError:
            return b""


def hash_of(raw: bytes) -> bytes:
    """Return the hash of the bytes of a file."""
    return blake2b(raw, digest_size=_DIGEST).digest()


def read_bytes(path: str) -> bytes:
    """Return the content of a file with four system calls, which matters for thousands of files."""
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
    """Return the source as UTF-8 with `\\n` newlines and a final one, without BOM or encoding declaration."""
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
    """Return the source in UTF-8, with its encoding declaration blanked because it no longer applies."""
    name = declared.group(1).decode("ascii", "replace")
    if name.lower() in _UTF8:
        return raw
    try:
        text = raw.decode(name)
    except LookupError:
        raise CannotRead(f"declares the unknown encoding {name!r}") from None
    except (UnicodeDecodeError, UnicodeError):
        raise CannotRead(f"is not the {name!r} that it declares") from None
    except Exception as error:  # a codec may raise any exception
        raise CannotRead(f"cannot be decoded as {name!r}: {error}") from None
    blank = b" " * (declared.end() - declared.start() - 1)
    recoded = text.encode("utf-8", "surrogatepass")
    return recoded[: declared.start()] + b"#" + blank + recoded[declared.end() :]


SOURCES = (".py", NOTEBOOK)
"""The suffixes of the files that are read when a folder is checked."""
_GIVEN = (*SOURCES, ".pyw")
_INSTEAD = {
    ".pyi": "a stub runs nothing when it is imported; check the module that it describes",
    ".pyx": "Cython source is not read; its compiled module is presumed to import and to wake nothing",
    ".pyc": "compiled code is not read; check the source that it was made from",
    ".whl": "a wheel is not read; unpack it (python -m zipfile -e FILE FOLDER) and check the folder",
    ".egg": "an egg is not read; unpack it (python -m zipfile -e FILE FOLDER) and check the folder",
    ".zip": "an archive is not read; unpack it (python -m zipfile -e FILE FOLDER) and check the folder",
    ".gz": "an archive is not read; unpack it (python -m tarfile -e FILE FOLDER) and check the folder",
    ".tar": "an archive is not read; unpack it (python -m tarfile -e FILE FOLDER) and check the folder",
    ".so": "a compiled module has no source to read",
    ".pyd": "a compiled module has no source to read",
    ".dylib": "a compiled module has no source to read",
}


def refusal(path: str, reader: Reader) -> str | None:
    """Return the reason why a file named on the command line is not checked; None for Python source."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _INSTEAD:
        return _INSTEAD[suffix]
    if not reader.is_regular(path):
        return "this is not a regular file"
    if suffix in _GIVEN or (not suffix and _is_script(path, reader)):
        return None
    return "this is not Python source; modules (.py), notebooks (.ipynb), scripts and folders are checked"


def _is_script(path: str, reader: Reader) -> bool:
    """Return True for a file without suffix that names Python in its first line, or that an
    overlay replaces.
    """
    try:
        head = reader.read_bytes(path)[:200].partition(b"\n")[0]
    except CannotRead:
        return False
    return reader.is_overlaid(path) or (head.startswith(b"#!") and b"python" in head)
