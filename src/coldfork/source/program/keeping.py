"""Stores the results of a run for later runs, on disk; what a session holds is in `holding`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from coldfork.source.files.packs import load_pack, save_pack

if TYPE_CHECKING:
    from coldfork.source.program.loader import Ready

Data = dict[str, Any]
Plain = Callable[[Data], Data]


def as_it_is(data: Data) -> Data:
    """Return the data unchanged: it can be written to a file as it is."""
    return data


class Store(Protocol):
    """A place where packs are stored by path."""

    @property
    def ready(self) -> Ready | None:
        """Return the summaries unpacked so far, if the store keeps them."""

    def load(self, pack: Path, kin: str = "") -> Data:
        """Return the data of a pack, or of one whose name begins with `kin`; empty if neither can be read."""

    def save(self, pack: Path, data: Data, plain: Plain = as_it_is, kin: str = "") -> None:
        """Store a pack in place of those whose names begin with `kin`; `plain` converts the data for
        a file.
        """


class OnDisk:
    """A store that keeps packs in files."""

    ready = None

    def load(self, pack: Path, kin: str = "") -> Data:
        loaded = load_pack(pack)
        return loaded if isinstance(loaded, dict) else {}

    def save(self, pack: Path, data: Data, plain: Plain = as_it_is, kin: str = "") -> None:
        save_pack(pack, plain(data))
