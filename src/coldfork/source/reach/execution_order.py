"""The order in which an import runs wakes and other imports, and which wakes always precede others."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from coldfork.model.effects import WAKING, Ahead, Effect, EffectKind
from coldfork.source.evaluation.trace import Link, Site, Wake
from coldfork.source.files.reading import CannotRead
from coldfork.source.program.program import Program
from coldfork.source.reach.propagation import ModuleResult, targets
from coldfork.source.reach.quotations import Quotations
from coldfork.source.syntax.newer.parsing import parse_any


class Event(NamedTuple):
    """A wake or an import of a module, with its index among the module's wakes or imports."""

    is_import: bool
    place: int


class ExecutionOrder:
    """The order of events: during the import of the entries or, without entries, within each module."""

    def __init__(self, results: Mapping[str, ModuleResult], entries: Sequence[str]) -> None:
        self._results = results
        self._turns: dict[tuple[str, Event], int] = {}
        self._counted: set[str] = set()
        if entries:
            self._count(entries)

    def turn(self, module: str, event: Event) -> int:
        """Return the position of an event in the execution order."""
        if module not in self._counted:
            self._counted.add(module)
            for place, one in enumerate(_events(self._results[module])):
                self._turns.setdefault((module, one), place)
        return self._turns[module, event]

    def _count(self, entries: Iterable[str]) -> None:
        """Number the events of an import in Python's order: a module runs at its first import, after its
        packages.
        """
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
        """Yield a module's events in execution order, each import followed by the modules that it may run."""
        result = self._results[module]
        for event in _events(result):
            yield module, event
            if event.is_import:
                yield from targets(result.edges[event.place].edge.target, module)


def _events(result: ModuleResult) -> Iterator[Event]:
    """Yield the wakes and the imports of one module in execution order."""
    wakes = 0
    for index, edge in enumerate(result.edges):
        for wake in range(wakes, edge.behind):
            yield Event(False, wake)
        wakes = max(wakes, edge.behind)
        yield Event(True, index)
    for wake in range(wakes, len(result.sites)):
        yield Event(False, wake)


def sameness(effect: Effect) -> tuple[object, ...]:
    """Return the key by which effects are deduplicated: a line, or for an import the line that it wakes."""
    if effect.imported is None:
        return effect.path, effect.accelerator, effect.line, effect.kind
    waking = next((s for s in reversed(effect.chain.steps) if s.line is not None), effect.chain.sink)
    if waking.path == effect.path:  # the source of the dependency is not at hand
        return effect.path, effect.accelerator, effect.imported.module.partition(".")[0]
    return effect.path, effect.accelerator, effect.imported.own, waking.path, waking.line


def preference(effect: Effect) -> tuple[bool, int, int, int, int]:
    """Return the sort key of effects; the smallest one is reported."""
    depth = {EffectKind.CREATES_CONTEXT: 0, EffectKind.INITIALISES_DRIVER: 1}.get(effect.kind, 2)
    ahead = effect.line if effect.imported is not None else 0
    return (depth == 2, -effect.verdict.rank, ahead, depth, len(effect.chain.steps))


class Preceding:
    """Finds a wake that always comes earlier on the same line of a module."""

    def __init__(self, program: Program, results: Mapping[str, ModuleResult], quotations: Quotations) -> None:
        self._program = program
        self._results = results
        self._quotations = quotations
        self._always_before = AlwaysBefore(program.read_source)

    def of(self, way: Link) -> Ahead | None:
        """Return the wake that always precedes the end of a path, which may lead through imports."""
        above: list[Link] = []
        link: Link | None = way
        while link is not None:
            found = self._first_on(link)
            if found is not None:
                chain = link._replace(following=found.link.following)
                for outer in reversed(above):
                    chain = outer._replace(following=chain)
                return Ahead(found.kind, self._quotations.chain(chain))
            above.append(link)
            link = link.following
        return None

    def _first_on(self, link: Link) -> Wake | None:
        """Return an earlier wake on the line of a link, if this line wakes a device in its module."""
        result = self._results.get(link.module) if link.module is not None else None
        if result is None or link.following is None:
            return None
        alike = [site for site in result.sites if site.line == link.line]
        for index, site in enumerate(alike):
            if site.wake.link.following is link.following:
                return next((one.wake for one in alike[:index] if self._precedes(one, site)), None)
        return None

    def _precedes(self, one: Site, site: Site) -> bool:
        """Return whether one wake is certain to have woken the same device before the other does."""
        if one.wake.accelerator != site.wake.accelerator or (site.certain and not one.certain):
            return False
        if one.wake.kind not in WAKING or site.wake.kind not in WAKING:
            return False
        if not set(one.wake.conditions) <= set(site.wake.conditions):
            return False
        module, earlier, later = _parting(one.wake.link, site.wake.link)
        located = self._program.finder.find(module) if module else None
        return (
            located is not None
            and located.path is not None
            and self._always_before(located.path, earlier, later)
        )


def _parting(one: Link | None, other: Link | None) -> tuple[str, int, int]:
    """Return the module where two paths from one line part, and the line of each path there."""
    while one is not None and other is not None and one.symbol == other.symbol and one.module == other.module:
        if one.line != other.line:
            return one.module or "", one.line or 0, other.line or 0
        one, other = one.following, other.following
    return "", 0, 0


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Expressions whose parts are not always evaluated.
_OPTIONAL = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class AlwaysBefore:
    """Decides whether one line of a file always runs before another; each file is read only once."""

    def __init__(self, read_source: Callable[[str], bytes]) -> None:
        self._read_source = read_source
        self._trees: dict[str, ast.Module | None] = {}

    def __call__(self, path: str, earlier: int, later: int) -> bool:
        """Return True if, in any call of a function, the later line is reached only after the earlier one."""
        tree = self._tree(path)
        if tree is None or earlier >= later:
            return False
        body = _innermost_body(tree, later)
        return body is not None and _leads_past(body, earlier, later)

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                self._trees[path] = parse_any(self._read_source(path))
            except (CannotRead, SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[path] = None
        return self._trees[path]


def _innermost_body(tree: ast.Module, line: int) -> Sequence[ast.stmt] | None:
    """Return the body of the innermost function that contains a line; None outside functions."""
    found: Sequence[ast.stmt] | None = None
    for node in ast.walk(tree):  # a function comes before the functions inside it
        if isinstance(node, _FUNCTIONS) and node.body[0].lineno <= line <= (node.end_lineno or 0):
            found = node.body
    return found


def _leads_past(block: Sequence[ast.stmt], earlier: int, later: int) -> bool:
    """Return whether the later line of a block is reached only after the earlier one has run."""
    for statement in block:
        if _holds(statement, later):
            if _header_runs(statement, earlier):
                return not any(_holds(part, later) for part in _header(statement))
            inside = [block for block in _blocks(statement) if any(_holds(inner, later) for inner in block)]
            return any(_leads_past(block, earlier, later) for block in inside)
        if _header_runs(statement, earlier):
            return True
    return False


def _header_runs(statement: ast.stmt, line: int) -> bool:
    """Return whether everything on a line of a statement is evaluated whenever the statement runs."""
    if any(_holds(inner, line) for block in _blocks(statement) for inner in block):
        return False
    held = [part for part in _header(statement) if _holds(part, line)]
    return bool(held) and all(_is_evaluated(part, line) for part in held)


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are always evaluated, before any block in it."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    if isinstance(statement, (ast.If, ast.While)):
        yield statement.test
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.iter
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from (item.context_expr for item in statement.items)
    elif isinstance(statement, ast.Match):
        yield statement.subject
    elif isinstance(statement, ast.Assert):
        yield statement.test
    elif not any(_blocks(statement)):
        yield from ast.iter_child_nodes(statement)


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Yield the blocks of a compound statement, except those of functions."""
    if isinstance(statement, _FUNCTIONS):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    inner: Iterable[ast.AST] = (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))
    yield from (part.body for part in inner if isinstance(part, (ast.ExceptHandler, ast.match_case)))


def _is_evaluated(part: ast.AST, line: int) -> bool:
    """Return whether evaluating an expression always evaluates all of its parts that are on a line."""
    if not _holds(part, line) or isinstance(part, _OPTIONAL):
        return False
    optional: Sequence[ast.AST] = ()
    if isinstance(part, ast.BoolOp):
        optional = part.values[1:]
    elif isinstance(part, ast.Compare):
        optional = part.comparators[1:]
    elif isinstance(part, ast.IfExp):
        optional = (part.body, part.orelse)
    if any(_holds(one, line) for one in optional):
        return False
    inner = [one for one in ast.iter_child_nodes(part) if _holds(one, line)]
    return all(_is_evaluated(one, line) for one in inner)


def _holds(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last
