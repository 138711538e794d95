"""What happens in code that CUDA graphs capture: every function that captures is followed on its own.

Files that say nothing of captures cost one search for a word. The others are not read again: functions are
parsed one by one, as imports do it, when they capture or are reached from what does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Protocol

from coldfork.model.captures import CaptureEffect, CaptureKind
from coldfork.model.chains import Chain, Step, StepKind
from coldfork.model.effects import Verdict
from coldfork.source.capture.follower import Follower
from coldfork.source.capture.names import Names
from coldfork.source.capture.objects import Func
from coldfork.source.capture.state import Captor, Observed, Spent
from coldfork.source.files.modules_of_tests import is_test
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.semantics.defined_classes import DefinedClasses
from coldfork.source.syntax import capture_hints, nodes
from coldfork.source.syntax.nodes import NO_PARAMETERS, Code, Node, code_of, line_of
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef

#: How many times callers of what captures something unknown are looked for.
_ROUNDS = 2
_COMMON_NAMES = frozenset({"__call__", "forward", "<lambda>", "__enter__", "run", "main", "wrapper"})


class Sources(Protocol):
    """The sources, quoted as reports show them."""

    def path_of(self, module: str) -> str:
        """The path of a module."""

    def text(self, module: str, line: int) -> str:
        """A line of a module."""

    def words_of(self, conditions: tuple[Condition, ...]) -> str | None:
        """Conditions in words."""


class CaptureObserver:
    """Finds the functions that capture, and what happens in what they capture."""

    def __init__(self, program: Program, sources: Sources) -> None:
        self._program = program
        self._sources = sources
        self._classes = DefinedClasses()
        self._seen: set[tuple[str, int]] = set()
        self._bases: frozenset[str] = frozenset()
        """What classes derive from, by the last parts of names."""

    def effects(self, modules: Iterable[str]) -> tuple[CaptureEffect, ...]:
        """What happens in the captured regions of these modules, in the order of their places."""
        states = [state for name in modules if (state := self._program.module(name)) is not None]
        saying = [state for state in states if state.outline.captures]
        if not saying:
            return ()
        self._bases = frozenset(name for names in self._program.derived.values() for name in names)
        observed: list[Observed] = []
        opaque: set[Captor] = set()
        for root in self._capturing(saying):
            observed += self._follow(root, opaque)
        known: set[Captor] = set()
        for _ in range(_ROUNDS):
            wanted = {one for one in opaque if one.name not in _COMMON_NAMES} - known
            if not wanted:
                break
            known |= wanted
            for root in self._callers(wanted, states):
                observed += self._follow(root, opaque)
        return self._effects_of(observed)

    # -- where to begin -----------------------------------------------------------------------------

    def _capturing(self, states: Iterable[Module]) -> Iterator[Func]:
        for state in states:
            source = state.source
            yield from self._around(state, source, capture_hints.places(source))

    def _callers(self, wanted: set[Captor], states: Iterable[Module]) -> Iterator[Func]:
        """Functions that may call what captures something that it was given."""
        calls = capture_hints.calls_of({one.name for one in wanted})
        telltale = frozenset(name for one in wanted for name in (one.symbol, one.module.rpartition(".")[2]))
        for state in states:
            if any(state.name == one.module for one in wanted) or _imports(state, wanted, telltale):
                source = state.source
                yield from self._around(state, source, [match.start() for match in calls.finditer(source)])

    def _around(self, state: Module, source: bytes, offsets: list[int]) -> Iterator[Func]:
        """The functions in which these offsets lie; the module's own code where they lie in none."""
        if not offsets:
            return
        spans = sorted((start, end, line) for line, (start, end) in state.summary.spans.items())
        starts = [start for start, _, _ in spans]
        lines: dict[int, None] = {}
        bare = False
        for offset in offsets:
            index = bisect_right(starts, offset) - 1
            if index >= 0 and offset < spans[index][1]:
                lines[spans[index][2]] = None
            else:
                bare = True
        definitions = dict(_definitions(state, self._classes))
        for line in lines:
            found = definitions.get(line)
            if found is not None:
                yield from self._function(state, *found)
        if bare:
            unblanked = [d for line, d in definitions.items() if line not in state.summary.spans]
            for owner, node in unblanked:
                yield from self._function(state, owner, node)
            yield Func(state, _as_function(state), state.name.rpartition(".")[2], 1)

    def _function(self, state: Module, owner: ClassRef | None, node: Node) -> Iterator[Func]:
        _, line, name, _, _, raw = node
        code = code_of(raw) if raw is not None else state.code_at(line)
        if code is not None:
            yield Func(state, code, name, line, None, owner)

    # -- following ----------------------------------------------------------------------------------

    def _follow(self, root: Func, opaque: set[Captor]) -> list[Observed]:
        if root.place in self._seen:
            return []
        self._seen.add(root.place)
        follower = Follower(Names(self._program, self._classes, self._bases))
        try:
            follower.root(root)
            for nested in follower.run.nested:
                if nested.place not in follower.run.followed:
                    follower.root(nested)
        except (Spent, RecursionError):
            pass
        opaque |= follower.run.opaque
        return follower.run.observed

    # -- what was observed --------------------------------------------------------------------------

    def _effects_of(self, observed: list[Observed]) -> tuple[CaptureEffect, ...]:
        """Each thing once, by its surest and shortest way."""
        best: dict[tuple[object, ...], Observed] = {}
        for one in observed:
            key: tuple[object, ...] = (one.kind, *one.culprit)
            if one.kind in (CaptureKind.REUSES_STATE, CaptureKind.NOT_WARMED_UP):
                key = (*key, one.region.module, one.region.line)
            known = best.get(key)
            if known is None or _order(one) < _order(known):
                best[key] = one
        effects = [self._effect(one) for one in best.values()]
        return tuple(sorted(effects, key=lambda e: (e.path, e.line, e.kind, e.culprit[1] or 0)))

    def _effect(self, one: Observed) -> CaptureEffect:
        sources, region = self._sources, one.region
        path = sources.path_of(region.module)
        text = sources.text(region.module, region.line)
        steps = [Step(StepKind.CAPTURE, region.captor.symbol, path, region.line, text)]
        for index, step in enumerate(one.steps):
            if index == 0 and (step.module, step.line) == (region.module, region.line) and len(one.steps) > 1:
                continue
            where = sources.path_of(step.module)
            steps.append(
                Step(StepKind.CALL, step.symbol, where, step.line, sources.text(step.module, step.line))
            )
        steps.append(Step(StepKind.SINK, one.sink))
        return CaptureEffect(
            kind=one.kind,
            verdict=_verdict(one),
            module=region.module,
            path=path,
            line=region.line,
            end_line=max(region.end, region.line),
            column=region.column,
            text=text,
            captor=region.captor.symbol,
            chain=Chain(tuple(steps)),
            what=one.what,
            earlier=(sources.path_of(one.earlier[0]), one.earlier[1]) if one.earlier else None,
            condition=sources.words_of(one.conditions) if one.conditions else None,
            test=is_test(region.module, path),
        )


def _verdict(one: Observed) -> Verdict:
    if one.possible:
        return Verdict.POSSIBLE
    return Verdict.CONDITIONAL if one.conditions else Verdict.CERTAIN


def _order(one: Observed) -> tuple[object, ...]:
    """Smaller is the way to sources."""
    return one.possible, len(one.conditions), len(one.steps), one.region.module, one.region.line


def _definitions(
    state: Module, classes: DefinedClasses
) -> Iterator[tuple[int, tuple[ClassRef | None, Node]]]:
    """The functions of a module and of its classes, by the line of their `def`."""
    pending: list[tuple[ClassRef | None, dict[str, tuple[Node, ...]]]] = [(None, state.summary.binds)]
    while pending:
        owner, binds = pending.pop()
        for entries in binds.values():
            for how, payload, _line, _guards in entries:
                if how == nodes.BY_DEF:
                    yield line_of(payload), (owner, payload)
                elif how == nodes.BY_CLASS:
                    within = owner.qualified if owner is not None else ""
                    cls = classes.of(state, payload, None, within)
                    pending.append((cls, cls.binds))


def _as_function(state: Module) -> Code:
    """A module's own statements as the body of a function."""
    return Code(NO_PARAMETERS, state.summary.body, False, False, state.name, 1, None, ())


def _imports(state: Module, wanted: set[Captor], telltale: frozenset[str]) -> bool:
    """True when a module imports one of these by name, or the module that has it."""
    for source, level, names in state.outline.imports:
        if names is None:
            if any(source == one.module for one in wanted):
                return True
        elif not telltale.isdisjoint(names):
            target = state.absolute(source, level)
            for one in wanted:
                if one.symbol in names or f"{target}.{one.module.rpartition('.')[2]}" == one.module:
                    return True
    return False
