"""The contents of one Python file: its imports wherever they are, its strings, the modules it starts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

_IMPORT = re.compile(
    r"\b(?:from\s+([\w.]+)\s+)?import\s+([\w.]+(?:\s+as\s+\w+)?(?:,\s*[\w.]+(?:\s+as\s+\w+)?)*)"
)
_SAID = re.compile(r"(?:^|(?<=coldfork ))[a-z]+(?= |$)", re.MULTILINE)


@dataclass(frozen=True)
class Imported:
    """One `import`: the module, and the names taken from it (none: the module itself)."""

    module: str
    names: tuple[str, ...] = ()


@dataclass
class Text:
    """The contents of one Python file, before it is known which of them lead anywhere."""

    imports: set[Imported] = field(default_factory=set)
    lazy: set[Imported] = field(default_factory=set)
    """Imports of a package with `__getattr__` that only say where its names come from."""
    dotted: set[str] = field(default_factory=set)
    strings: list[str] = field(default_factory=list)
    beginnings: set[str] = field(default_factory=set)
    """Strings that go on with something computed: f"coldfork.rules.{name}"."""
    run: set[str] = field(default_factory=set)
    """Modules started with -m."""

    @cached_property
    def paths(self) -> frozenset[str]:
        """Strings that could be a path or a part of one, and the last two parts of those that have more."""
        short = {text.strip("/") for text in self.strings if len(text) < 200 and "\n" not in text}
        return frozenset(short | {"/".join(text.split("/")[-2:]) for text in short})

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that could be a subcommand's name: the first of a line, and those after `coldfork`."""
        return words_of([*self.strings, *self.run])


def read(source: str, path: str) -> Text:
    """Collect what a file's text says."""
    tree = ast.parse(source, path)
    text = Text()
    deferred = _deferred(tree)
    documentation = set()
    for node in _nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            (text.lazy if node in deferred else text.imports).update(_imported(node))
        elif isinstance(node, ast.Attribute):
            text.dotted.update(_dotted(node))
        elif isinstance(node, ast.Expr):
            documentation.add(node.value)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node not in documentation:
                text.strings.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            text.beginnings.update(_beginnings(node))
        elif isinstance(node, ast.List | ast.Tuple):
            text.run.update(_started(node.elts))
        elif isinstance(node, ast.Call):
            text.run.update(_started(node.args))
    return text


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, a parent before its children; twice as fast as ast.walk."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                todo.extend(element for element in value if isinstance(element, ast.AST))
            elif isinstance(value, ast.AST):
                todo.append(value)


def _deferred(tree: ast.Module) -> set[ast.AST]:
    """The imports of a package that loads its names on first use: they say where the names come from."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if all(node.name != "__getattr__" for node in functions):
        return set()
    conditional = [node for node in tree.body if isinstance(node, ast.If)]
    return {inner for node in [*functions, *conditional] for inner in _nodes(node)}


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The first words of lines, and those after `coldfork`."""
    return frozenset(word for text in texts for word in _SAID.findall(text))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Imported]:
    if isinstance(node, ast.Import):
        yield from (Imported(alias.name, ("*",) if alias.asname else ()) for alias in node.names)
    elif node.module:
        yield Imported(node.module, tuple(alias.name for alias in node.names))


def _dotted(node: ast.Attribute) -> Iterator[str]:
    parts = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    if isinstance(value, ast.Name):
        yield ".".join([value.id, *reversed(parts)])


def _beginnings(node: ast.JoinedStr) -> Iterator[str]:
    for before, after in zip(node.values, node.values[1:], strict=False):
        if isinstance(before, ast.Constant) and isinstance(after, ast.FormattedValue):
            yield str(before.value)


def _started(elements: list[ast.expr]) -> Iterator[str]:
    """`-m NAME` in a list of arguments, with the word that follows: "coldfork check"."""
    words = [element.value if isinstance(element, ast.Constant) else None for element in elements]
    for flag, name, word in zip(words, words[1:], [*words[2:], None], strict=False):
        if flag == "-m" and isinstance(name, str):
            yield f"{name} {word}" if isinstance(word, str) else name


def written_imports(source: str) -> Iterator[Imported]:
    """The imports of a program that is written down as a string, whole or in part."""
    for module, names in _IMPORT.findall(source):
        listed = [name.split() for name in names.split(",")]
        if module:
            yield Imported(module, tuple(name[0] for name in listed))
        else:
            yield from (Imported(name[0], ("*",) if len(name) > 1 else ()) for name in listed)
