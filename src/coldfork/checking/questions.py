"""Builds the analysis request of a check, including the facts about the libraries in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.knowledge.known import Known, known
from coldfork.model.terms.machines import PROFILES, Profile
from coldfork.rules import registry
from coldfork.source.files.packs import cache_folder
from coldfork.source.files.requirements import requirements
from coldfork.source.files.site_packages import versions
from coldfork.source.request import Request

if TYPE_CHECKING:
    from coldfork.checking.configuration import Matches
    from coldfork.checking.request import CheckRequest
    from coldfork.model.observations import Faults

KnownOn = Callable[[Profile], Known]


def known_to(
    request: CheckRequest, paths: tuple[Path, ...], search: tuple[Path, ...], faults: Faults
) -> KnownOn:
    """Return a function that says what is known of libraries for a given machine, in the versions in use."""
    installed: Mapping[str, str] = faults.attempt(lambda: versions(search), {})
    required: Mapping[str, tuple[str, ...]] = faults.attempt(lambda: requirements(paths), {})
    return lambda machine: known(machine, installed, request.configuration.knowledge, required)


def question_of(
    request: CheckRequest,
    paths: tuple[Path, ...],
    search: tuple[Path, ...],
    known_on: KnownOn,
    is_excluded: Matches,
) -> Request:
    """Return the analysis request for the main machine profile."""
    profile = PROFILES[request.main_profile]
    return Request(
        paths=paths,
        profile=profile,
        known=known_on(profile),
        entries=request.entries,
        search=search,
        base=None if request.package_base is None else str(Path(request.package_base).absolute()),
        target_version=request.target_version,
        jobs=request.jobs,
        cache=cache_folder() if request.cache else None,
        excluded=is_excluded,
        overlays=request.overlays,
        whole=request.unknown_fails,
        cancelled=request.cancelled,
        hurried=request.hurried,
        programs=not set(registry.PROCESSES).isdisjoint(request.rules),
    )
