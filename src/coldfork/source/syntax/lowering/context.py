"""One piece of source that is being lowered: where it stands in its file, and what is known of it."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType

from coldfork.source.syntax.imports import PlainImport
from coldfork.source.syntax.nodes import Span


class Context:
    """One parsed piece of a file; `offset` is added to every line of it."""

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
        """True where annotations are not evaluated."""
        self.deferred = deferred
        """True where they are evaluated when somebody reads them."""
        self.yields = False
        """True once the function that is being lowered was seen to be a generator."""
        self.blanked = blanked
        """The lines of the functions whose bodies the skeleton has left out."""
        self.lazy = lazy
        """The names whose reading may import a module."""
        self.target_version = target_version
        """The Python that will import the code, where that is known."""
        self.runs = runs
        """The lines of the functions for which the skeleton has put one assignment."""
        self.imports = imports
        """The imports for which the skeleton has put one `pass`."""

    def span(self, node: ast.expr) -> Span:
        """Where the text of `node` stands, to quote it later."""
        last = (node.end_lineno or node.lineno) + self.offset
        return (node.lineno + self.offset, node.col_offset, last, node.end_col_offset or 0)

    def ends(self, node: ast.stmt) -> tuple[int, int]:
        """The first and the last line of a statement."""
        return node.lineno + self.offset, (node.end_lineno or node.lineno) + self.offset
