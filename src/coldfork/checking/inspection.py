"""One check: analyses the paths and applies the rules to the observations."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.checking import environment
from coldfork.checking.configuration import Matches, Selection
from coldfork.checking.environment import Environment, environment_of
from coldfork.checking.places import Locate, locator
from coldfork.checking.questions import known_to, question_of
from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Skipped
from coldfork.model.observations import ChangeScope, EnvironmentRead, Faults, Observation, Progress
from coldfork.rules import registry
from coldfork.source.analysis import Analysis
from coldfork.source.files.reading import CannotRead, Reader
from coldfork.source.request import Towards

if TYPE_CHECKING:
    from coldfork.checking.changes import Asked
    from coldfork.checking.request import CheckRequest
    from coldfork.model.causes import Cause
    from coldfork.model.terms.traces import Trace
    from coldfork.source.program.keeping import Store

Select = Callable[[Iterable[Finding]], tuple[Finding, ...]]


@dataclass(frozen=True, slots=True)
class Inspection:
    """The complete result of a check, before any baseline is applied."""

    request: CheckRequest
    observation: Observation
    findings: tuple[Finding, ...]
    causes: tuple[Cause, ...]
    ignored: int
    """The number of findings that ignore comments suppress."""
    skipped: tuple[Skipped, ...]
    missing: tuple[Path, ...]
    """Paths that do not exist."""
    locate: Locate
    scope: ChangeScope | None
    """The scope of `--changed-since`; None without that option."""
    environment: EnvironmentRead
    reader: Reader
    select: Select
    """Returns findings without those that the configuration excludes."""
    is_excluded: Matches
    """Returns whether the configuration excludes a file."""

    def cell(self, path: str, line: int) -> tuple[int | None, int]:
        """Return the number of the notebook cell that contains a line, and the line's number within
        the cell.
        """
        return self.reader.cell(self.file(path), line)

    def source(self, path: str, line: int) -> str:
        """Return the text of a line of a checked file, stripped; empty if there is none."""
        try:
            lines = self.reader.read_source(self.file(path)).decode("utf-8", "replace").split("\n")
        except CannotRead:
            return ""
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def file(self, path: str) -> str:
        """Return the absolute path of a file that a report names."""
        # `normpath` removes any `..`, because the paths of overlays contain none.
        return os.path.normpath(Path(self.locate(path)).absolute())


def inspect(
    request: CheckRequest,
    progress: Progress | None = None,
    *,
    store: Store | None = None,
    find: Callable[[CheckRequest, Sequence[Path]], Environment] = environment_of,
) -> Inspection:
    """Analyse the requested paths, and apply the rules to the observations.

    A session passes its own store, and its own way to find environments.
    """
    reader = Reader(request.overlays)
    missing = tuple(path for path in request.paths if not _is_there(path, reader))
    present = tuple(path for path in request.paths if path not in missing)
    if not present:
        raise UsageError("; ".join(f"{path}: no such file or folder" for path in missing))
    selection = Selection(request.configuration)
    asked = _asked(request, present)
    search, environment = find(request, present)
    faults = Faults()
    observation, remedies = _observe(
        request, present, search, asked, progress, store, selection.is_excluded, faults
    )
    locate = locator(observation.modules, present, request.overlays)
    judgement = registry.judge_all(observation, request.rules, remedies, faults)
    select = partial(selection.select, locate=locate)
    findings, causes = _with_causes(request, observation, select(judgement.findings), faults)
    observation = replace(observation, unfinished=(*observation.unfinished, *faults.noted))
    return Inspection(
        request,
        observation,
        findings,
        causes,
        len(select(judgement.ignored)),
        _skipped(observation, missing, locate, selection.is_excluded),
        missing,
        locate,
        asked.scope(observation.affected, observation.statistics.own_modules) if asked else None,
        replace(environment, absent=observation.absent, unset=observation.unset),
        reader,
        select,
        selection.is_excluded,
    )


def _asked(request: CheckRequest, paths: tuple[Path, ...]) -> Asked | None:
    """Return the changes to which the check is limited; None if it is not."""
    if not request.changed_since:
        return None
    from coldfork.checking.changes import changes_asked

    return changes_asked(request, paths)


def _with_causes(
    request: CheckRequest, observation: Observation, found: tuple[Finding, ...], faults: Faults
) -> tuple[tuple[Finding, ...], tuple[Cause, ...]]:
    """Return the findings, each with the id of its cause, and the causes."""
    if not found:
        return (), ()
    from coldfork.rules.causes import judging

    # With a baseline, an import is not a cause by itself but a way to one that may have been accepted.
    judged = judging.judge(observation, found, gates=not request.baseline, faults=faults)
    return judged.findings, judged.causes


def _is_there(path: Path, reader: Reader) -> bool:
    absolute = str(path.absolute())
    return path.exists() or reader.is_file(absolute) or reader.is_folder(absolute)


def _observe(
    request: CheckRequest,
    paths: tuple[Path, ...],
    search: tuple[Path, ...],
    asked: Asked | None,
    progress: Progress | None,
    store: Store | None,
    is_excluded: Matches,
    faults: Faults,
) -> tuple[Observation, dict[str, str]]:
    """Run the analysis; return its observations, and the remedies from the catalogues that it loads."""
    known_on = known_to(request, paths, search, faults)
    asked_of = question_of(request, paths, search, known_on, is_excluded)
    profile = asked_of.profile
    others = {
        machine: known_on(machine) for machine in environment.with_more(profile) if request.profile is None
    }

    def towards() -> frozenset[str]:
        return frozenset[str]().union(*(
            environment.libraries(known.catalogue, machine.accelerators - profile.accelerators)
            for machine, known in others.items()
        ))  # fmt: skip

    question = asked_of._replace(
        changed=None if asked is None or asked.everything else asked.files,
        towards=Towards(tuple(known.digest for known in others.values()), towards),
        store=store,
    )
    analysis = Analysis(question)
    observation, read = analysis.observe(progress), [question.known]
    for machine, known in others.items() if observation.leading else ():
        # Only modules that lead to waking libraries can wake the devices that only this machine has.
        again = partial(analysis.observe_on, machine, known, observation.leading, progress)
        seen = faults.attempt(again, None)
        observation = observation if seen is None else environment.joined(observation, seen)
        read.append(known)
    remedies: dict[str, str] = {}
    for known in read if observation.effects else ():
        remedies |= known.catalogue.remedies
    return observation, remedies


def _skipped(
    observation: Observation, missing: tuple[Path, ...], locate: Locate, is_excluded: Matches
) -> tuple[Skipped, ...]:
    affected = observation.affected
    unreadable = [
        Skipped(file.path, file.reason)
        for file in observation.unreadable
        if not file.own
        or ((affected is None or file.path in affected) and not is_excluded(locate(file.path)))
    ]
    return (*unreadable, *(Skipped(path.as_posix(), "no such file or folder") for path in missing))


_PLACE = re.compile(r"(?P<file>.+?)(?::cell (?P<cell>\d+))?:(?P<line>\d+)", re.ASCII)


def trace(request: CheckRequest, place: str, progress: Progress | None = None) -> Trace:
    """Analyse the modules of a check, and return what the analysis knows at one line of a file."""
    from coldfork.source import tracing  # the evaluator, which a check may not need

    file, line = _place(place, Reader(request.overlays))
    search, _ = environment_of(request, request.paths)
    known = known_to(request, request.paths, search, Faults())
    is_excluded = Selection(request.configuration).is_excluded
    question = question_of(request, request.paths, search, known, is_excluded)
    return tracing.trace(question, file, line, progress)


def _place(place: str, reader: Reader) -> tuple[Path, int]:
    """Return the file and the line number; in a notebook, the number counts through all cells."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise UsageError(f"--trace {place}: write FILE:LINE, such as src/engine/core.py:12")
    file, line = Path(match["file"]), int(match["line"])
    path = os.path.normpath(file.absolute())
    if not reader.is_file(path):
        raise UsageError(f"--trace {place}: there is no file {file}")
    if match["cell"] is None:
        return file, line
    count = reader.read_source(path).count(b"\n") + 1
    wanted = int(match["cell"]), line
    for number in range(1, count + 1):
        if reader.cell(path, number) == wanted:
            return file, number
    raise UsageError(f"--trace {place}: there is no such line in that cell")
