"""Parses a source of any Python up to 3.15 with the running `ast`."""

from __future__ import annotations

import ast
import warnings


def parse_any(source: bytes) -> ast.Module:
    """Return the tree of a source; if the running grammar is too old for it, that of the rewritten source."""
    try:
        return parse_as_is(source)
    except SyntaxError:
        # Imported on demand: nearly every run does without it.
        from coldfork.source.syntax.newer.restoring import parse_rewritten

        tree = parse_rewritten(source, parse_as_is, parse_any)
        if tree is None:
            raise
        return tree


def parse_as_is(source: bytes) -> ast.Module:
    """Return the tree that the running grammar makes of a source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
