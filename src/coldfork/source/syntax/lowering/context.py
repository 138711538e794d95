"""A piece of source that is being lowered: its position in the file, and facts about the file."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType

from coldfork.source.syntax.imports import PlainImport
from coldfork.source.syntax.nodes import Span


class Context:
    """One parsed piece of a file; `offset` is added to its line numbers."""

    def __init__(
        self,
        offset: int = 0,
        postponed: bool = False,
        blanked: Container[int] = (),
        runs: Mapping[int, Sequence[int]] = MappingProxyType({}),
        lazy: frozenset[str] = frozenset(),
        target_version: tuple[int, int] | None = None,
        imports: Mapping[int, Sequence[PlainImport]] = MappingProxyType({}),
        deferred: bool = False,
    ) -> None:
        self.offset = offset
        self.postponed = postponed
        """True if annotations are not evaluated."""
        self.deferred = deferred
        """True if annotations are evaluated only when they are read."""
        self.yields = False
        """True if the function being lowered is known to be a generator."""
        self.blanked = blanked
        """The lines of the functions whose bodies the skeleton has left out."""
        self.lazy = lazy
        """The names that may import a module when they are read."""
        self.target_version = target_version
        """The Python version that will import the code, if known."""
        self.runs = runs
        """The lines of the functions that the skeleton has replaced by one assignment."""
        self.imports = imports
        """The imports that the skeleton has replaced by one `pass`."""

    def span(self, node: ast.expr) -> Span:
        """Return the position of the text of `node`, so that it can be quoted."""
        last = (node.end_lineno or node.lineno) + self.offset
        return (node.lineno + self.offset, node.col_offset, last, node.end_col_offset or 0)

    def ends(self, node: ast.stmt) -> tuple[int, int]:
        """Return the first and the last line of a statement."""
        return node.lineno + self.offset, (node.end_lineno or node.lineno) + self.offset
