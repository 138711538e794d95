"""One module of an analysis: its summary, its functions, and the code of the functions followed so far."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from coldfork.source.files.finder import Located
from coldfork.source.files.reading import Reader
from coldfork.source.files.started import imported, is_main, is_started
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Class, Code, Node
from coldfork.source.syntax.outline import Outline
from coldfork.source.syntax.summary import Summary, function_code
from coldfork.source.syntax.syntax_errors import explain_body


class Files(Protocol):
    """The source, summaries and outlines of files, by path."""

    @property
    def reader(self) -> Reader:
        """The reader of source files."""

    def outline(self, path: str) -> Outline:
        """Return the outline of a module."""

    def summary(self, path: str) -> Summary:
        """Return the summary of a file."""

    def source(self, path: str) -> bytes:
        """Return the source of a file."""


class Module:
    """One module: its summary, and facts derived from the summary."""

    __slots__ = (
        "_beside", "_files", "bit", "broken", "codes", "is_main", "is_started", "lazy", "located", "name",
        "own", "package", "path", "plain", "summary",
    )  # fmt: skip

    summary: Summary
    lazy: frozenset[str]
    """The names that lazy imports bind, and the submodules that lazy imports name."""

    def __init__(
        self, name: str, located: Located, files: Files, beside: Mapping[str, str] | None = None
    ) -> None:
        self.name: str = name
        self.located: Located = located
        self.path: str = located.path or ""
        self.own: bool = located.own
        plain = name if ":" not in name else imported(name)  # one analysis creates thousands of modules
        self.plain: str = plain
        """The name by which other code imports the module."""
        self.package: str = plain if located.is_package else plain.rpartition(".")[0]
        self.is_started: bool = plain is not name and is_started(name)
        self.is_main: bool = plain is not name and is_main(name)
        self._files = files
        self._beside = beside or {}
        self.codes: dict[int, Code | None] = {}
        self.bit: int = 0
        self.broken: tuple[str, int, int] | None = None
        """The first function of this module that does not parse: the reason, the line and the column."""

    if not TYPE_CHECKING:  # otherwise a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Return an attribute that is unpacked at its first use; later uses find it without this
            method.
            """
            if name not in ("summary", "lazy"):
                raise AttributeError(name)
            self.summary = self._files.summary(self.path)
            self.lazy = self.summary.lazy
            return getattr(self, name)

    @property
    def outline(self) -> Outline:
        """The outline of the module."""
        return self._files.outline(self.path)

    @property
    def source(self) -> bytes:
        """The source of the module; empty if the file can no longer be read."""
        return self._files.source(self.path)

    def release(self) -> None:
        """Delete the unpacked summary, which is unlikely to be needed again."""
        del self.summary

    def code_at(self, line: int) -> Code | None:
        """Return the code of a function whose body was blanked; None if the source can no longer be read."""
        try:
            return self.codes[line]
        except KeyError:
            pass
        span = self.summary.spans.get(line)
        code: Code | None = None
        if span is not None:
            source = self.source
            start, end = span
            code = function_code(source, start, end, line)
            if code is None and self.broken is None:
                self.broken = (explain_body(source, start, end), line, 0)
        self.codes[line] = code
        return code

    def absolute(self, module: str | None, level: int) -> str:
        """Return the absolute name of the module that an import statement in this module names."""
        if level == 0:
            return self._beside.get(module or "", module or "")
        return absolute(self.package, module, level)


def absolute(package: str, module: str | None, level: int) -> str:
    """Return the absolute name of the module that a relative import in this package names."""
    base = package
    for _ in range(level - 1):
        base = base.rpartition(".")[0]
    if not base:
        return module or ""
    return f"{base}.{module}" if module else base


class Defined(NamedTuple):
    """A function or method of a module, represented by its DEF node."""

    node: Node
    owner: Node | None
    """The class that defines the method; None for a function."""

    @property
    def name(self) -> str:
        """The name of the function."""
        _, _, name, *_ = self.node
        return str(name)

    @property
    def line(self) -> int:
        """The line where the definition begins."""
        return nodes.line_of(self.node)


def defined(module: Module) -> list[Defined]:
    """Return the top-level functions and methods of a module, in order."""
    return sorted(_defined(module), key=lambda one: one.line)


def holding(functions: list[Defined], lines: Iterable[int]) -> list[Defined]:
    """Return the functions that contain these lines; a line between two functions counts for the
    first one.
    """
    firsts = [one.line for one in functions]
    found = {bisect_right(firsts, line) - 1 for line in lines}
    return [functions[index] for index in sorted(found) if index >= 0]


def _defined(module: Module) -> Iterator[Defined]:
    for entries in module.summary.binds.values():
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_DEF:
                yield Defined(payload, None)
            elif how == nodes.BY_CLASS:
                yield from _methods(payload)


def _methods(node: Node) -> Iterator[Defined]:
    for entries in Class._make(node).binds.values():
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_DEF:
                yield Defined(payload, node)
