"""What `check` and `baseline` share: settle the settings, analyse, judge, and open the paths of a report."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from coldfork.cli import config, options, output
from coldfork.cli.changes import Asked, changes_asked
from coldfork.cli.environment import environment_of
from coldfork.cli.settings import target_version
from coldfork.knowledge import catalogue
from coldfork.model.causes import Cause
from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Skipped
from coldfork.model.observations import ChangeScope, EnvironmentRead, Observation
from coldfork.model.profiles import PROFILES
from coldfork.report.shared.progress import ProgressBar
from coldfork.rules import registry
from coldfork.rules.causes import judging as causes
from coldfork.source.analysis import Request, analyse
from coldfork.source.files.packs import cache_folder
from coldfork.source.files.reading import CannotRead, read_source
from coldfork.source.files.requirements import requirements
from coldfork.source.files.site_packages import versions

Matches = Callable[[str], bool]
Select = Callable[[Iterable[Finding]], tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found, before baseline and output have their say."""

    settings: dict[str, Any]
    rules: tuple[str, ...]
    observation: Observation
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    ignored: int
    """How many findings ignore comments hold back."""
    skipped: tuple[Skipped, ...]
    missing: tuple[Path, ...]
    """Paths that do not exist."""
    locate: Locate
    scope: ChangeScope | None
    """What `--changed-since` came to; None where it was not asked for."""
    environment: EnvironmentRead
    select: Select
    """Drops the findings that the configuration leaves out."""

    def source(self, path: str, line: int) -> str:
        """The text of a line of a checked file, without the blanks around it; empty where there is none."""
        try:
            lines = read_source(self.locate(path)).decode("utf-8", "replace").split("\n")
        except CannotRead:
            return ""
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def inspect(context: click.Context, paths: tuple[Path, ...]) -> Inspection:
    """Analyse the paths and judge what is seen, as flags, environment and configuration say."""
    chosen = options.paths_or_default(paths)
    configuration = config.read(chosen[0])
    settings = options.resolve(context, configuration)
    rules = registry.selection(settings["rules"], settings["ignore"])
    missing = tuple(path for path in chosen if not path.exists())
    present = tuple(path for path in chosen if path not in missing)
    if not present:
        raise UsageError("; ".join(f"{path}: no such file or folder" for path in missing))
    locate = locator(present)
    asked = changes_asked(settings, present, configuration)
    search, environment = environment_of(settings, present)
    observation, remedies = _observe(present, settings, configuration, search, asked)
    judgement = registry.judge_all(observation, rules, remedies)
    select = partial(select_findings, configuration=configuration, locate=locate)
    # Under a baseline an import is a way to a cause, and the cause may be an old one.
    judged = causes.judge(observation, select(judgement.findings), gates=not settings["baseline"])
    return Inspection(
        settings,
        rules,
        observation,
        judged.findings,
        judged.causes,
        len(select(judgement.ignored)),
        _skipped(observation, missing, configuration, locate),
        missing,
        locate,
        asked.scope(observation.affected, observation.statistics.own_modules) if asked else None,
        replace(environment, absent=observation.absent, unset=observation.unset),
        select,
    )


def _observe(
    paths: tuple[Path, ...],
    settings: dict[str, Any],
    configuration: config.Configuration,
    search: tuple[Path, ...],
    asked: Asked | None,
) -> tuple[Observation, dict[str, str]]:
    """Run the analysis; the remedies come with it because the catalogue that names them is made here."""
    profile = PROFILES[settings["profile"]]
    known = catalogue.load(profile, versions(search), configuration.knowledge, requirements(paths))
    request = Request(
        paths=paths,
        profile=profile,
        catalogue=known,
        entries=settings["entry"],
        search=search,
        target_version=target_version(settings["target-version"]) or (3, 13),
        jobs=settings["jobs"],
        cache=None if settings["no-cache"] else cache_folder(),
        excluded=excluded(configuration),
        changed=None if asked is None or asked.everything else asked.files,
    )
    with ProgressBar(sys.stderr) as bar, _kept_to_the_end():
        return analyse(request, bar.update), known.remedies


@contextmanager
def _kept_to_the_end() -> Iterator[None]:
    """Keep the garbage collector from what is made here: it lives to the end of the process anyway."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _skipped(
    observation: Observation, missing: tuple[Path, ...], configuration: config.Configuration, locate: Locate
) -> tuple[Skipped, ...]:
    is_excluded = excluded(configuration)
    affected = observation.affected
    unreadable = [
        Skipped(file.path, file.reason)
        for file in observation.unreadable
        if not file.own
        or ((affected is None or file.path in affected) and not is_excluded(locate(file.path)))
    ]
    return (*unreadable, *(Skipped(path.as_posix(), "no such file or folder") for path in missing))


def complain(inspection: Inspection) -> None:
    """Say on standard error which paths are missing, and that nothing was there to check."""
    for path in inspection.missing:
        output.note(f"{path}: no such file or folder; the other paths were checked")
    if not inspection.observation.statistics.modules and not inspection.skipped:
        output.note("there is no Python file in the paths given")


def matcher(globs: Iterable[str], configuration: config.Configuration) -> Matches:
    """A test whether a file, seen from where the user stands, matches one of these globs."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(globs)
    folder = os.path.realpath(configuration.folder)

    def matches(path: str) -> bool:
        inside = os.path.relpath(os.path.realpath(path), folder)
        return not inside.startswith(os.pardir) and spec.match_file(inside)

    return matches


def excluded(configuration: config.Configuration) -> Matches:
    """A test for `exclude`."""
    return matcher(configuration.exclude, configuration) if configuration.exclude else lambda _: False


def select_findings(
    findings: Iterable[Finding], configuration: config.Configuration, locate: Locate
) -> tuple[Finding, ...]:
    """The findings that neither `exclude` nor `per-file-ignores` drops."""
    is_excluded = excluded(configuration)
    tests = [(matcher([glob], configuration), rules) for glob, rules in configuration.per_file_ignores]
    return tuple(
        finding
        for finding in findings
        if not is_excluded(path := locate(finding.path))
        and not any(finding.rule in rules and matches(path) for matches, rules in tests)
    )


Locate = Callable[[str], str]


def locator(paths: Iterable[Path]) -> Locate:
    """A function that turns a report's path into one that opens; unknown ones stay as they are."""
    roots = tuple(dict.fromkeys(root for path in paths for root in _roots(path)))

    @cache
    def locate(path: str) -> str:
        for root in roots:
            candidate = root / path
            if candidate.exists():
                return candidate.as_posix()
        return path

    return locate


def _roots(path: Path) -> Iterable[Path]:
    """The folders that a path's report paths may be relative to, the likeliest first."""
    top = path if path.is_dir() else path.parent
    while (top / "__init__.py").is_file() and top.absolute() != top.absolute().parent:
        # `check .` inside a package: the path's own names are used up, and the root lies one folder up.
        top = top.parent if top.name not in ("", os.pardir) else top / os.pardir
    yield top
    if top == path:
        yield top / "src"
