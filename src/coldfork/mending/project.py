"""The files of a check as fixes see them: their syntax, and who reads what of whom."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from coldfork.mending.site import Tree, tree_of
from coldfork.mending.text import CannotMend, SourceText
from coldfork.model.findings import Finding
from coldfork.source.program.module import absolute


@dataclass(frozen=True, slots=True)
class Reader:
    """A place in another module that uses a name of this one."""

    path: str
    line: int
    eager: bool
    """True where importing that module reads it."""
    changes: bool = False
    """True where it is bound anew or replaced there."""
    module: str = ""
    node: ast.stmt | ast.expr | None = None
    """None where the file cannot be read."""
    alias: str = ""
    """The name that a `from` import gives it; `*` where it takes all there are."""


@dataclass(frozen=True, slots=True)
class Project:
    """The checked modules."""

    modules: Mapping[str, str]
    """The paths of the files by the names of the modules."""
    read: Callable[[str], bytes]
    """The contents of the file of this path; raises `CannotMend` where it cannot be read."""
    is_question: Callable[[str], bool]
    """Whether calling what has this dotted name asks about devices, and does nothing else."""
    _trees: dict[str, Tree] = field(default_factory=dict, repr=False)

    def tree(self, path: str) -> Tree:
        """The syntax of a file."""
        if path not in self._trees:
            self._trees[path] = tree_of(SourceText(self.read(path)))
        return self._trees[path]

    def readers(self, module: str, name: str) -> Iterator[Reader]:
        """Where other modules use this name of a module; a text that ends in it counts as a change."""
        word, short = name.encode(), module.rpartition(".")[2].encode()
        for other, path in self.modules.items():
            if other == module:
                continue
            try:
                data = self.read(path)
                if (word not in data and b"*" not in data) or short not in data:
                    continue
                tree = self.tree(path)
            except CannotMend:
                yield Reader(path, 1, eager=True)
                continue
            yield from _readers(tree, other, path, module, name)


def _readers(tree: Tree, other: str, path: str, module: str, name: str) -> Iterator[Reader]:
    aliases: set[str] = set()
    short = module.rpartition(".")[2]
    package = other if path.endswith("__init__.py") else other.rpartition(".")[0]
    for node in ast.walk(tree.root):
        if isinstance(node, ast.ImportFrom):
            source = absolute(package, node.module, node.level) if node.level else node.module
            for alias in node.names:
                if source == module and alias.name in (name, "*"):
                    bound = alias.asname or alias.name
                    yield Reader(path, node.lineno, _is_eager(tree, node), False, other, node, bound)
                elif f"{source}.{alias.name}" == module:
                    aliases.add(alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name for alias in node.names if alias.name == module}
    for node in ast.walk(tree.root):
        if isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) in aliases:
            changes = not isinstance(node.ctx, ast.Load)
            yield Reader(path, node.lineno, _is_eager(tree, node), changes, other, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # As `mock.patch` and `setattr` are told of it.
            if (node.value == name and aliases) or node.value.endswith(f"{short}.{name}"):
                yield Reader(path, node.lineno, eager=False, changes=True)


def _is_eager(tree: Tree, node: ast.AST) -> bool:
    """Whether importing the module comes there: a function's body is not run by it, its head is."""
    return not tree.functions(node)


@dataclass(frozen=True, slots=True)
class Case:
    """A finding that is to be mended, in its file."""

    finding: Finding
    tree: Tree
    project: Project
