"""Checks files as a whole for syntax errors, also in functions that nothing calls.

What reads a file is imported when there is one to read: a run whose answer is recalled needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coldfork.model.observations import Unreadable
from coldfork.source.files.reading import CannotRead, Reader, Stamp

if TYPE_CHECKING:
    from coldfork.source.files.discovery import Found
    from coldfork.source.program.keeping import Store
    from coldfork.source.program.program import Program
    from coldfork.source.syntax.syntax_errors import Trouble

_DEFINITION = b"def"
"""A file without this word was read completely when its imports were followed."""
_FIRST = 4_000_000
"""The number of bytes of source to read if no earlier run has read any."""
_PORTION = 1_000_000
"""The number of bytes of source to read in each later run of a command."""
_MORSEL = 60_000
"""The number of bytes of source to read for each request in a session, while a user waits."""

#: For each path, the stamp of the file when it was read, and its syntax error if it has one.
Read = dict[str, tuple[Stamp, "Trouble | None"]]


class Told(NamedTuple):
    """The files with syntax errors, and the number of files that are still to be read."""

    troubles: dict[str, Trouble]
    """By path, the reason why a file does not parse."""
    left: int
    """The number of files that have not been read to their end."""


class WholeFiles:
    """Checks files as a whole for syntax errors, and remembers which files earlier runs have checked.

    Following imports skips the bodies of functions that are not called. Reading these as well takes half as
    long as everything else together, so it is done only once for each file, and for large trees in portions,
    the most recently changed file first.
    """

    def __init__(self, store: Store, pack: Path | None) -> None:
        self._store = store
        self._pack = pack
        self._before: Read = store.load(pack).get("read", {}) if pack is not None else {}

    def read(self, paths: Iterable[str], reader: Reader, *, all_of_them: bool) -> Told:
        """Read the next portion of these files, and return the known syntax errors of all of them."""
        known: Read = {}
        due: list[tuple[int, str, Stamp]] = []
        for path in paths:
            stamp = reader.stamp(path)
            held = self._before.get(path)
            if stamp is not None and held is not None and tuple(held[0]) == stamp:
                known[path] = held
            elif stamp is not None:
                due.append((-stamp[1], path, stamp))
        left = len(due)
        room = inf if all_of_them else self._room
        for _, path, stamp in sorted(due):
            if room <= 0:
                break
            known[path] = stamp, _trouble(path, reader)
            room -= stamp[0]
            left -= 1
        if self._pack is not None and len(due) > left:
            self._store.save(self._pack, {"read": self._before | known})
        return Told({path: trouble for path, (_, trouble) in known.items() if trouble is not None}, left)

    @property
    def _room(self) -> float:
        """The number of bytes of source that may be read now."""
        if not self._before:
            return _FIRST
        return _PORTION if self._store.ready is None else _MORSEL


def with_troubles(
    unreadable: tuple[Unreadable, ...], troubles: dict[str, Trouble], found: Found, program: Program
) -> tuple[Unreadable, ...]:
    """Return the unreadable files, and those with a syntax error in a function that nothing calls."""
    if not troubles:
        return unreadable
    from coldfork.source.reach.quotations import Quotations

    quotations = Quotations(program, found.display)
    told = {one.path: one for one in unreadable}
    for name, path in found.files.items():
        if path in troubles:
            reason, line, column = troubles[path]
            shown = quotations.path_of(name)
            whole = Unreadable(shown, line, column, reason, invalid=True, text=quotations.line(name, line))
            # The line of the error is more precise than the line of the function, which following an import
            # reports.
            if shown not in told or told[shown].line <= line:
                told[shown] = whole
    return tuple(sorted(told.values(), key=lambda one: one.path))


def _trouble(path: str, reader: Reader) -> Trouble | None:
    from coldfork.source.syntax.syntax_errors import trouble_in

    try:
        source = reader.read_source(path)
    except CannotRead:
        return None  # reported when the import is followed
    return trouble_in(source) if _DEFINITION in source else None
