"""The request for an analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from coldfork.knowledge.known import Known
    from coldfork.model.terms.machines import Profile
    from coldfork.source.program.keeping import Store


class Towards(NamedTuple):
    """Names of packages, which are looked up only if the answer cannot be recalled."""

    key: tuple[str, ...]
    """Identifies the packages, with the catalogue of the request."""
    names: Callable[[], frozenset[str]]


class Request(NamedTuple):
    """The paths to analyse, and the machine that is assumed."""

    paths: tuple[Path, ...]
    profile: Profile
    known: Known
    """The facts that are known about libraries on that machine."""
    entries: tuple[str, ...] = ()
    search: tuple[Path, ...] = ()
    target_version: tuple[int, int] = (3, 13)
    jobs: int = 0
    cache: Path | None = None
    excluded: Callable[[str], bool] = lambda path: False
    base: str | None = None
    """The folder that holds all top packages, if one was named."""
    changed: tuple[str, ...] | None = None
    """Files that changed: the observation lists the modules that they can affect."""
    overlays: Mapping[str, bytes] = MappingProxyType({})
    """Texts by absolute path, for files that differ from the disk or do not exist."""
    towards: Towards | None = None
    """Packages: the observation lists the checked modules whose import can reach them."""
    roots: tuple[str, ...] = ()
    """The modules to follow, with their imports, if all others are known to have no effects."""
    whole: bool = False
    """Whether to parse all functions of the checked files, even in a large tree."""
    cancelled: Callable[[], bool] | None = None
    """Called between functions; if it returns True, the analysis ends with a `CheckCancelledError`."""
    programs: bool = False
    """Whether to follow the programs among the modules as Python runs them."""
    hurried: bool = False
    """Whether a user is waiting after an edit: programs are then followed less far."""
    store: Store | None = None
    """Where a session keeps results between requests; without one, they are kept in the cache."""
