"""Follows the modules of a request, and tells what is believed at one line."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from coldfork.model.errors import UsageError
from coldfork.model.observations import Belief, Imported, Progress, Touch, Trace, Visit
from coldfork.source.analysis import Ground, Request, at_length, prepare
from coldfork.source.evaluation.trace import Edge, Wake
from coldfork.source.evaluation.tracing import Seen, TracingEvaluator, Watch
from coldfork.source.files.reading import CannotRead
from coldfork.source.program.program import Program
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.results import Results
from coldfork.source.syntax.newer.parsing import parse_any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: The parts of a compound statement that hold statements.
_BLOCKS = ("body", "orelse", "finalbody")


def trace(request: Request, file: Path, line: int, progress: Progress | None = None) -> Trace:
    """Follow the modules, and tell what was believed at a line of a file, which may be a dependency's."""
    alone = replace(request, cache=None, store=None, jobs=1, towards=frozenset())
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
        raise UsageError(f"--trace {shown}: not among the {looked} modules that importing the paths follows")
    told = next((at for at in reversed(around) if any(seen.line == at for seen in watch.seen)), 0)
    seen = [one for one in watch.seen if one.line == told]
    importing = dict.fromkeys(one.importing for one in seen)
    return Trace(
        shown,
        line,
        told,
        lines[(told or line) - 1].strip(),
        tuple(_visits(seen, program, quotations)),
        len(results.by_name),
        _function(statements[:-1]),
        tuple(_unfinished(importing, results, quotations)),
    )


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
    """The statements that a line is a part of, outermost first."""
    pending = [tree]
    while pending:
        for statement in _inside(pending.pop()):
            if _first(statement) <= line <= (statement.end_lineno or statement.lineno):
                yield statement
                pending.append(statement)


def _function(statements: list[ast.stmt]) -> str:
    """The name of the innermost function among these."""
    named = (one.name for one in reversed(statements) if isinstance(one, _FUNCTIONS))
    return next(named, "")


def _inside(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly inside of one."""
    for name in _BLOCKS:
        yield from getattr(node, name, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


def _first(statement: ast.stmt) -> int:
    """The line of the first decorator, where there is one."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _visits(seen: list[Seen], program: Program, quotations: Quotations) -> Iterator[Visit]:
    """The ways in which a line was come to, each once."""
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
            why = f"coldfork itself failed: {cut.fault}" if cut.fault else "its budget had come to an end"
            yield f"following {name} ended at {quotations.path_of(cut.module)}:{cut.line}: {why}"
