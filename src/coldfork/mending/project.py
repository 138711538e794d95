"""The files of a check as fixes need them: their syntax, and which code reads which names."""

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
    """A place in a module that uses a name of another module."""

    path: str
    line: int
    eager: bool
    """True if importing that module reads it."""
    changes: bool = False
    """True if the code there rebinds or replaces the name."""
    module: str = ""
    node: ast.stmt | ast.expr | None = None
    """The place's node; None if the file cannot be read."""
    alias: str = ""
    """The name that a `from` import gives it; `*` for a star import."""


@dataclass(frozen=True, slots=True)
class Project:
    """The checked modules, with access to their syntax."""

    modules: Mapping[str, str]
    """The paths of the files by the names of the modules."""
    read: Callable[[str], bytes]
    """Returns the content of the file at this path; raises `CannotMend` if it cannot be read."""
    is_question: Callable[[str], bool]
    """Returns whether a call of this dotted name merely queries devices, without side effects."""
    _trees: dict[str, Tree] = field(default_factory=dict, repr=False)

    def tree(self, path: str) -> Tree:
        """Return the parsed syntax of a file."""
        if path not in self._trees:
            self._trees[path] = tree_of(SourceText(self.read(path)))
        return self._trees[path]

    def importer(self, module: str) -> str | None:
        """Return the path of a file that imports a module; None if no other file does."""
        short = module.rpartition(".")[2].encode()
        for other, path in self.modules.items():
            if other == module or short not in self.read(path):
                continue
            if any(
                each == module or each.startswith(f"{module}.")
                for each in _imported(self.tree(path), other, path)
            ):
                return path
        return None

    def readers(self, module: str, name: str) -> Iterator[Reader]:
        """Yield each use of a module's name in other modules; a string that ends with the name counts as a
        change.
        """
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


def _imported(tree: Tree, module: str, path: str) -> Iterator[str]:
    """Yield the full name of each module and object that a module imports."""
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in tree.nodes(ast.ImportFrom):
        source = absolute(package, node.module, node.level) if node.level else node.module
        yield from (f"{source}.{alias.name}" for alias in node.names)
    for imports in tree.nodes(ast.Import):
        yield from (alias.name for alias in imports.names)


def _readers(tree: Tree, other: str, path: str, module: str, name: str) -> Iterator[Reader]:
    aliases: set[str] = set()
    short = module.rpartition(".")[2]
    package = other if path.endswith("__init__.py") else other.rpartition(".")[0]
    for node in tree.nodes(ast.ImportFrom):
        source = absolute(package, node.module, node.level) if node.level else node.module
        for alias in node.names:
            if source == module and alias.name in (name, "*"):
                bound = alias.asname or alias.name
                yield Reader(path, node.lineno, _is_eager(tree, node), False, other, node, bound)
            elif f"{source}.{alias.name}" == module:
                aliases.add(alias.asname or alias.name)
    for imports in tree.nodes(ast.Import):
        aliases |= {alias.asname or alias.name for alias in imports.names if alias.name == module}
    for use in tree.nodes(ast.Attribute) if aliases else ():
        if use.attr == name and ast.unparse(use.value) in aliases:
            changes = not isinstance(use.ctx, ast.Load)
            yield Reader(path, use.lineno, _is_eager(tree, use), changes, other, use)
    for text in tree.nodes(ast.Constant):
        # `mock.patch` and `setattr` take names as strings.
        if isinstance(text.value, str) and (
            (text.value == name and aliases) or text.value.endswith(f"{short}.{name}")
        ):
            yield Reader(path, text.lineno, eager=False, changes=True)


def _is_eager(tree: Tree, node: ast.AST) -> bool:
    """Return whether importing the module evaluates the node, so that it is in no function's body."""
    return not tree.functions(node)


@dataclass(frozen=True, slots=True)
class Case:
    """A finding that has to be mended, with the syntax of its file."""

    finding: Finding
    tree: Tree
    project: Project
