"""The rules' pages: what `coldfork rule NAME` prints and the site shows, kept in each rule's docstring."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from dataclasses import dataclass
from pathlib import Path

from coldfork.model.findings import Severity
from coldfork.rules import registry

#: The sections that every page has, in this order.
SECTIONS = (
    "What it does",
    "Why is this bad",
    "Example",
    "Use instead",
    "Fix safety",
    "How it is seen",
    "References",
)


@dataclass(frozen=True, slots=True)
class Page:
    """One rule as users read it."""

    name: str
    severity: Severity
    summary: str
    markdown: str


def page(name: str) -> Page:
    """The page of one rule; an unknown name is refused with the near match."""
    module = registry.rule(name)
    text = inspect.cleandoc(module.__doc__ or _docstring_from_source(name))
    return Page(name, module.SEVERITY, text.partition("\n")[0], f"# {name}\n\n{text}\n")


def pages() -> tuple[Page, ...]:
    """All pages, in the registry's order."""
    return tuple(page(name) for name in registry.NAMES)


def _docstring_from_source(name: str) -> str:
    # `python -OO` drops docstrings; the source still has them.
    spec = importlib.util.find_spec(registry.module_of(name))
    if spec is None or spec.origin is None:
        return ""
    return ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
