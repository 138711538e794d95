"""The node of a finding in the syntax of its file, with the nodes and scopes around it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from coldfork.mending.text import CannotMend, SourceText

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.Lambda | ast.ClassDef | ast.Module
Node = TypeVar("Node", bound=ast.AST)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Use:
    """A place where a name is read, bound or deleted."""

    node: ast.Name
    deferred: bool
    """True inside a function's body, which importing the module does not run by itself."""
    functions: tuple[Function | ast.Lambda, ...]
    """The functions whose bodies contain the name, the outermost first."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The syntax of a module."""

    source: SourceText
    root: ast.Module
    parents: dict[ast.AST, ast.AST] = field(repr=False)
    by_kind: dict[type[ast.AST], list[ast.AST]] = field(repr=False)

    def nodes(self, kind: type[Node]) -> Sequence[Node]:
        """Return the nodes of a class, in the order of `ast.walk`."""
        return cast(Sequence[Node], self.by_kind.get(kind, ()))

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that contain a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.expr | ast.stmt) -> ast.stmt:
        """Return the innermost statement that contains a node or is the node."""
        return next(each for each in (node, *self.above(node)) if isinstance(each, ast.stmt))

    def top(self, node: ast.expr | ast.stmt) -> ast.stmt:
        """Return the module-level statement that contains a node or is the node."""
        statements = [each for each in (node, *self.above(node)) if isinstance(each, ast.stmt)]
        return statements[-1]

    def scope(self, node: ast.AST) -> Scope:
        """Return the scope in which a node binds or reads names."""
        below = node
        for each in self.above(node):
            if isinstance(each, ast.ClassDef) and below in each.body:
                return each
            if isinstance(each, _FUNCTIONS) and _is_in_body(below, each):
                return each
            below = each
        return self.root

    def place(self, line: int, column: int) -> ast.expr | ast.stmt:
        """Return the node that begins at this position, or else the innermost statement on the line."""
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
            raise CannotMend("its line is no longer in the file")
        return found

    def uses(self, name: str) -> list[Use]:
        """Return the uses of a module-level name; local names of functions with the same spelling do not
        count.
        """
        found = []
        for node in self.nodes(ast.Name):
            if node.id == name and self._is_of_module(node):
                functions = self.functions(node)
                found.append(Use(node, bool(functions), functions))
        return found

    def functions(self, node: ast.AST) -> tuple[Function | ast.Lambda, ...]:
        """Return the functions whose bodies contain a node, the outermost first."""
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
    """Parse a file and return its syntax."""
    try:
        root = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CannotMend("the file cannot be parsed") from None
    parents: dict[ast.AST, ast.AST] = {}
    by_kind: dict[type[ast.AST], list[ast.AST]] = {}
    waiting: deque[ast.AST] = deque([root])
    while waiting:
        node = waiting.popleft()
        by_kind.setdefault(type(node), []).append(node)
        for child in ast.iter_child_nodes(node):
            parents[child] = node
            waiting.append(child)
    return Tree(source, root, parents, by_kind)


def _is_in_body(node: ast.AST, function: Function | ast.Lambda) -> bool:
    """Return whether a node is evaluated when the function is called, and not when it is defined."""
    return node is function.body if isinstance(function, ast.Lambda) else node in function.body


def bound(scope: Scope) -> frozenset[str]:
    """Return the names that a scope itself binds, including parameters, but not those declared global."""
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
    """Yield the nodes of a scope's body, except those of the scopes inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            # Names bound in this body belong to its own scope; only its decorators are evaluated in this one.
            waiting += getattr(node, "decorator_list", [])
            continue
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not (isinstance(node, _COMPREHENSIONS) and isinstance(child, ast.comprehension))
        ]


def is_target(tree: Tree, node: ast.Name) -> bool:
    """Return whether a comprehension around the name binds it."""
    return any(isinstance(each, _COMPREHENSIONS) and node.id in _targets(each) for each in tree.above(node))


def _targets(comprehension: ast.AST) -> set[str]:
    return {
        name.id
        for generator in getattr(comprehension, "generators", ())
        for name in ast.walk(generator.target)
        if isinstance(name, ast.Name)
    }


def bindings(tree: Tree, name: str, within: ast.AST | None = None) -> int:
    """Return how often a module-level name is bound anywhere; each `global` statement also counts.

    With `within`, count only inside that statement.
    """
    count = sum(name in node.names for node in tree.nodes(ast.Global) if _is_within(tree, node, within))
    found: list[ast.AST] = [
        node for node in tree.nodes(ast.Name) if node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    found += (
        alias for alias in tree.nodes(ast.alias) if (alias.asname or alias.name).partition(".")[0] == name
    )
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler):
        found += (node for node in tree.nodes(kind) if getattr(node, "name", "") == name)
    return count + sum(tree.scope(node) is tree.root and _is_within(tree, node, within) for node in found)


def _is_within(tree: Tree, node: ast.AST, within: ast.AST | None) -> bool:
    return within is None or node is within or within in tree.above(node)


def target_of(statement: ast.stmt) -> str | None:
    """Return the single name that an assignment binds; None for any other statement."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or len(targets) != 1:
        return None
    return targets[0].id if isinstance(targets[0], ast.Name) else None


def refuse_hidden(expression: ast.expr, function: Function, also: frozenset[str] = frozenset()) -> None:
    """Refuse to move an expression into a function in which its names would have other meanings."""
    hidden = bound(function) | also
    for name in loads(expression):
        if name.id in hidden:
            raise CannotMend(f"`{name.id}` means something else in the body of {function.name}")


def loads(node: ast.AST) -> list[ast.Name]:
    """Return the names that an expression reads."""
    return [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
