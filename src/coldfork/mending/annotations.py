"""Annotations that name a deferred import: type checkers still read them, but importing the module
does not.
"""

from __future__ import annotations

import ast

from coldfork.mending.site import Tree
from coldfork.mending.text import CannotMend, Replacement

HARMLESS = frozenset(
    {"abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "inference_mode"}
    | {"lru_cache", "no_grad", "override", "property", "setter", "staticmethod", "wraps"}
)
"""Decorators that read neither the body of a function nor its annotations."""


def annotation_of(tree: Tree, name: ast.Name) -> ast.expr | None:
    """Return the annotation, in a function's header, that contains a name; None if a decorator might
    read it.
    """
    below: ast.AST = name
    annotation: ast.expr | None = None
    for each in tree.above(name):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            is_read = any(not is_harmless(decorator) for decorator in each.decorator_list)
            return None if is_read else annotation or (each.returns if below is each.returns else None)
        if isinstance(each, ast.stmt):
            return None
        if isinstance(each, ast.arg):
            annotation = each.annotation
        below = each
    return None


def is_harmless(decorator: ast.expr) -> bool:
    """Return whether a decorator is known to read neither the body of a function nor its annotations."""
    return ast.unparse(decorator).partition("(")[0].rpartition(".")[2] in HARMLESS


def are_text(tree: Tree) -> bool:
    """Return whether the module's annotations are not evaluated."""
    return any(
        node.module == "__future__" and any(alias.name == "annotations" for alias in node.names)
        for node in tree.nodes(ast.ImportFrom)
    )


def quoted(tree: Tree, annotation: ast.expr) -> list[Replacement]:
    """Return the replacement of an annotation by its text in quotes; none if it is not evaluated anyway."""
    if are_text(tree):
        return []
    text = tree.source.of(annotation)
    if "\n" in text or "\r" in text or '"' in text:
        text = ast.unparse(annotation)
    if '"' in text or "\\" in text:
        raise CannotMend(f"line {annotation.lineno} has a string in an annotation")
    return [Replacement(*tree.source.span(annotation), f'"{text}"')]
