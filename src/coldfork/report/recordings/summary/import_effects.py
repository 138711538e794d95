"""Attributes wakes and other effects to the innermost import during which they happened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from coldfork.model.timelines import Import, Process, Wake
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.summary import phrases
from coldfork.report.shared.effects import effect_phrase

_SLACK = 1e-4


@dataclass(frozen=True, slots=True)
class Mark:
    """An effect that happened during an import."""

    wakes: bool
    text: str


class Marks:
    """The effects of each import of a process, and the imports that led to a wake below them."""

    def __init__(self) -> None:
        self._of: defaultdict[int, list[Mark]] = defaultdict(list)
        self._on_the_way: set[int] = set()

    def of(self, span: Import) -> list[Mark]:
        """Return the effects during this import, but not during any import below it."""
        return self._of.get(id(span), [])

    def leads_to_wake(self, span: Import) -> bool:
        """Return whether an import below this one woke an accelerator."""
        return id(span) in self._on_the_way

    def add(self, path: Iterable[Import], mark: Mark) -> None:
        """Add an effect to the last import of a path, which begins at an outermost import."""
        *outer, span = path
        if mark not in self._of[id(span)]:
            self._of[id(span)].append(mark)
        if mark.wakes:
            self._on_the_way.update(id(one) for one in outer)


def marks(process: Process) -> Marks:
    """Return the effects of a process's imports."""
    made = Marks()
    for wake in process.wakes:
        path = _path_of_wake(process, wake)
        if path:
            made.add(path, Mark(True, f"wakes {wake.accelerator}"))
    for happening in process.happenings:
        path = _path_at(process, happening.at, happening.thread)
        if path:
            text = happening.what or effect_phrase(happening.kind, None)
            made.add(path, Mark(False, f"{happening.kind}: {text}" if happening.what else text))
    for going in process.departures:
        path = _path_at(process, going.at, None)
        if path:
            made.add(path, Mark(False, f"{phrases.departure(going)} a process"))
    return made


def _path_of_wake(process: Process, wake: Wake) -> list[Import]:
    """Return the path to the import that the waker names; empty if this import was not recorded."""
    waker = wake.waker
    if waker is None or waker.module is None:
        return []
    path: list[Import] = []
    best: list[Import] = []
    for span, depth in walk(process.imports):
        del path[depth:]
        path.append(span)
        if span.module == waker.module and (not best or _around(span, wake.at)):
            best = list(path)
    return best


def _path_at(process: Process, moment: float, thread: int | None) -> list[Import]:
    path: list[Import] = []
    level: Iterable[Import] = process.imports
    while True:
        inside = [
            span for span in level if _around(span, moment) and (thread is None or span.thread in (thread, 0))
        ]
        if not inside:
            return path
        path.append(inside[-1])
        level = inside[-1].children


def _around(span: Import, moment: float) -> bool:
    return span.start - _SLACK <= moment <= span.start + span.seconds + _SLACK
