"""The request for a check: one object with all of its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from coldfork.checking import configuration as configurations
from coldfork.checking.settings import SETTINGS, UNKNOWN, target_version
from coldfork.model.terms.grades import Audience, Verdict
from coldfork.model.terms.machines import DEFAULT_PROFILE
from coldfork.rules import registry

if TYPE_CHECKING:
    from coldfork.checking.configuration import Configuration

_NEWEST = (3, 13)
_DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The paths to check, the machine to assume, and the findings to report."""

    paths: tuple[Path, ...]
    configuration: Configuration
    overlays: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """The texts of files that differ from the disk or do not exist there, by absolute path."""
    profile: str | None = None
    """None stands for the accelerators that the code uses, on a machine with an NVIDIA GPU."""
    entries: tuple[str, ...] = ()
    """The modules whose import is examined; if empty, each module's own import is."""
    python: str | None = None
    site_packages: tuple[str, ...] = ()
    search: tuple[Path, ...] | None = None
    """The folders of dependencies, if the caller knows them."""
    package_base: str | None = None
    """The folder that contains the top-level packages."""
    target_version: tuple[int, int] = _NEWEST
    rules: tuple[str, ...] = registry.NAMES
    jobs: int = 0
    cache: bool = True
    """Whether the cache on disk is read and written."""
    baseline: str | None = None
    changed_since: str | None = None
    fail_on: Verdict = Verdict.CONDITIONAL
    unknown_fails: bool = False
    """Whether code that was not followed makes the check fail."""
    fail_for: frozenset[Audience] = frozenset({Audience.LIBRARY, Audience.SCRIPT})
    cancelled: Callable[[], bool] | None = None
    """Called between functions; if it returns True, the check ends."""
    hurried: bool = False
    """Whether a user is waiting for the answer after an edit."""

    @property
    def main_profile(self) -> str:
        """The name of the profile that every check analyses."""
        return self.profile or DEFAULT_PROFILE


def request_of(
    settings: Mapping[str, Any],
    paths: tuple[Path, ...],
    configuration: Configuration,
    overlays: Mapping[str, bytes] = MappingProxyType({}),
) -> CheckRequest:
    """Return a request with these settings, whether they come from flags, variables or files."""
    bar = settings["fail-on"]
    return CheckRequest(
        paths=paths,
        configuration=configuration,
        overlays=overlays,
        profile=settings["profile"],
        entries=tuple(settings["entry"]),
        python=settings["python"],
        site_packages=tuple(settings["site-packages"]),
        package_base=settings["package-base"],
        target_version=target_version(settings["target-version"]) or _NEWEST,
        rules=registry.selection(settings["rules"], settings["ignore"]),
        jobs=settings["jobs"],
        cache=not settings["no-cache"],
        baseline=settings["baseline"],
        changed_since=settings["changed-since"],
        fail_on=Verdict.POSSIBLE if bar == UNKNOWN else Verdict(bar),
        unknown_fails=bar == UNKNOWN,
        fail_for=frozenset(Audience(name) for name in settings["fail-for"]),
    )


def configured(
    paths: tuple[Path, ...],
    asked: Mapping[str, Any],
    overlays: Mapping[str, bytes],
    over: Mapping[str, Any] = MappingProxyType({}),
) -> CheckRequest:
    """Return a request from the nearest configuration, overridden by the given settings.

    `over` are an editor's settings, which override only the configuration.
    """
    chosen = paths_or_default(paths)
    configuration = configurations.read(chosen[0], over)
    spoken = {name: value for name, value in asked.items() if value is not None}
    return request_of({**_DEFAULTS, **configuration.values, **spoken}, chosen, configuration, overlays)


def paths_or_default(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the given paths; without any, `src` if it exists, else the current folder."""
    if paths:
        return paths
    return (Path("src"),) if Path("src").is_dir() else (Path(),)
