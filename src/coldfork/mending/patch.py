"""Writes fixes as a patch that `git apply` accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import unified_diff

from coldfork.mending.mender import MendedFile

_NO_END = "\\ No newline at end of file\n"


def patch(files: Iterable[MendedFile], shown: Callable[[str], str], around: int = 3) -> bytes:
    """Return the changes of these files in the form of `git diff`; `shown` returns a file's path to print.

    `around` is the number of context lines around each change.
    """
    return b"".join(_difference(file, shown(file.file), around) for file in files)


def _difference(file: MendedFile, name: str, around: int) -> bytes:
    # An encoding that maps every byte preserves untouched text exactly.
    before, after = _lines(file.before), _lines(file.after)
    rows = unified_diff(before, after, f"a/{name}", f"b/{name}", n=around)
    written = [row if row.endswith("\n") else f"{row}\n{_NO_END}" for row in rows]
    head = [row.encode("utf-8", "surrogateescape") for row in written[:2]]
    return b"".join((*head, *(row.encode("latin-1") for row in written[2:])))


def _lines(data: bytes) -> list[str]:
    """Return the lines of a text as git counts them: only a newline character ends a line."""
    lines = [f"{line}\n" for line in data.decode("latin-1").split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
