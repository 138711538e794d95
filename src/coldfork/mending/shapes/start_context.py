"""A start of processes that uses the global start method, changed to use a context of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from coldfork.mending.draft import Draft, with_import
from coldfork.mending.project import Case
from coldfork.mending.site import Tree
from coldfork.mending.text import CannotMend, Replacement

_STATED = re.compile(r'get_context\("(\w+)"\)')
_PACKAGES = frozenset({"multiprocessing", "torch.multiprocessing"})
_STARTING = frozenset({"Pool", "Process"})
#: Objects that belong to a context, and must not be passed to processes with another start method.
_MADE = _STARTING | {
    *("Array", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock", "Manager"),
    *("Pipe", "Queue", "RLock", "Semaphore", "SimpleQueue", "Value"),
}
_METHODS = frozenset({("get_context", "method"), ("DataLoader", "multiprocessing_context")})
"""Functions and their arguments that name a start method."""
_AT = 5
"""The place of a loader's number of workers among its arguments."""
_READ = (ast.Name, ast.Attribute)
_PICKLED = "everything passed to a fresh child has to be picklable"


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """State the start method where processes are made, and where the objects passed to them are."""
    tree = case.tree
    method = _method(case)
    for scope in _makers(tree, node):
        made = dict(_made(tree, scope, method)) | dict(_restated(tree, scope, method))
        if any(made.values()):
            break
    else:
        raise CannotMend("the processes are made in another file, or by a class of its own")
    against = _PICKLED if method != "fork" else "what the processes inherit is not examined"
    return Draft(_edits(tree, list(made)), (against,))


def draft_shared(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Make the queues and locks that a fresh process gets from a context of its method."""
    tree = case.tree
    stated = {method for _, method in _stated(tree.root)} - {"fork"}
    if len(stated) != 1:
        raise CannotMend("the file does not name the start method of the process")
    method = stated.pop()
    for scope in _makers(tree, node):
        made = [each for each, starts in _made(tree, scope, method) if not starts]
        if made:
            return Draft(_edits(tree, made), ("forked processes may share them, too",))
    raise CannotMend("what the process gets is made in another file, or by a class of its own")


def draft_unset(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Remove the call that sets the method, and use a context for all objects that depend on the method."""
    tree = case.tree
    method, statement = _method(case), tree.statement(node)
    if not isinstance(statement, ast.Expr):
        raise CannotMend("the call is part of another statement")
    made = dict(_made(tree, tree.root, method))
    gone = Replacement(*tree.source.span(statement), "pass")
    body = getattr(tree.parents[statement], "body", [])
    comment = tree.source.comment_behind(statement)
    if len(body) > 1 and not comment:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        gone = Replacement(tree.source.line_start(first), tree.source.line_start(last + 1), "")
    edits = (gone, *_edits(tree, list(made)))
    if not any(made.values()):
        return Draft(edits, shown=f'everything that relies on the method "{method}" is made in other modules')
    return Draft(edits, ("other modules may rely on the method that is set here",))


def _makers(tree: Tree, node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    """Yield the function that starts processes, and then those that made what it starts: they assign a
    variable that it names, or are called for one.
    """
    functions = tree.functions(node)
    yield functions[0] if functions else tree.root
    header = [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)] or [node]
    named = {ast.unparse(each) for part in header for each in ast.walk(part) if isinstance(each, _READ)}
    calls = [each for part in header for each in ast.walk(part) if isinstance(each, ast.Call)]
    for each in tree.nodes(ast.Assign):
        if named & {ast.unparse(target) for target in each.targets} and isinstance(each.value, ast.Call):
            calls.append(each.value)
            yield from tree.functions(each)[:1]
    called = {ast.unparse(each.func).removeprefix("self.") for each in calls}
    yield from (each for each in tree.nodes(ast.FunctionDef) if each.name in called)


def _method(case: Case) -> str:
    match = _STATED.search(case.finding.remedy)
    if match is None:
        raise CannotMend("the right start method is unknown")
    return match[1]


def _edits(tree: Tree, made: list[Replacement]) -> tuple[Replacement, ...]:
    needs_import = any("multiprocessing.get_context" in each.text for each in made)
    return (*made, *(with_import(tree, "multiprocessing") if needs_import else ()))


def _made(tree: Tree, scope: ast.AST, method: str) -> Iterator[tuple[Replacement, bool]]:
    """Yield the replacements that make objects from a context, each with whether its object starts
    processes.
    """
    packages = dict(_imported(tree))
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        function, source = node.func, tree.source
        if isinstance(function, ast.Attribute):
            package = ast.unparse(function.value)
            if function.attr in _MADE and packages.get(package) in _PACKAGES:
                _, end = source.span(function.value)
                yield Replacement(end, end, f'.get_context("{method}")'), function.attr in _STARTING
        elif isinstance(function, ast.Name) and function.id in packages:
            package, _, name = packages[function.id].rpartition(".")
            if name in _MADE and package in _PACKAGES:
                text = f'multiprocessing.get_context("{method}").{name}'
                yield Replacement(*source.span(function), text), name in _STARTING
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name == "ProcessPoolExecutor":
            yield from _told(tree, node, f'mp_context=multiprocessing.get_context("{method}")')
        elif name == "DataLoader" and (workers := _workers(tree, node)):
            # A loader without workers refuses a context.
            needs = "" if workers.isdigit() else f" if {workers} else None"
            yield from _told(tree, node, f'multiprocessing_context="{method}"{needs}')


def _restated(tree: Tree, scope: ast.AST, method: str) -> Iterator[tuple[Replacement, bool]]:
    """Yield the replacements of another method that a context or a loader is given by name."""
    for value, stated in _stated(scope):
        yield Replacement(*tree.source.span(value), f'"{method}"'), stated != method


def _stated(scope: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield each start method that a context or a loader is given by name."""
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = node.args[:1] if name == "get_context" else []
        given += [each.value for each in node.keywords if (name, each.arg) in _METHODS]
        for value in given:
            if isinstance(value, ast.Constant) and value.value in ("fork", "forkserver", "spawn"):
                yield value, str(value.value)


def _workers(tree: Tree, call: ast.Call) -> str:
    """Return the number of workers that a loader is given; empty if it has none, or they are not plain."""
    given = [each.value for each in call.keywords if each.arg == "num_workers"] or call.args[_AT : _AT + 1]
    is_plain = given and isinstance(given[0], (ast.Name, ast.Attribute, ast.Constant))
    text = tree.source.of(given[0]) if is_plain else ""
    return "" if text == "0" else text


def _told(tree: Tree, call: ast.Call, argument: str) -> Iterator[tuple[Replacement, bool]]:
    """Yield the insertion of an argument, unless the call already has it."""
    if any(each.arg in (None, argument.partition("=")[0]) for each in call.keywords):
        return
    given = [tree.source.span(each)[1] for each in (*call.args, *(one.value for one in call.keywords))]
    if given:
        yield Replacement(max(given), max(given), f", {argument}"), True
    else:
        last = tree.source.span(call)[1] - 1
        yield Replacement(last, last, argument), True


def _imported(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield each name that imports bind, and the full name of its object."""
    for node in ast.walk(tree.root):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
