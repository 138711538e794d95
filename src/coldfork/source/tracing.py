"""Follows the modules of a request, and reports the values that the evaluator finds at one line."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from coldfork.model.errors import UsageError
from coldfork.model.observations import Progress
from coldfork.model.terms.traces import Belief, Imported, Touch, Trace, Visit
from coldfork.source.analysis import Ground, Request, at_length, prepare
from coldfork.source.evaluation.evaluator import Evaluator
from coldfork.source.evaluation.flow.branches import BREAKS, CONTINUES, RETURNS
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.trace import Edge, Wake
from coldfork.source.files.reading import CannotRead
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.results import Results
from coldfork.source.syntax import nodes
from coldfork.source.syntax.newer.parsing import parse_any
from coldfork.source.syntax.nodes import Block, Node, line_of
from coldfork.source.values.conditions import Condition, Conditions
from coldfork.source.values.kinds import Env, Value
from coldfork.source.values.wording import Wording, in_words, spelled

_ENDS = {RETURNS: "returns", BREAKS: "leaves the loop", CONTINUES: "goes on to the next iteration"}
_MOST_VALUES = 3
"""At most this many values of an expression are reported, because a loop may give it a thousand."""


class Seen:
    """One visit of a statement, and the values that expressions had then."""

    def __init__(self, importing: str, frame: Frame, line: int, looked_up: bool = False) -> None:
        self.importing = importing
        self.frame: Frame | None = frame
        self.line = line
        self.function: str = frame.symbol
        self.conditions: Conditions = frame.conditions
        self.presumed: tuple[str, ...] = frame.presumed
        self.off: Condition | None = frame.off
        self.looked_up = looked_up
        self.beliefs: dict[str, list[str]] = {}
        self.wakes: list[tuple[Wake, bool]] = []
        self.edges: list[Edge] = []
        self.ended = ""

    def believe(self, text: str, value: str) -> None:
        """Record a value that an expression may have."""
        held = self.beliefs.setdefault(text, [])
        if value not in held and len(held) <= _MOST_VALUES:
            held.append("and others" if len(held) == _MOST_VALUES else value)


class Watch:
    """The lines to watch, and the recorded visits of their statements."""

    def __init__(self, path: str, lines: frozenset[int], words_of: Wording) -> None:
        self.path = path
        self.lines = lines
        self.words_of = words_of
        self.seen: list[Seen] = []


class TracingEvaluator(Evaluator):
    """An evaluator that runs blocks with a watched line statement by statement, and records each visit."""

    def __init__(self, program: Program, watch: Watch) -> None:
        super().__init__(program)
        self._watch = watch
        self._at: Seen | None = None

    def execute(self, frame: Frame, block: Block) -> int:
        """Run a block; return how it ended."""
        if frame.module.path != self._watch.path:
            return super().execute(frame, block)
        for node in block:
            ended = self._step(frame, node)
            if ended:
                return ended
        return 0

    def evaluate(self, frame: Frame, node: Node) -> Value:
        """Return the value of an expression."""
        at = self._at
        value = super().evaluate(frame, node)
        if at is not None and at.frame is frame:
            self._believe(at, node, value)
        return value

    def quietly(self, module: Module, env: Env | None, node: Node, before: int = 0) -> Value:
        """Return the value of an expression whose effects are reported elsewhere."""
        value = super().quietly(module, env, node, before)
        if before in self._watch.lines and module.path == self._watch.path:
            seen = Seen(self._importing, Frame(module, env), before, looked_up=True)
            seen.believe("its value", in_words(value, self._watch.words_of))
            self._watch.seen.append(seen)
        return value

    @property
    def _importing(self) -> str:
        return "" if self.running.module is None else self.running.module.name

    def _step(self, frame: Frame, node: Node) -> int:
        """Run one statement, and record the visit if its line is watched."""
        outer, self._at = self._at, None
        if line_of(node) not in self._watch.lines or frame.quiet:
            try:
                return super().execute(frame, (node,))
            finally:
                self._at = outer
        seen = self._at = Seen(self._importing, frame, line_of(node))
        sites, wakes = len(frame.sites), set(frame.wakes)
        imports, edges = len(frame.site_edges), set(frame.edges)
        try:
            ended = super().execute(frame, (node,))
            seen.ended = _ENDS.get(ended, "")
            return ended
        except Raised as problem:
            seen.ended = f"raises {problem.kind}"
            raise
        finally:
            self._at = outer
            seen.frame = None
            seen.wakes = [
                *((site.wake, site.certain) for site in frame.sites[sites:]),
                *((wake, False) for key, wake in frame.wakes.items() if key not in wakes),
            ]
            seen.edges = [
                *(one.edge for one in frame.site_edges[imports:]),
                *(edge for target, edge in frame.edges.items() if target not in edges),
            ]
            self._watch.seen.append(seen)

    def _believe(self, seen: Seen, node: Node, value: Value) -> None:
        text = spelled(node)
        if node[0] != nodes.CONST and text != "...":
            seen.believe(text, in_words(value, self._watch.words_of))


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: The parts of a compound statement that contain statements.
_BLOCKS = ("body", "orelse", "finalbody")


def trace(request: Request, file: Path, line: int, progress: Progress | None = None) -> Trace:
    """Follow the modules, and report the values at a line of a file, which may belong to a dependency."""
    alone = request._replace(cache=None, store=None, jobs=1, towards=None)
    return at_length(lambda: _trace(alone, file, line, progress))


def _trace(request: Request, file: Path, line: int, progress: Progress | None) -> Trace:
    ground = prepare(request)
    program, found = ground.program, ground.found
    path, shown = os.path.abspath(file), str(file)
    source = _source(ground, path, shown)
    lines = source.split("\n")
    if not 0 < line <= len(lines):
        raise UsageError(f"--trace {shown}:{line}: the file has {len(lines)} lines")
    statements = list(_statements_around(_parsed(source, shown), line))
    around = [statement.lineno for statement in statements]
    quotations = Quotations(program, found.display)
    watch = Watch(path, frozenset(around), quotations.words_of)
    results = Results(program, ground.loader, {}, ground.faults, partial(TracingEvaluator, watch=watch))
    try:
        results.evaluate(list(ground.request.entries or found.files), progress, found.files)
    finally:
        ground.loader.close()
    if path not in {module.path for module in program.loaded()}:
        looked = len(results.by_name)
        raise UsageError(f"--trace {shown}: not among the {looked} modules that importing the paths loads")
    told = next((at for at in reversed(around) if any(seen.line == at for seen in watch.seen)), 0)
    seen = [one for one in watch.seen if one.line == told]
    importing = dict.fromkeys(one.importing for one in seen)
    text, within = lines[(told or line) - 1].strip(), _function(statements[:-1])
    visits, left = (
        tuple(_visits(seen, program, quotations)),
        tuple(_unfinished(importing, results, quotations)),
    )
    return Trace(shown, line, told, text, visits, len(results.by_name), within, left)


def _source(ground: Ground, path: str, shown: str) -> str:
    try:
        return ground.program.read_source(path).decode("utf-8", "replace")
    except CannotRead as problem:
        raise UsageError(f"--trace {shown}: {problem.reason}") from None


def _parsed(source: str, shown: str) -> ast.Module:
    try:
        return parse_any(source.encode("utf-8", "surrogatepass"))
    except (SyntaxError, ValueError) as problem:
        raise UsageError(f"--trace {shown}: this file does not parse: {problem}") from None


def _statements_around(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """Yield the statements that contain a line, the outermost first."""
    pending = [tree]
    while pending:
        for statement in _inside(pending.pop()):
            if _first(statement) <= line <= (statement.end_lineno or statement.lineno):
                yield statement
                pending.append(statement)


def _function(statements: list[ast.stmt]) -> str:
    """Return the name of the innermost function among these statements; empty if there is none."""
    named = (one.name for one in reversed(statements) if isinstance(one, _FUNCTIONS))
    return next(named, "")


def _inside(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements directly inside a statement."""
    for name in _BLOCKS:
        yield from getattr(node, name, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


def _first(statement: ast.stmt) -> int:
    """Return the first line of a statement, including its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _visits(seen: list[Seen], program: Program, quotations: Quotations) -> Iterator[Visit]:
    """Yield the different visits of a line, each with the number of times it occurred."""
    counted: dict[Visit, int] = {}
    for one in seen:
        visit = _visit(one, program, quotations)
        counted[visit] = counted.get(visit, 0) + 1
    for visit, times in counted.items():
        yield replace(visit, times=times)


def _visit(seen: Seen, program: Program, quotations: Quotations) -> Visit:
    beliefs = (Belief(text, "; then ".join(values)) for text, values in seen.beliefs.items() if text)
    return Visit(
        importing=seen.importing,
        function=seen.function,
        condition=quotations.words_of(seen.conditions),
        presumed=seen.presumed,
        nominal=seen.off is None,
        looked_up=seen.looked_up,
        beliefs=tuple(beliefs),
        touches=tuple(dict.fromkeys(_touch(*one, quotations) for one in seen.wakes)),
        imports=tuple(dict.fromkeys(_imported(edge, program, quotations) for edge in seen.edges)),
        ended=seen.ended,
    )


def _touch(wake: Wake, certain: bool, quotations: Quotations) -> Touch:
    symbol = quotations.chain(wake.link).symbols[-1]
    return Touch(wake.kind.value, wake.accelerator, symbol, certain, quotations.words_of(wake.conditions))


def _imported(edge: Edge, program: Program, quotations: Quotations) -> Imported:
    return Imported(edge.target, program.exists(edge.target), quotations.words_of(edge.conditions))


def _unfinished(importing: dict[str, None], results: Results, quotations: Quotations) -> Iterator[str]:
    for name in importing:
        result = results.by_name.get(name)
        for cut in result.cuts if result is not None else ():
            why = f"coldfork itself failed: {cut.fault}" if cut.fault else "its budget had run out"
            yield f"following {name} ended at {quotations.path_of(cut.module)}:{cut.line}: {why}"
