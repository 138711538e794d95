"""The order in which an import runs the lines that wake a device, and the imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from coldfork.model.effects import Effect, EffectKind
from coldfork.source.reach.propagation import ModuleResult, targets


class Event(NamedTuple):
    """A wake or an import of a module: its place among those of its kind."""

    is_import: bool
    place: int


class ExecutionOrder:
    """Counts what runs: along the import of the entries, or within each module where there are none."""

    def __init__(self, results: Mapping[str, ModuleResult], entries: Sequence[str]) -> None:
        self._results = results
        self._turns: dict[tuple[str, Event], int] = {}
        self._counted: set[str] = set()
        if entries:
            self._count(entries)

    def turn(self, module: str, event: Event) -> int:
        """When it runs: smaller is sooner."""
        if module not in self._counted:
            self._counted.add(module)
            for place, one in enumerate(_events(self._results[module])):
                self._turns.setdefault((module, one), place)
        return self._turns[module, event]

    def _count(self, entries: Iterable[str]) -> None:
        """Follow imports as Python does: a module runs where it is first imported, after its packages."""
        names = (name for entry in entries for name in targets(entry, ""))
        running: list[Iterator[str | tuple[str, Event]]] = [names]
        while running:
            step = next(running[-1], None)
            if step is None:
                running.pop()
            elif not isinstance(step, str):
                self._turns.setdefault(step, len(self._turns))
            elif step in self._results and step not in self._counted:
                self._counted.add(step)
                running.append(self._run(step))

    def _run(self, module: str) -> Iterator[str | tuple[str, Event]]:
        """The events of a module as it runs, each import followed by the modules that it may start."""
        result = self._results[module]
        for event in _events(result):
            yield module, event
            if event.is_import:
                yield from targets(result.edges[event.place].edge.target, module)


def _events(result: ModuleResult) -> Iterator[Event]:
    """The wakes and the imports of one module as they run."""
    wakes = 0
    for index, edge in enumerate(result.edges):
        for wake in range(wakes, edge.behind):
            yield Event(False, wake)
        wakes = max(wakes, edge.behind)
        yield Event(True, index)
    for wake in range(wakes, len(result.sites)):
        yield Event(False, wake)


def sameness(effect: Effect) -> tuple[object, ...]:
    """The key by which effects are reported once: a line, or a waking site that a file's imports lead to."""
    if effect.imported is None:
        return effect.path, effect.accelerator, effect.line, effect.kind
    waking = next((s for s in reversed(effect.chain.steps) if s.line is not None), effect.chain.sink)
    if waking.path == effect.path:  # nothing of the dependency's own source is at hand
        return effect.path, effect.accelerator, effect.imported.module.partition(".")[0]
    return effect.path, effect.accelerator, effect.imported.own, waking.path, waking.line


def preference(effect: Effect) -> tuple[bool, int, int, int, int]:
    """Smaller is the effect to report when there are several."""
    depth = {EffectKind.CREATES_CONTEXT: 0, EffectKind.INITIALISES_DRIVER: 1}.get(effect.kind, 2)
    ahead = effect.line if effect.imported is not None else 0
    return (depth == 2, -effect.verdict.rank, ahead, depth, len(effect.chain.steps))
