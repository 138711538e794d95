"""The place of a finding in the syntax of its file, and what stands around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from coldfork.mending.text import CannotMend, SourceText

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.Lambda | ast.ClassDef | ast.Module
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Use:
    """A name that is read, bound or deleted."""

    node: ast.Name
    deferred: bool
    """True inside a function's body: nobody gets there by importing the module alone."""
    functions: tuple[Function | ast.Lambda, ...]
    """The functions whose bodies it stands in, the outermost first."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A module's syntax."""

    source: SourceText
    root: ast.Module
    parents: dict[ast.AST, ast.AST] = field(repr=False)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that a node stands in, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.expr | ast.stmt) -> ast.stmt:
        """The innermost statement that a node is, or stands in."""
        return next(each for each in (node, *self.above(node)) if isinstance(each, ast.stmt))

    def top(self, node: ast.expr | ast.stmt) -> ast.stmt:
        """The statement of the module itself that a node is, or stands in."""
        statements = [each for each in (node, *self.above(node)) if isinstance(each, ast.stmt)]
        return statements[-1]

    def scope(self, node: ast.AST) -> Scope:
        """The scope whose names a node binds."""
        below = node
        for each in self.above(node):
            if isinstance(each, ast.ClassDef) and below in each.body:
                return each
            if isinstance(each, _FUNCTIONS) and _is_in_body(below, each):
                return each
            below = each
        return self.root

    def place(self, line: int, column: int) -> ast.expr | ast.stmt:
        """The innermost node that begins there, or in the widest sense the statement of that line."""
        found: ast.expr | ast.stmt | None = None
        for node in ast.walk(self.root):
            if isinstance(node, (ast.expr, ast.stmt)) and (node.lineno, node.col_offset) == (line, column):
                found = found or node
        if found is not None:
            return found
        for node in ast.walk(self.root):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                found = node
        if found is None:
            raise CannotMend("its line is not in the file any more")
        return found

    def uses(self, name: str) -> list[Use]:
        """Where the module's own name of that spelling is used: not a local one of a function."""
        found = []
        for node in ast.walk(self.root):
            if isinstance(node, ast.Name) and node.id == name and self._is_of_module(node):
                functions = self.functions(node)
                found.append(Use(node, bool(functions), functions))
        return found

    def functions(self, node: ast.AST) -> tuple[Function | ast.Lambda, ...]:
        """The functions whose bodies a node stands in, the outermost first."""
        found: list[Function | ast.Lambda] = []
        below = node
        for each in self.above(node):
            if isinstance(each, _FUNCTIONS) and _is_in_body(below, each):
                found.insert(0, each)
            below = each
        return tuple(found)

    def _is_of_module(self, node: ast.Name) -> bool:
        below: ast.AST = node
        for each in self.above(node):
            if isinstance(each, _FUNCTIONS) and _is_in_body(below, each) and node.id in bound(each):
                return False
            if isinstance(each, ast.ClassDef) and self.scope(node) is each and node.id in bound(each):
                return False
            if isinstance(each, _COMPREHENSIONS) and node.id in _targets(each):
                return False
            below = each
        return True


def tree_of(source: SourceText) -> Tree:
    """Parse a file."""
    try:
        root = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CannotMend("the file cannot be parsed") from None
    parents = {child: node for node in ast.walk(root) for child in ast.iter_child_nodes(node)}
    return Tree(source, root, parents)


def _is_in_body(node: ast.AST, function: Function | ast.Lambda) -> bool:
    """Whether a child of a function is run by a call; its arguments and decorators are not."""
    return node is function.body if isinstance(function, ast.Lambda) else node in function.body


def bound(scope: Scope) -> frozenset[str]:
    """The names that are bound in a scope itself, its parameters among them; not those it says are global."""
    names: set[str] = set()
    elsewhere: set[str] = set()
    if isinstance(scope, _FUNCTIONS):
        arguments = scope.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg]
        names |= {argument.arg for argument in (*every, arguments.kwarg) if argument is not None}
    body = [scope.body] if isinstance(scope, ast.Lambda) else scope.body
    for node in _own(body):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere |= set(node.names)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return frozenset(names - elsewhere)


def _own(body: list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """The nodes of a body, but for those of scopes inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            # What is bound in its body is its own; only its decorators are evaluated here.
            waiting += getattr(node, "decorator_list", [])
            continue
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not (isinstance(node, _COMPREHENSIONS) and isinstance(child, ast.comprehension))
        ]


def is_target(tree: Tree, node: ast.Name) -> bool:
    """Whether a comprehension around a name binds it."""
    return any(isinstance(each, _COMPREHENSIONS) and node.id in _targets(each) for each in tree.above(node))


def _targets(comprehension: ast.AST) -> set[str]:
    return {
        name.id
        for generator in getattr(comprehension, "generators", ())
        for name in ast.walk(generator.target)
        if isinstance(name, ast.Name)
    }


def bindings(tree: Tree, name: str, within: ast.AST | None = None) -> int:
    """How often the module binds a name of its own, in whatever way; a `global` elsewhere counts, too.

    Within a statement of it, where one is given.
    """
    count = 0
    for node in ast.walk(within or tree.root):
        if isinstance(node, ast.Global):
            count += name in node.names
        elif isinstance(node, ast.Name):
            count += node.id == name and not isinstance(node.ctx, ast.Load) and tree.scope(node) is tree.root
        elif isinstance(node, ast.alias):
            is_it = (node.asname or node.name).partition(".")[0] == name
            count += is_it and tree.scope(node) is tree.root
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            count += node.name == name and tree.scope(node) is tree.root
    return count


def target_of(statement: ast.stmt) -> str | None:
    """The one name that an assignment binds; None where it is no such assignment."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or len(targets) != 1:
        return None
    return targets[0].id if isinstance(targets[0], ast.Name) else None


def refuse_hidden(expression: ast.expr, function: Function, also: frozenset[str] = frozenset()) -> None:
    """Refuse to move an expression into a function where its names would mean something else."""
    hidden = bound(function) | also
    for name in loads(expression):
        if name.id in hidden:
            raise CannotMend(f"`{name.id}` means something else in the body of {function.name}")


def loads(node: ast.AST) -> list[ast.Name]:
    """The names that an expression reads."""
    return [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
