"""The static observer's front door: paths in, effects out."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coldfork.knowledge.catalogue import Catalogue
from coldfork.model.errors import UsageError
from coldfork.model.observations import Observation, Progress, Statistics
from coldfork.model.profiles import Profile
from coldfork.source.capture.observer import CaptureObserver
from coldfork.source.files.discovery import Found, discover
from coldfork.source.files.finder import Finder
from coldfork.source.files.packs import digest_of, tool_digest
from coldfork.source.files.roomy_stack import with_room
from coldfork.source.files.site_packages import Distributions
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program
from coldfork.source.program.requirements import required
from coldfork.source.reach.absent import absent_packages
from coldfork.source.reach.affected import affected as affected_modules
from coldfork.source.reach.encoding import Answer
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.remembered import Packs, Remembered
from coldfork.source.reach.reporter import Reporter
from coldfork.source.reach.results import Results

_RECURSION = 20_000


@dataclass(frozen=True)
class Request:
    """What to analyse, and for which machine."""

    paths: tuple[Path, ...]
    profile: Profile
    catalogue: Catalogue
    entries: tuple[str, ...] = ()
    search: tuple[Path, ...] = ()
    target_version: tuple[int, int] = (3, 13)
    jobs: int = 0
    cache: Path | None = None
    excluded: Callable[[str], bool] = lambda path: False
    changed: tuple[str, ...] | None = None
    """Files that changed: the observation says which modules that can affect."""


def analyse(request: Request, progress: Progress | None = None) -> Observation:
    """Find every effect that importing the modules under the paths has."""
    started = time.perf_counter()
    collecting = gc.isenabled()
    recursion = sys.getrecursionlimit()
    gc.disable()  # the data is a few large, long-lived trees: collecting finds nothing in them
    sys.setrecursionlimit(max(recursion, _RECURSION))
    try:
        return with_room(_analyse, request, progress, started)
    finally:
        sys.setrecursionlimit(recursion)
        if collecting:
            gc.enable()


def _analyse(request: Request, progress: Progress | None, started: float) -> Observation:
    found = discover(request.paths, request.excluded)
    search = tuple(str(folder.absolute()) for folder in request.search)
    search = tuple(folder for folder in search if folder not in found.roots)
    finder = Finder(found.roots, search, found.files)
    loader = Loader(request.target_version, request.jobs, remembering=request.cache is not None)
    program = Program(
        finder,
        loader,
        request.catalogue,
        request.profile,
        request.target_version,
        Distributions(request.search),
        required(found.roots, {name.partition(".")[0] for name in found.files}),
    )
    _check_entries(request.entries, program)
    remembered = Remembered(_packs(request, found, search, program), program, loader)
    answer = remembered.recall()
    if answer is None:
        results = Results(program, loader, remembered.results)
        answer = _answer(request, found, search, program, results, progress)
        remembered.keep(results, answer)
    loader.close()
    statistics = Statistics(
        modules=answer.modules,
        read=loader.read,
        cached=max(0, answer.modules - loader.read),
        seconds=round(time.perf_counter() - started, 3),
        own_modules=len(found.files),
        bytes_read=loader.bytes_read,
    )
    return Observation(
        request.profile.name,
        answer.effects,
        answer.unreadable,
        answer.ignores,
        statistics,
        answer.captured,
        answer.absent,
        answer.affected,
        answer.checked,
        answer.imports,
        answer.unset,
        answer.unfinished,
    )


def _packs(request: Request, found: Found, search: tuple[str, ...], program: Program) -> Packs | None:
    """Where the run remembers things: under names that hold all that they depend on beside the sources."""
    if request.cache is None:
        return None
    folder = request.cache / "check"
    settings = digest_of(tool_digest(), request.target_version)
    place = digest_of(found.roots, search)
    work = f"{place}-{digest_of(settings, request.catalogue.digest, sorted(found.files))}"
    return Packs(
        folder / f"{place}-{settings}.summaries",
        folder / f"{work}.results",
        folder / f"{work}.answers",
        digest_of(sorted(program.versions.items()), sorted(program.required)),
        digest_of(request.entries, sorted(found.display.items()), found.broken, request.changed),
    )


def _answer(
    request: Request,
    found: Found,
    search: tuple[str, ...],
    program: Program,
    results: Results,
    progress: Progress | None,
) -> Answer:
    results.evaluate(list(request.entries or found.files), progress, found.files)
    quotations = Quotations(program, found.display)
    reporter = Reporter(program, results, found, request.entries, quotations)
    captured = CaptureObserver(program, quotations).effects(
        name for name in found.files if name in results.by_name
    )
    affected = None
    if request.changed is not None:
        names = affected_modules(results, (*found.roots, *search), found.files, request.changed)
        affected = tuple(sorted(map(quotations.path_of, names)))
    effects = reporter.effects()
    return Answer(
        effects,
        reporter.unreadable(),
        reporter.ignores(),
        len(results.by_name),
        captured,
        absent_packages(program, found.files, quotations.path_of),
        affected,
        reporter.modules(effects),
        reporter.imports(effects),
        results.unset,
        reporter.unfinished(),
    )


def _check_entries(entries: tuple[str, ...], program: Program) -> None:
    for entry in entries:
        if program.finder.find(entry) is None:
            raise UsageError(f"--entry {entry}: no such module under the given paths or in the environment")


__all__ = ["Found", "Request", "analyse"]
