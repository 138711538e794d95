"""The entry point of the static observer, which returns the effects of importing the modules under some
paths.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from coldfork.knowledge.catalogue import Catalogue
from coldfork.model.effects import Effect, Profile
from coldfork.model.errors import Cancellation, CheckCancelledError, UsageError
from coldfork.model.observations import Faults, IgnoreComment, Observation, Progress, Statistics, Unreadable
from coldfork.source.files.discovery import Found, discover
from coldfork.source.files.finder import Finder
from coldfork.source.files.packs import digest_of, tool_digest
from coldfork.source.files.reading import Reader
from coldfork.source.files.roomy_stack import with_room
from coldfork.source.files.site_packages import Distributions
from coldfork.source.program.keeping import OnDisk, Store
from coldfork.source.program.loader import Loader
from coldfork.source.program.package_environment import take_in_neighbours
from coldfork.source.program.program import Program, proceed
from coldfork.source.program.project import Project, read_project
from coldfork.source.reach.encoding import Answer
from coldfork.source.reach.importers import affected as affected_modules
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.remarks import Remarks, Told, WholeFiles, with_troubles
from coldfork.source.reach.remembered import Packs, Remembered
from coldfork.source.reach.reporter import Reporter
from coldfork.source.reach.results import Results
from coldfork.source.reach.selection import programs

T = TypeVar("T")

_RECURSION = 20_000


@dataclass(frozen=True)
class Request:
    """The paths to analyse, and the machine that is assumed."""

    paths: tuple[Path, ...]
    profile: Profile
    catalogue: Catalogue
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
    overlays: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """Texts by absolute path, for files that differ from the disk or do not exist."""
    towards: frozenset[str] = frozenset()
    """Names of packages: the observation lists the checked modules whose import can reach them."""
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


class Ground(NamedTuple):
    """The modules found for a request, before any of them is followed."""

    request: Request
    """The request, with its entries by name."""
    found: Found
    search: tuple[str, ...]
    program: Program
    loader: Loader
    faults: Faults


class Analysis:
    """An analysis of some paths; analysing them again for another machine reuses the files found."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._ground: Ground | None = None

    def observe(self, progress: Progress | None = None) -> Observation:
        """Find every effect of importing the modules under the paths."""
        return self._observed(self.request, progress)

    def observe_on(
        self, machine: Profile, known: Catalogue, roots: tuple[str, ...], progress: Progress | None = None
    ) -> Observation:
        """Find the effects of importing the modules `roots` on another machine."""
        return self._observed(replace(self.request, profile=machine, catalogue=known, roots=roots), progress)

    def _observed(self, request: Request, progress: Progress | None) -> Observation:
        started = time.perf_counter()

        def observe() -> Observation:
            self._ground = prepare(request, self._ground)
            return _observe(self._ground, progress, started)

        return at_length(observe)


def analyse(request: Request, progress: Progress | None = None) -> Observation:
    """Find every effect of importing the modules under the paths."""
    return Analysis(request).observe(progress)


def at_length(work: Callable[[], T]) -> T:
    """Return the result of `work`, with a deeper recursion limit and without garbage collection."""
    collecting = gc.isenabled()
    recursion = sys.getrecursionlimit()
    gc.disable()  # the data is a few large, long-lived trees, in which the collector would find nothing
    sys.setrecursionlimit(max(recursion, _RECURSION))
    try:
        return with_room(work)
    except Cancellation:
        raise CheckCancelledError("the check was cancelled") from None
    finally:
        sys.setrecursionlimit(recursion)
        if collecting:
            gc.enable()


def prepare(request: Request, before: Ground | None = None) -> Ground:
    """Find the modules of a request, or reuse those of `before`, found for another machine."""
    faults = Faults()
    if before is None:
        reader = Reader(request.overlays)
        found = discover(request.paths, request.excluded, reader, request.base, faults)
        search = tuple(str(folder.absolute()) for folder in request.search)
        search = tuple(folder for folder in search if folder not in found.roots)
        finder = Finder(found.roots, search, found.files, reader, found.beside())
        remembering = request.cache is not None or request.store is not None
        ready = request.store.ready if request.store is not None else None
        loader = Loader(request.target_version, request.jobs, remembering, reader, ready)
        tops = frozenset(name.partition(".")[0] for name in found.files)
        project = faults.attempt(lambda: read_project(found.roots, tops, faults), Project())
    else:
        found, search, loader = before.found, before.search, before.loader
        finder, project = before.program.finder, before.program.project
    program = Program(
        finder,
        loader,
        request.catalogue,
        request.profile,
        request.target_version,
        Distributions(request.search),
        project,
    )
    program.pause = loader.pause = _pause(request.cancelled)
    program.hurried = request.hurried
    if before is None:
        faults.attempt(lambda: take_in_neighbours(found, program), None)
    request = replace(request, entries=tuple(_entry(entry, found, program) for entry in request.entries))
    _check_entries(request, found, program)
    return Ground(request, found, search, program, loader, faults)


def _observe(ground: Ground, progress: Progress | None, started: float) -> Observation:
    request, found, search, program, loader, faults = ground
    read_before, bytes_before = loader.read, loader.bytes_read
    store = request.store or OnDisk()
    packs = _packs(request, found, search, program)
    whole = faults.attempt(
        lambda: WholeFiles(store, None if packs is None else packs.whole), WholeFiles(store, None)
    )
    remembered = Remembered(store, packs, program, loader)
    try:
        answer = faults.attempt(remembered.recall, None)
        if answer is None:
            results = Results(program, loader, remembered.results, faults, held=request.store is not None)
            answer = _answer(request, found, search, program, results, progress, faults)
            if not faults.noted:
                faults.attempt(partial(remembered.keep, results, answer), None)
            results.close()
    except BaseException:
        loader.abandon()
        raise
    loader.close()
    # These objects refer to each other in cycles, and would otherwise stay until the garbage collector runs.
    program.close()
    unreadable, unparsed = answer.unreadable, 0
    if not request.roots:
        read = partial(whole.read, found.files.values(), loader.reader, all_of_them=request.whole)
        told = faults.attempt(read, Told({}, 0))
        unreadable, unparsed = with_troubles(unreadable, told.troubles, found, program), told.left
    statistics = Statistics(
        modules=answer.modules,
        read=loader.read - read_before,
        cached=max(0, answer.modules - loader.read + read_before),
        seconds=round(time.perf_counter() - started, 3),
        own_modules=len(found.files),
        bytes_read=loader.bytes_read - bytes_before,
    )
    return Observation(
        request.profile.name,
        answer.effects,
        unreadable,
        answer.ignores,
        statistics,
        answer.absent,
        answer.affected,
        answer.checked,
        answer.imports,
        answer.unset,
        (*answer.unfinished, *faults.noted),
        answer.leading,
        answer.unfollowed,
        unparsed=unparsed,
        left_out=found.left_out,
        entries=request.entries,
    )


def _packs(request: Request, found: Found, search: tuple[str, ...], program: Program) -> Packs | None:
    """Return the cache files of a run; their names depend on everything that the results depend on, except
    the sources.
    """
    if request.cache is None and request.store is None:
        return None
    folder = (request.cache or Path()) / "check"
    settings = digest_of(tool_digest(), request.target_version)
    place = digest_of(found.roots, search)
    kin = f"{place}-{digest_of(settings, request.catalogue.digest)}-"
    work = f"{kin}{digest_of(sorted(found.files))}"
    return Packs(
        folder / f"{place}-{settings}.summaries",
        folder / f"{work}.results",
        folder / f"{work}.answers",
        folder / f"{place}-{settings}.whole",
        digest_of(sorted(program.versions.items()), sorted(program.project.required)),
        digest_of(
            request.entries,
            sorted(found.display.items()),
            found.broken,
            request.changed,
            sorted(request.towards),
            request.roots,
            request.programs,
            program.project.commands,
            program.project.defaults_differ,
        ),
        kin,
    )


def _answer(
    request: Request,
    found: Found,
    search: tuple[str, ...],
    program: Program,
    results: Results,
    progress: Progress | None,
    faults: Faults,
) -> Answer:
    results.evaluate(list(request.entries or request.roots or found.files), progress, found.files)
    if request.programs and not request.entries:  # only the imports of entries are analysed
        asked, again = request.roots or found.files, bool(request.roots)
        faults.attempt(lambda: results.evaluate_programs(programs(program, asked, again), progress), None)
    quotations = Quotations(program, found.display)
    reporter = Reporter(program, results, found, request.entries, quotations, faults)
    remarks = Remarks(program, results, found, quotations)
    affected = None
    if (changed := request.changed) is not None:
        roots, files = (*found.roots, *search), found.files
        names = faults.attempt(lambda: affected_modules(results, roots, files, changed), set(files))
        affected = tuple(sorted(map(quotations.path_of, names)))
    effects: tuple[Effect, ...] = faults.attempt(reporter.effects, ())
    # findings that hold for any machine were already reported by the analysis of all modules
    if request.roots:
        return Answer(
            effects,
            (),
            (),
            len(results.by_name),
            checked=reporter.modules(effects) if effects else (),
            imports=reporter.imports(effects),
            unset=results.unset,
            unfinished=remarks.unfinished(),
        )
    checked, imports = reporter.modules(effects), reporter.imports(effects)
    unreadable: tuple[Unreadable, ...] = faults.attempt(remarks.unreadable, ())
    ignores: tuple[IgnoreComment, ...] = faults.attempt(remarks.ignores, ())
    absent: tuple[str, ...] = faults.attempt(remarks.absent, ())
    leading = reporter.leading_to(request.towards)
    return Answer(
        effects,
        unreadable,
        ignores,
        len(results.by_name),
        absent,
        affected,
        checked,
        imports,
        results.unset,
        remarks.unfinished(),
        leading,
        reporter.unfollowed(),
    )


def _pause(cancelled: Callable[[], bool] | None) -> Callable[[], None]:
    if cancelled is None:
        return proceed

    def pause() -> None:
        if cancelled():
            raise Cancellation

    return pause


def _entry(entry: str, found: Found, program: Program) -> str:
    """Return the module name of an entry, which outside any package may also be its stem or path."""
    if program.finder.find(entry) is not None:
        return entry
    spelled = entry.removesuffix(".py")
    alike = [name for name in found.display if spelled in (name, name.rpartition("/")[2])]
    return alike[0] if len(alike) == 1 else entry


def _check_entries(request: Request, found: Found, program: Program) -> None:
    for entry in request.entries:
        if program.finder.find(entry) is None:
            looked = ", ".join(os.path.relpath(root) for root in found.roots) or "no folder"
            raise UsageError(
                f"--entry {entry}: no such module below {looked} or in the environment; name the folder "
                "of the top-level packages with --package-base"
            )


__all__ = ["Analysis", "Found", "Ground", "Request", "analyse", "at_length", "prepare"]
