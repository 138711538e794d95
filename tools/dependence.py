"""The dependencies of each Python file of a checkout, read from its imports and the names in its strings.

Imports count wherever they stand: at the top, under TYPE_CHECKING, in a function, and in a program that is
written down as a string. A string also counts when it is a module's whole name (tables of modules, `-m NAME`)
or names a file that is not imported. A package that loads its names on first use (a module-level
`__getattr__`) stands for the names that are asked of it and not for all of them.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from file_texts import Imported, Text, read, words_of, written_imports

PRODUCT = "src/coldfork/"
COMMANDS = "coldfork.cli.main"
"""Where the table of subcommands stands: what it names is run only by who says the subcommand's name."""
FOLDERS = ("src", "tests", "tools", "benchmarks", "integrations", "hardware", "examples", "docs")
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+")
_WHOLE = re.compile(r"([A-Za-z_][\w.]*)(?::\w+)?")
_MODULE_RUN = re.compile(r"-m\s+([A-Za-z_][\w.]*)")


class Checkout:
    """The Python files under a folder, by path, and the modules that they are."""

    def __init__(self, root: Path, gone: Iterable[str] = ()) -> None:
        """`gone` are files that were there: who still imports them depends on them."""
        self.root = root
        self.files: dict[str, Text] = {}
        self.gone = frozenset(path for path in gone if path.endswith(".py"))
        for path in _files(root, "*.py"):
            self.files[path] = read((root / path).read_text(encoding="utf-8"), path)
        for path in (*_files(root, "*.md"), *_files(root, "*.txt")):
            self.files[path] = Text(strings=[(root / path).read_text(encoding="utf-8")])
        self.modules: dict[str, str] = {}
        for path in sorted(path for path in {*self.files, *self.gone} if path.endswith(".py")):
            for name in _names(path):
                self.modules.setdefault(name, path)

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Every folder of modules, as a module would name it."""
        parts = [name.split(".") for name in self.modules]
        return frozenset(".".join(name[:length]) for name in parts for length in range(1, len(name)))

    @cached_property
    def commands(self) -> Mapping[str, frozenset[str]]:
        """The files of each subcommand, by its name."""
        path = self.modules.get(COMMANDS)
        if path is None or path in self.gone:
            return {}
        for node in ast.parse((self.root / path).read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Dict)
                and _is_called(node, "COMMANDS")
            ):
                return {name: frozenset(self.named(where)) for name, where in _entries(node.value)}
        return {}

    @cached_property
    def depends(self) -> Mapping[str, frozenset[str]]:
        """The files that each file leads to directly; the table of subcommands leads to none of them."""
        found = {path: set(self._direct(path)) - {path} for path in self.files}
        if table := self.modules.get(COMMANDS):
            for files in self.commands.values():
                found.get(table, set()).difference_update(files - self._imports_of(table))
        for path, starters in self._run_by_name(found):
            for starter in starters:
                found[starter].add(path)
        return {path: frozenset(files) for path, files in found.items()}

    def reached(self, *start: str) -> frozenset[str]:
        """All that some files can lead to, themselves included; of the subcommands those that they name."""
        reached = self._closed(set(start))
        if self.modules.get(COMMANDS) in reached:
            texts = {path: text for path in reached if (text := self.files.get(path))}
            said = {
                word
                for path, text in texts.items()
                for word in (words_of(text.run) if path.startswith(PRODUCT) else text.words)
            }
            called = [files for name, files in self.commands.items() if name in said]
            reached |= self._closed(set().union(*(called or self.commands.values())))
        return frozenset(reached)

    def mentions(self, path: str) -> set[str]:
        """The files that name a file; when none names what is neither Python nor a page, all in its room."""
        found = {
            other
            for other, text in self.files.items()
            if other != path and _mentions(text.paths, path, other)
        }
        if found or path in self.files:
            return found
        return {other for other in self.files if _room(other) == _room(path)}

    def named(self, name: str) -> Iterator[str]:
        """The files that `package.module:attribute` runs."""
        if match := _WHOLE.fullmatch(name):
            yield from self._resolved(match[1])

    def _closed(self, start: set[str]) -> set[str]:
        reached, todo = set(start), list(start)
        while todo:
            for path in self.depends.get(todo.pop(), ()):
                if path not in reached:
                    reached.add(path)
                    todo.append(path)
        return reached

    def _imports_of(self, path: str) -> set[str]:
        return {file for imported in self.files[path].imports for file in self._followed(imported, path)}

    def _direct(self, path: str) -> Iterator[str]:
        text = self.files[path]
        for imported in text.imports:
            yield from self._followed(imported, path)
        for name in text.dotted:
            if name.startswith("coldfork."):
                yield from self._resolved(name)
        for name in text.beginnings:
            if (
                path.startswith(PRODUCT)
                and name.endswith(".")
                and name[:-1] in self.modules
                and not text.lazy
            ):
                yield from (
                    file for module, file in self.modules.items() if module.rpartition(".")[0] == name[:-1]
                )
        for started in text.run:
            yield from self._started(started.partition(" ")[0])
        if not text.lazy:
            yield from self._of_strings(path, text)

    def _of_strings(self, path: str, text: Text) -> Iterator[str]:
        for string in text.strings:
            for imported in written_imports(string):
                yield from self._followed(imported, path)
            if "." in string and string.partition(".")[0].isidentifier():
                yield from self.named(string)
            if path.startswith(PRODUCT):
                continue  # what the product says to its user is no program
            for name in _DOTTED.findall(string):
                if name.startswith("coldfork."):
                    yield from self._resolved(name)
            for name in _MODULE_RUN.findall(string):
                yield from self._started(name)

    def _started(self, name: str) -> Iterator[str]:
        yield from self._resolved(name)
        yield from self._resolved(f"{name}.__main__")
        if name == "pytest":
            yield from self._plugins

    @cached_property
    def _plugins(self) -> frozenset[str]:
        """Return the plugins that pytest loads by itself where the product is installed."""
        file = self.root / "pyproject.toml"
        if not file.exists():
            return frozenset()
        points = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {}).get("entry-points", {})
        return frozenset(path for name in points.get("pytest11", {}).values() for path in self.named(name))

    def _followed(self, imported: Imported, path: str) -> Iterator[str]:
        module = imported.module
        if module not in self.modules:
            beside = ".".join([*path.split("/")[:-1], module])
            module = beside if beside in self.modules else module
        if not imported.names:
            yield from self._resolved(module)
        for name in imported.names:
            yield from self._resolved(f"{module}.{name}", whole=True)

    def _resolved(self, dotted: str, *, whole: bool = False) -> Iterator[str]:
        """The files of a dotted name: its packages, its module, and where a package takes the name from."""
        parts = dotted.split(".")
        package: Text | None = None
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            if path := self.modules.get(name):
                yield path
            elif name not in self._folders:
                yield from self._taken(package, parts[length - 1])
                return
            package = self.files.get(path) if path else None
        if whole:
            yield from self._taken(package, "*")

    def _taken(self, package: Text | None, name: str) -> Iterator[str]:
        for imported in package.lazy if package else ():
            if name in imported.names or name == "*":
                for taken in imported.names:
                    if taken == name or name == "*":
                        yield from self._resolved(f"{imported.module}.{taken}")

    def _run_by_name(self, found: Mapping[str, set[str]]) -> Iterator[tuple[str, set[str]]]:
        """The files that are named and not imported, and by whom: programs, pages, what others load."""
        imported = set().union(*found.values(), *self.commands.values())
        for path in self.files:
            if path.startswith(PRODUCT):
                if path not in imported:
                    beside = {other for other in self.files if _room(other) == _room(path)}
                    yield path, (self.mentions(path) & beside) or beside
            elif not is_test(path):
                yield path, {other for other in self._outside if other != path and self._runs(other, path)}

    @cached_property
    def _outside(self) -> tuple[str, ...]:
        return tuple(path for path in self.files if path.endswith(".py") and not path.startswith(PRODUCT))

    def _runs(self, starter: str, path: str) -> bool:
        """Whether a file names another one, or the folder of an example that it is a part of."""
        paths = self.files[starter].paths
        folders = path.split("/")[:2]
        in_example = folders[0] == "examples" and path.endswith(".py")
        return _names_file(paths, path, starter) or (in_example and paths.issuperset(folders))


def _is_called(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _entries(table: ast.Dict) -> Iterator[tuple[str, str]]:
    """Each key with the first string of its value."""
    for key, value in zip(table.keys, table.values, strict=True):
        first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
        if isinstance(key, ast.Constant) and isinstance(first, ast.Constant):
            yield str(key.value), str(first.value)


def _files(root: Path, pattern: str) -> Iterator[str]:
    for folder in FOLDERS:
        for path in (root / folder).rglob(pattern):
            name = path.relative_to(root).as_posix()
            if not name.startswith("tests/source/packages/"):
                yield name


def is_test(path: str) -> bool:
    """Whether pytest collects a file."""
    return path.startswith("tests/") and path.rpartition("/")[2].startswith("test_")


def _names(path: str) -> Iterator[str]:
    """The module names by which a file can be imported."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    if parts[0] == "src":
        parts = parts[1:]
    for skipped in {0, *({1} if parts[0] == "tools" else ()), *({2} if parts[0] == "examples" else ())}:
        if parts[skipped:]:
            yield ".".join(parts[skipped:])


def _mentions(paths: frozenset[str], wanted: str, by: str) -> bool:
    """Whether some of a file's strings mean another file: it, a folder that it is in, or a pattern."""
    folders = wanted.split("/")[:-1]
    if _names_file(paths, wanted, by):
        return True
    if folders and folders[0] not in ("src", "tests"):
        leading = {"/".join(folders[:length]) for length in range(1, len(folders) + 1)}
        return bool(leading & paths) or f"*{Path(wanted).suffix}" in paths
    return _room(by) == _room(wanted) and any(folder in paths for folder in folders[2:])


def _names_file(paths: frozenset[str], wanted: str, by: str) -> bool:
    *folders, name = wanted.split("/")
    if name in paths:
        return not folders or _room(by) == _room(wanted) or not paths.isdisjoint(folders[-1:])
    return bool(folders) and f"{folders[-1]}/{name}" in paths


def _room(path: str) -> str:
    """The room that a file belongs to, in the package or in the tests, or else the folder at the top."""
    folders = path.split("/")[:-1]
    return "/".join(folders[: {"src": 3, "tests": 2}.get(folders[0], 1)]) if folders else path
