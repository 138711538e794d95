"""Finds leaks from a warm-up into a graph: Python values are found by path, memory by its last writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from coldfork.graphs.descriptors import BatchDescriptor, Phase
from coldfork.graphs.findings import Leak, LeakKind, Report
from coldfork.graphs.leaks.memory import BEFORE, NOTHING, CheckedRun, Ledger, Writer, key_of
from coldfork.graphs.leaks.operator_watch import HostReads, OperatorStep, Watched
from coldfork.graphs.leaks.reachable_values import is_tensor, roots_of, spots
from coldfork.graphs.leaks.value_changes import Calls, Change, Snapshot
from coldfork.graphs.surroundings import Inspection
from coldfork.model.states import Frame
from coldfork.virtual.capturing.memory import Kind
from coldfork.virtual.capturing.operators.schemas import Operators
from coldfork.virtual.capturing.records import Places

_UNWRITTEN = "memory that nothing has written"


class Inspector(Inspection):
    """Inspects the captures of some batches, one at a time, and reports on each."""

    watches = True

    def __init__(
        self,
        persistent: Iterable[Any] = (),
        inputs: Iterable[Any] | None = None,
        *,
        recorded: bool = False,
    ) -> None:
        """Set up for these persistent tensors and inputs; with `recorded`, graphs record their own steps.

        If they were also recorded here, intermediate memory would stay alive and the graph become larger.
        """
        self._persistent = {key_of(tensor) for tensor in persistent}
        self._kept = tuple(persistent)
        self._inputs = None if inputs is None else {key_of(tensor) for tensor in inputs}
        self._recorded = recorded
        self._given = self._persistent | (self._inputs or set())
        self._ledger = Ledger()
        self._operators = Operators()
        self._places = Places()
        self._of_modules = set[int]()
        self.of_batches: set[int] = set[int]()
        """Memory from before the check that was read, and that gets new values in each step."""
        self._warm: Snapshot | None = None
        self._begin("")

    def _begin(self, descriptor: str) -> None:
        self._descriptor = descriptor
        self._calls = Calls()
        self._changes: list[Change] = []
        self._visible: list[Change] = []
        self._host_reads: list[Frame | None] = []
        self._steps: list[OperatorStep] = []
        self._leaks: list[Leak] = []
        self.rebuilt: set[int] = set[int]()
        """Memory that was written while the captured state was built, and that the graph reads."""

    # --- steps of a capture, in order -----------------------------------------------------------------------

    @contextmanager
    def building(self, descriptor: BatchDescriptor, phase: Phase) -> Iterator[None]:
        if phase is Phase.WARMUP:
            self._begin(str(descriptor))
        kind = "build warm-up" if phase is Phase.WARMUP else "build capture"
        with self._watched(kind):
            yield

    @contextmanager
    def warming_up(self, forward: Any, state: Any) -> Iterator[None]:
        roots = roots_of(forward, state)
        self._of_modules = {
            key_of(spot.value)
            for spot in spots(roots)
            if is_tensor(spot.value) and _is_kept_by_module(spot.holder, spot.key)
        }
        # Modes do not see reads by other threads, so every tensor that the function can reach counts as read.
        for spot in spots(roots):
            if is_tensor(spot.value):
                self._is_input(spot.value)
        before = Snapshot(roots)
        with self._watched("warm-up") as watched, HostReads(watched.note_host_read), self._calls:
            yield
        self._host_reads = watched.host_reads
        self._warm = Snapshot(roots)
        self._changes = before.changes(self._warm)
        self._ledger.forget_dead()

    @contextmanager
    def capturing(self, forward: Any, state: Any) -> Iterator[None]:
        roots = roots_of(forward, state)
        before = Snapshot(roots)
        seen = {(id(spot.holder), spot.key): spot.path for spot in spots(roots)}
        self._visible = [
            change._replace(path=seen.get((id(change.holder), change.key), change.path))
            for change in self._changes
            if before.holds(change.holder)
        ]
        with nullcontext() if self._recorded else self._watched("capture", self._steps):
            yield
        self._side_effects(before.changes(Snapshot(roots)))

    def captured(self, graph: Any) -> None:
        """Inspect the reads and writes of a finished graph."""
        # Copied, because the inspection's own operators are recorded too, but do not belong to the graph.
        steps = list(_steps_of(graph) if hasattr(graph, "records") else self._steps)
        made = {memory.key for memory in getattr(graph, "memories", ()) if memory.kind is Kind.POOL}
        run = CheckedRun(self._descriptor, "graph")
        for step in steps:
            self._take(step, made)
            if step.allocates:
                for tensor in step.wrote:
                    self._ledger.write(tensor, NOTHING)
                continue
            writer = self._ledger.new_writer(Writer(step.name, step.where, run, True))
            for tensor in step.wrote:
                self._ledger.write(tensor, writer)
        self._steps.clear()

    def report(self, differs: bool | None = None) -> Report:
        """Return the findings for the most recently captured batch.

        `differs` says whether a replay differs from a fresh run; if it is None, only the evidence counts.
        """
        leaks = [] if differs is False else list(self._leaks)
        lazy: list[str] = []
        harmful = bool(leaks) or bool(self._host_reads) if differs is None else differs
        for change in self._visible:
            text = f"{change.path}: {change.before} -> {change.after}, shared with capture"
            if harmful:
                leaks.insert(0, self._state_leak(change, text))
            else:
                lazy.append(text)
        return Report(tuple(leaks), tuple(lazy))

    def batch_memory(self) -> frozenset[int]:
        """Return the memory of inputs from before the check that only the graph has written since."""
        return frozenset(
            key
            for key in self.of_batches
            if all(
                number == BEFORE or self._ledger.writers[number].run == CheckedRun(self._descriptor, "graph")
                for number in self._ledger.writers_of(key)
            )
        )

    def unwritten(self) -> tuple[Leak, ...]:
        """Return the leaks from memory that was never written, which an eager run would read as well."""
        return tuple(leak for leak in self._leaks if _UNWRITTEN in leak.message)

    def writer_of(self, graph_record: Any) -> tuple[str, Frame | None]:
        """Return a description and the line of what wrote the outside memory that a record reads."""
        for use in graph_record.read:
            if use.memory.kind is not Kind.OUTSIDE:
                continue
            for number in self._ledger.last_writers(use.tensor):
                writer = self._ledger.writers[number]
                if writer.run is not None:
                    return f"what {writer.name} wrote in {writer.run}", writer.where
        return "memory", None

    # --- judging ------------------------------------------------------------------------------------------

    def _take(self, step: OperatorStep, made: set[int]) -> None:
        for tensor in step.read:
            if key_of(tensor) in self._given:
                continue
            for number in self._ledger.last_writers(tensor):
                writer = self._ledger.writers[number]
                if writer.run is not None and writer.run.kind == "build capture":
                    self.rebuilt.add(key_of(tensor))
                if number == BEFORE:
                    self._is_input(tensor)
                if number == NOTHING or (number == BEFORE and key_of(tensor) in made):
                    self._leak(step, _UNWRITTEN, None)
                elif writer.run is not None and writer.depends and self._is_foreign(writer.run):
                    self._leak(step, f"what {writer.name} wrote in {writer.run}", writer.where)

    def _is_foreign(self, run: CheckedRun) -> bool:
        return run.warms or (run.kind == "graph" and run.descriptor != self._descriptor)

    def _leak(self, step: OperatorStep, what: str, origin: Frame | None) -> None:
        message = f"{step.name} reads {what}; a replay reads whatever was left there"
        leak = Leak(LeakKind.MEMORY, self._descriptor, step.name, message, step.where, origin)
        if leak not in self._leaks:
            self._leaks.append(leak)

    def _state_leak(self, change: Change, text: str) -> Leak:
        origin = self._calls.setter_of(change.key)
        return Leak(LeakKind.STATE, self._descriptor, change.path, text, None, origin)

    def _side_effects(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if (
                self._warm is None
                or not self._warm.holds(change.holder)
                or change.after.startswith("a tensor")
            ):
                continue
            text = f"{change.path}: {change.before} -> {change.after} while capturing; no replay repeats it"
            origin = self._calls.setter_of(change.key)
            self._leaks.append(Leak(LeakKind.SIDE_EFFECT, self._descriptor, change.path, text, origin=origin))

    # --- watching -----------------------------------------------------------------------------------------

    def _watched(self, kind: str, steps: list[OperatorStep] | None = None) -> Watched:
        run = CheckedRun(self._descriptor, kind)
        return Watched(self._ledger, run, self._operators, self._places, self._is_input, steps)

    def _is_input(self, tensor: Any) -> bool:
        """Return whether a tensor is an input: a declared one or, if none is declared, no parameter or
        buffer.
        """
        storage = key_of(tensor)
        if self._inputs is not None:
            return storage in self._inputs or storage in self._persistent
        if isinstance(tensor, torch.nn.Parameter):
            self._of_modules.add(storage)
        found = storage not in self._of_modules
        if found:
            self.of_batches.add(storage)
        return found


def _steps_of(graph: Any) -> Iterator[OperatorStep]:
    for record in graph.records:
        read = tuple(use.tensor for use in record.read if use.memory.kind is not Kind.CONSTANT)
        yield OperatorStep(record.name, record.where, read, tuple(use.tensor for use in record.wrote))


def _is_kept_by_module(holder: Any, name: Any) -> bool:
    kept = getattr(holder, "_parameters", {}), getattr(holder, "_buffers", {})
    return any(isinstance(one, dict) and name in one for one in kept)
