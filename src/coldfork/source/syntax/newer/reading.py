"""Read a source that is too new for the running grammar: rewrite, parse, put back."""

from __future__ import annotations

import ast

from coldfork.source.syntax.newer.restoring import Parse, restore
from coldfork.source.syntax.newer.rewriting import rewrite
from coldfork.source.syntax.newer.tokens import Unscannable


def parse_rewritten(source: bytes, parse: Parse, parse_parts: Parse) -> ast.Module | None:
    """The tree of a source by way of one that an older Python reads; None if it is in no Python's grammar."""
    # An f-string may be too new in a way that it does not show: then all of them are taken apart.
    for every_string in (False, True):
        tree = _parse_rewritten(source, parse, parse_parts, every_string)
        if tree is not None:
            return tree
    return None


def _parse_rewritten(
    source: bytes, parse: Parse, parse_parts: Parse, every_string: bool
) -> ast.Module | None:
    try:
        rewritten = rewrite(source, every_string=every_string)
        if rewritten.text == source:
            return None
        tree = parse(rewritten.text)
        restore(tree, source, rewritten, parse_parts)
    except (Unscannable, SyntaxError, ValueError):
        return None
    return tree
