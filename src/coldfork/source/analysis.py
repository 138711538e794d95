"""The entry point of the static observer, which returns the effects of importing the modules under some
paths.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from coldfork.model.errors import Cancellation, CheckCancelledError, UsageError
from coldfork.model.observations import Faults, Observation, Progress, Statistics
from coldfork.source.files.discovery import Found, discover
from coldfork.source.files.finder import Finder
from coldfork.source.files.packs import digest_of, tool_digest
from coldfork.source.files.reading import Reader
from coldfork.source.files.roomy_stack import with_room
from coldfork.source.files.site_packages import Distributions
from coldfork.source.program.keeping import OnDisk
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program, proceed
from coldfork.source.program.project import Project, read_project
from coldfork.source.reach.remembered import Packs, Remembered
from coldfork.source.reach.whole_files import Told, WholeFiles, with_troubles
from coldfork.source.request import Request, Towards

if TYPE_CHECKING:
    from coldfork.knowledge.known import Known
    from coldfork.model.terms.machines import Profile
    from coldfork.source.reach.answers import Answer

T = TypeVar("T")

_RECURSION = 20_000


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
        self, machine: Profile, known: Known, roots: tuple[str, ...], progress: Progress | None = None
    ) -> Observation:
        """Find the effects of importing the modules `roots` on another machine."""
        return self._observed(self.request._replace(profile=machine, known=known, roots=roots), progress)

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
        request.known,
        request.profile,
        request.target_version,
        Distributions(request.search),
        project,
    )
    program.pause = loader.pause = _pause(request.cancelled)
    program.hurried = request.hurried
    if before is None:
        faults.attempt(lambda: _take_in_neighbours(found, program), None)
    request = request._replace(entries=tuple(_entry(entry, found, program) for entry in request.entries))
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
            answer = _answer(ground, remembered, progress)
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


def _answer(ground: Ground, remembered: Remembered, progress: Progress | None) -> Answer:
    """Follow the modules, and store the results and the answer for later runs."""
    # These two import all that follows code, which takes longer than recalling an answer.
    from coldfork.source.answering import answered
    from coldfork.source.reach.results import Results

    request, found, search, program, loader, faults = ground
    results = Results(program, loader, remembered.results, faults, held=request.store is not None)
    answer = answered(request, found, search, program, results, progress, faults)
    if not faults.noted:
        faults.attempt(partial(remembered.keep, results, answer), None)
    results.close()
    return answer


def _packs(request: Request, found: Found, search: tuple[str, ...], program: Program) -> Packs | None:
    """Return the cache files of a run; their names depend on everything that the results depend on, except
    the sources.
    """
    if request.cache is None and request.store is None:
        return None
    folder = (request.cache or Path()) / "check"
    settings = digest_of(tool_digest(), request.target_version)
    place = digest_of(found.roots, search)
    kin = f"{place}-{digest_of(settings, request.known.digest)}-"
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
            request.towards and request.towards.key,
            request.roots,
            request.programs,
            program.project.commands,
            program.project.defaults_differ,
        ),
        kin,
    )


def _pause(cancelled: Callable[[], bool] | None) -> Callable[[], None]:
    if cancelled is None:
        return proceed

    def pause() -> None:
        if cancelled():
            raise Cancellation

    return pause


def _take_in_neighbours(found: Found, program: Program) -> None:
    if found.scripts:
        from coldfork.source.program.package_environment import take_in_neighbours

        take_in_neighbours(found, program)


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


__all__ = ["Analysis", "Found", "Ground", "Request", "Towards", "analyse", "at_length", "prepare"]
