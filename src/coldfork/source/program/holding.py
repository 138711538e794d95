"""Stores the results of a run for later runs in the memory of a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from coldfork.source.program.keeping import Data, Plain, Store, as_it_is
from coldfork.source.program.loader import Ready


class Held:
    """A store that keeps packs in memory: read from disk on first use, and written on request.

    Data is kept as it is given, so objects need not be serialised and rebuilt for every request.
    """

    def __init__(self, disk: Store | None) -> None:
        self._disk = disk
        self._packs: dict[Path, Data] = {}
        self._unsaved: dict[Path, Plain] = {}
        self.ready: Ready = Ready()

    def load(self, pack: Path, kin: str = "") -> Data:
        # If a module was added or removed, the only pack is that of the earlier program, which has the same
        # `kin`.
        alike = (data for other, data in self._packs.items() if kin and other.name.startswith(kin))
        held = self._packs.get(pack) or next(alike, None)
        if held is None:
            held = self._packs[pack] = self._disk.load(pack) if self._disk is not None else {}
        return held

    def save(self, pack: Path, data: Data, plain: Plain = as_it_is, kin: str = "") -> None:
        for other in [other for other in self._packs if kin and other.name.startswith(kin)]:
            del self._packs[other]
            self._unsaved.pop(other, None)
        self._packs[pack] = data
        self._unsaved[pack] = plain

    def files(self) -> Iterator[str]:
        """The files on which the stored results depend."""
        for data in self._packs.values():
            yield from (place[0] for place in data.get("places", ()) if place)

    def write(self) -> None:
        """Write all packs that are not on disk yet."""
        unsaved, self._unsaved = self._unsaved, {}
        for pack, plain in unsaved.items():
            if self._disk is not None:
                self._disk.save(pack, self._packs[pack], plain)

    def drop(self) -> None:
        """Forget all packs."""
        self._packs.clear()
        self._unsaved.clear()
        self.ready = Ready()
