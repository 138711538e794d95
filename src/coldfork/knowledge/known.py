"""Names what is known of libraries on one machine by a digest, and loads it when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from coldfork.knowledge.stamp import DIGEST, VERSIONED

if TYPE_CHECKING:
    from coldfork.knowledge.catalogue import Catalogue
    from coldfork.model.terms.machines import Profile


class Known:
    """A catalogue that is not loaded yet: a check whose answer is recalled needs its digest alone."""

    def __init__(self, digest: str, load: Callable[[], Catalogue]) -> None:
        self.digest = digest
        """A digest that changes whenever an answer of the catalogue could."""
        self._load = load

    @cached_property
    def catalogue(self) -> Catalogue:
        """The catalogue."""
        return self._load()


def known(
    profile: Profile,
    versions: Mapping[str, str],
    extra: Mapping[str, object] | None = None,
    required: Mapping[str, tuple[str, ...]] | None = None,
) -> Known:
    """Return what `catalogue.load` would load; only the user's own facts are read, and refused, at once."""

    def load() -> Catalogue:
        from coldfork.knowledge import catalogue

        return catalogue.load(profile, versions, extra, required)

    given = Known(_digest(profile, versions, extra, required or {}), load)
    if extra:
        _ = given.catalogue
    return given


def _digest(
    profile: Profile,
    versions: Mapping[str, str],
    extra: Mapping[str, object] | None,
    required: Mapping[str, tuple[str, ...]],
) -> str:
    """Return a short hash of everything that determines the content of a catalogue.

    Only versions that a built-in entry asks for count, unless the user's own entries may ask for others.
    """
    machine = (profile.name, sorted(profile.accelerators), profile.nvml)
    names = [*versions, *required] if extra else [name for names in VERSIONED for name in names]
    asked = sorted((name, versions.get(name), required.get(name)) for name in {*names})
    return blake2b(repr((DIGEST, machine, asked, extra or {})).encode(), digest_size=12).hexdigest()
