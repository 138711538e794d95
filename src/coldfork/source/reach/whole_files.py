"""Which checked files do not parse in a function that nothing calls: importing them fails all the same.

Following imports takes the parts of a file that an import runs, and leaves alone the bodies of functions
that nobody calls. To read them all costs half of what everything else does together, so it is done once a
file, and for large trees in portions, the file that changed last first.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import NamedTuple

from coldfork.model.observations import Unreadable
from coldfork.source.files.discovery import Found
from coldfork.source.files.reading import CannotRead, Reader, Stamp
from coldfork.source.program.keeping import Store
from coldfork.source.program.program import Program
from coldfork.source.reach.quotations import Quotations
from coldfork.source.syntax.syntax_errors import Trouble, trouble_in

_DEFINITION = b"def"
"""Without one, all of a file was read for its imports."""
_FIRST = 4_000_000
"""So many bytes of source are read when none were before."""
_PORTION = 1_000_000
"""So many later, for one command."""
_MORSEL = 60_000
"""And so many for a request to a session: somebody waits for that."""

#: By path, how the file was when it was read, and what is wrong with it.
Read = dict[str, tuple[Stamp, Trouble | None]]


class Told(NamedTuple):
    """The files that do not parse, and how many are still to be read."""

    troubles: dict[str, Trouble]
    """By path, why a file does not parse."""
    left: int
    """How many files have not been read to their end yet."""


class WholeFiles:
    """Reads files to their end, and remembers which ones earlier runs have read."""

    def __init__(self, store: Store, pack: Path | None) -> None:
        self._store = store
        self._pack = pack
        self._before: Read = store.load(pack).get("read", {}) if pack is not None else {}

    def read(self, paths: Iterable[str], reader: Reader, *, all_of_them: bool) -> Told:
        """Read what is due of these files, and say what is known of all of them."""
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
        """How many bytes of source may be read now."""
        if not self._before:
            return _FIRST
        return _PORTION if self._store.ready is None else _MORSEL


def with_troubles(
    unreadable: tuple[Unreadable, ...], troubles: dict[str, Trouble], found: Found, program: Program
) -> tuple[Unreadable, ...]:
    """The files that could not be read, with those that do not parse in a function that nothing calls."""
    if not troubles:
        return unreadable
    quotations = Quotations(program, found.display)
    told = {one.path: one for one in unreadable}
    for name, path in found.files.items():
        if path in troubles:
            reason, line, column = troubles[path]
            shown = quotations.path_of(name)
            whole = Unreadable(shown, line, column, reason, invalid=True, text=quotations.line(name, line))
            # The place in the file says more than the function that an import was seen to call.
            if shown not in told or told[shown].line <= line:
                told[shown] = whole
    return tuple(sorted(told.values(), key=lambda one: one.path))


def _trouble(path: str, reader: Reader) -> Trouble | None:
    try:
        source = reader.read_source(path)
    except CannotRead:
        return None  # which is told where the file is read for its imports
    return trouble_in(source) if _DEFINITION in source else None
