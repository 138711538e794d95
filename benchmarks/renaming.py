"""A copy of a package in which the modules have other names, and nothing else differs.

Names are changed where they are sure to mean the module: in imports, in attributes of imported packages, and
in text that spells a module out. A module whose name may be put together while the program runs keeps it.
"""

from __future__ import annotations

import ast
import re
import shutil
import string
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

#: What says something about a module to Python, to those who run it, or to whoever sorts findings.
_KEPT = frozenset({
    "__init__", "__main__", "_vendor", "_vendored", "benchmark", "benchmarks", "bin", "conf", "conftest",
    "demo", "demos", "doc", "docs", "documentation", "example", "examples", "notebooks", "sample", "samples",
    "scripts", "setup", "third_party", "tools", "tutorial", "tutorials", "vendor",
})  # fmt: skip
_TEST = re.compile(r"test|.*_test$")
_SHORTEST = 6
#: The names that are given.
WORD = re.compile(r"[a-z][0-9][a-z]+[0-9]")


class Edit(NamedTuple):
    """A name in a line, from some byte on, and what it is called now."""

    line: int
    start: int
    old: str
    new: str


class Renaming:
    """New names for the modules of one package; no new name is used twice, or means anything else."""

    def __init__(self, package: Path, random: Random, kept: Iterable[str] = ()) -> None:
        self.package = package
        self._trees: dict[str, ast.Module] = {}
        self._paths: dict[str, Path] = {}
        self._kept = set(kept)
        """Dotted names that keep theirs, with all packages above them."""
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self._paths[name] = path
            try:
                self._trees[name] = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError):
                continue
        self._bound = {name: set(_bound(tree.body)) for name, tree in self._trees.items()}
        self._packages = {name for name, path in self._paths.items() if path.name == "__init__.py"}
        self._every = {one for name in self._paths for one in _with_packages(name)}
        self._ends = {end for name in self._every for end in _ends(name)}
        self.names = self._chosen(random)

    @property
    def originals(self) -> Mapping[str, str]:
        """The last part of every old name, by the new one."""
        return {new: old.rpartition(".")[2] for old, new in self.names.items()}

    def _chosen(self, random: Random) -> dict[str, str]:
        spelled = {word for name, tree in self._trees.items() for word in self._spelled(name, tree)}
        defined: dict[str, set[str]] = {}
        for name, tree in self._trees.items():
            package = name if name in self._packages else name.rpartition(".")[0]
            defined.setdefault(package, set()).update(_defined(tree.body))
        taken = set[str]()
        chosen: dict[str, str] = {}
        for name in sorted(self._every):
            package, _, last = name.rpartition(".")
            kept = last in _KEPT or last in spelled or last in defined.get(package, ()) or name in self._kept
            if not package or kept or _TEST.match(last):
                continue
            new = _word(random, len(last))
            while new in taken:
                new = _word(random, len(last))
            taken.add(new)
            chosen[name] = new
        return chosen

    def _spelled(self, module: str, tree: ast.Module) -> Iterator[str]:
        """Words that may name a module once something is put before or between them."""
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield from _dotted_words(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                word = node.value.removesuffix(".py").strip("./")
                if word.isidentifier() and not (
                    module in self._packages and f"{module}.{word}" in self._every
                ):
                    yield word
                elif "." in word and word in self._ends:
                    yield from word.split(".")

    # -- names --------------------------------------------------------------------------------------

    def renamed(self, dotted: str) -> str:
        """Return the present name of a dotted name, as far as it leads to modules."""
        parts = dotted.split(".")
        return ".".join(
            self.names.get(".".join(parts[: index + 1]), part) for index, part in enumerate(parts)
        )

    # -- files --------------------------------------------------------------------------------------

    def write(self, folder: Path) -> Path:
        """Write the package into a folder; where it is."""
        for path in sorted(self.package.rglob("*")):
            if not path.is_file() or path.suffix == ".pyc":
                continue
            target = folder / self._place(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix != ".py":
                if path.stat().st_size < 100_000:
                    shutil.copyfile(path, target)
                continue
            parts = path.relative_to(self.package.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            source = path.read_bytes()
            tree = self._trees.get(name)
            target.write_bytes(source if tree is None else _edited(source, self._edits(name, tree)))
        return folder / self.package.name

    def _place(self, path: Path) -> str:
        relative = path.relative_to(self.package.parent)
        *folders, last = relative.parts
        stem = last.removesuffix(".py") if last.endswith(".py") else None
        dotted = ".".join([*folders, stem] if stem is not None and stem != "__init__" else folders)
        parts = self.renamed(dotted).split(".")
        if stem is None or stem == "__init__":
            return "/".join([*parts, last])
        return "/".join(parts) + ".py"

    def _edits(self, module: str, tree: ast.Module) -> Iterator[Edit]:
        package = module if module in self._packages else module.rpartition(".")[0]
        known = dict(self._imported(tree, package))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._replaced(alias, alias.name, "")
            elif isinstance(node, ast.ImportFrom):
                yield from self._from(node, module, package)
            elif isinstance(node, ast.Attribute):
                yield from self._attribute(node, known)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from self._text(node, node.value, package)

    def _replaced(self, alias: ast.alias, dotted: str, prefix: str) -> Iterator[Edit]:
        renamed = self.renamed(f"{prefix}{dotted}")[len(self.renamed(prefix[:-1])) + 1 if prefix else 0 :]
        if renamed != dotted:
            yield Edit(alias.lineno, alias.col_offset, dotted, renamed)

    def _from(self, node: ast.ImportFrom, module: str, package: str) -> Iterator[Edit]:
        base = _absolute(node, package)
        if base is None:
            return
        if node.module:
            prefix = base[: len(base) - len(node.module)]
            whole = self.renamed(base)
            renamed = whole[len(self.renamed(prefix[:-1])) + 1 if prefix else 0 :]
            if renamed != node.module:
                yield Edit(node.lineno, node.col_offset + len("from"), node.module, renamed)
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            if inner in self.names and (base == module or alias.name not in self._bound.get(base, ())):
                new = self.names[inner] + ("" if alias.asname else f" as {alias.name}")
                yield Edit(alias.lineno, alias.col_offset, alias.name, new)

    def _imported(self, tree: ast.Module, package: str) -> Iterator[tuple[str, str]]:
        """Names that a file gives to modules, with the modules."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield (
                        (alias.asname, alias.name)
                        if alias.asname
                        else ((top := alias.name.split(".")[0]), top)
                    )
            elif isinstance(node, ast.ImportFrom):
                base = _absolute(node, package)
                for alias in node.names:
                    if base is not None and alias.name not in self._bound.get(base, ()):
                        yield alias.asname or alias.name, f"{base}.{alias.name}"

    def _attribute(self, node: ast.Attribute, known: Mapping[str, str]) -> Iterator[Edit]:
        chain: list[str] = []
        inner: ast.expr = node.value
        while isinstance(inner, ast.Attribute):
            chain.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id not in known:
            return
        base = ".".join([known[inner.id], *chain])
        name = f"{base}.{node.attr}"
        if (
            name in self.names
            and node.attr not in self._bound.get(base, ())
            and node.end_col_offset is not None
        ):
            start = node.end_col_offset - len(node.attr.encode())
            yield Edit(node.end_lineno or node.lineno, start, node.attr, self.names[name])

    def _text(self, node: ast.Constant, text: str, package: str) -> Iterator[Edit]:
        if node.lineno != node.end_lineno:
            return
        found = re.fullmatch(r"(\.*)([A-Za-z_][\w.]*)(:[\w.]+)?", text)
        if found is None:
            return
        dots, dotted, _ = found.groups()
        inside = f"{package}.{dotted}" in self._every and dotted not in self._bound.get(package, ())
        if dots or inside:
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - len(dots) + 1]) if dots else package
            whole = self.renamed(f"{base}.{dotted}")
            renamed = whole[len(self.renamed(base)) + 1 :]
        else:
            renamed = self.renamed(dotted)
        if renamed != dotted:
            yield Edit(node.lineno, node.col_offset, dotted, renamed)


def _dotted_words(text: ast.JoinedStr) -> Iterator[str]:
    """The words of an f-string that is one dotted name, such as `f"package.{part}.module"`."""
    pieces = [str(piece.value) for piece in text.values if isinstance(piece, ast.Constant)]
    if any("." in piece for piece in pieces) and all(re.fullmatch(r"[\w.]*", piece) for piece in pieces):
        for piece in pieces:
            yield from filter(None, piece.split("."))


def _absolute(node: ast.ImportFrom, package: str) -> str | None:
    if not node.level:
        return node.module
    parts = package.split(".")
    if node.level > len(parts):
        return None
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that a file binds at its top level, whatever to."""
    for node in _top_level(body):
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
    yield from _defined(body)


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that a file gives at its top level to what is its own."""
    for node in _top_level(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _top_level(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    pending = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Call, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def _with_packages(dotted: str) -> list[str]:
    parts = dotted.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _ends(dotted: str) -> list[str]:
    """Return the ends of a dotted name that are left as packages are taken off its front."""
    parts = dotted.split(".")
    return [".".join(parts[depth:]) for depth in range(1, len(parts))]


def _word(random: Random, length: int) -> str:
    """A word that nobody writes."""
    letters = [random.choice(string.ascii_lowercase) for _ in range(max(length, _SHORTEST) - 2)]
    return f"{letters[0]}{random.choice(string.digits)}{''.join(letters[1:])}{random.choice(string.digits)}"


def _edited(source: bytes, edits: Iterator[Edit]) -> bytes:
    lines = source.splitlines(keepends=True)
    for edit in sorted(set(edits), key=lambda edit: (edit.line, edit.start), reverse=True):
        line, old = lines[edit.line - 1], edit.old.encode()
        at = line.find(old, edit.start)
        if at >= 0:
            lines[edit.line - 1] = line[:at] + edit.new.encode() + line[at + len(old) :]
    return b"".join(lines)
