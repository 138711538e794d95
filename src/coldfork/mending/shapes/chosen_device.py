"""A variable that is set too late to choose the devices: moved up, or shown as a choice by number."""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft
from coldfork.mending.project import Case
from coldfork.mending.shapes import earlier_statement
from coldfork.mending.site import Tree
from coldfork.mending.text import CannotMend, Replacement

_LIBRARIES = {
    "CUDA_VISIBLE_DEVICES": "torch.cuda",
    "HIP_VISIBLE_DEVICES": "torch.cuda",
    "ROCR_VISIBLE_DEVICES": "torch.cuda",
    "ZE_AFFINITY_MASK": "torch.xpu",
}
_NUMBERED = "the device is chosen by its number, and the code that follows has to count all devices"
_HIDDEN = "devices can no longer be hidden, so the code that follows has to be told to use none"


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Move the statement above what wakes the device; where that is elsewhere, show what replaces it."""
    try:
        return earlier_statement.draft(case, node)
    except CannotMend as error:
        found = _assigned(case.tree, node)
        if found is None:
            raise
        statement, library, value = found
        number = _number(case.tree, value)
        source = case.tree.source
        if isinstance(value, ast.Constant) and not number:
            return Draft((Replacement(*source.span(statement), "pass"),), shown=_HIDDEN)
        if not any(alias.name == "torch" for each in case.tree.nodes(ast.Import) for alias in each.names):
            raise CannotMend(f"{error}, and the file does not import torch") from None
        text = f"{library}.set_device({number})"
        return Draft((Replacement(*source.span(statement), text),), shown=_NUMBERED)


def _assigned(tree: Tree, node: ast.expr | ast.stmt) -> tuple[ast.stmt, str, ast.expr] | None:
    """Return the statement that sets the variable, the library that can choose instead, and the value."""
    statement = tree.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return None
    library = _LIBRARIES.get(str(target.slice.value))
    return None if library is None else (statement, library, statement.value)


def _number(tree: Tree, value: ast.expr) -> str:
    """Return the text of the first device's number; empty if a constant hides all devices."""
    if isinstance(value, ast.Constant):
        first = str(value.value).partition(",")[0].strip()
        return first if first.isdigit() else ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "str" and len(value.args) == 1:
        return tree.source.of(value.args[0])
    text = tree.source.of(value)
    return f'int({text if isinstance(value, (ast.Name, ast.Attribute)) else f"({text})"}.split(",")[0])'
