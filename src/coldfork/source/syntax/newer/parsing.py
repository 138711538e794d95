"""Parses the source of any Python up to 3.15 with the running Python's `ast`."""

from __future__ import annotations

import ast
import warnings


def parse_any(source: bytes) -> ast.Module:
    """Return the tree of a source; syntax too new for the running Python is rewritten first."""
    try:
        return parse_as_is(source)
    except SyntaxError:
        # Imported here because nearly no run needs it.
        from coldfork.source.syntax.newer.restoring import parse_rewritten

        tree = parse_rewritten(source, parse_as_is, parse_any)
        if tree is None:
            raise
        return tree


def parse_as_is(source: bytes) -> ast.Module:
    """Return the tree that the running Python's own parser makes of a source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
