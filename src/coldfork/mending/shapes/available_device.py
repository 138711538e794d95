"""The query `torch.cuda.is_available`, changed so that NVML answers it and the driver stays cold.

It is used if too much depends on the answer to defer the question. `torch.cuda.is_available()` asks the
driver, whereas `torch.cuda.device_count()` asks NVML if it can. Their answers differ if a driver is installed
but cannot be used.
"""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft
from coldfork.mending.site import Tree
from coldfork.mending.text import CannotMend, Replacement

ASKED = "torch.cuda.is_available"
_DOUBT = (
    "NVML also counts the devices of a driver that is too old for PyTorch, and if it does not answer, "
    "the driver is asked"
)
_TIGHT = (
    ast.BoolOp,
    ast.IfExp,
    ast.Assign,
    ast.AnnAssign,
    ast.Return,
    ast.If,
    ast.While,
    ast.Assert,
    ast.keyword,
)


def draft(tree: Tree, line: int) -> Draft:
    """Make the line query NVML instead of the driver."""
    edits = []
    for node in tree.nodes(ast.Call):
        if node.lineno != line or node.args or node.keywords:
            continue
        function = node.func
        if not isinstance(function, ast.Attribute) or ast.unparse(function) != ASKED:
            continue
        start, _ = tree.source.span(function.value)
        _, end = tree.source.span(node)
        text = f"{tree.source.of(function.value)}.device_count() > 0"
        is_tight = isinstance(tree.parents[node], _TIGHT)
        edits.append(Replacement(start, end, text if is_tight else f"({text})"))
    if not edits:
        raise CannotMend(f"the line does not call `{ASKED}` by that name")
    return Draft(tuple(edits), (_DOUBT,))
