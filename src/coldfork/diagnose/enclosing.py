"""Which function a line of a file on this machine stands in."""

from __future__ import annotations

import ast
import linecache

from coldfork.model.diagnosis.evidence import Step

_BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def step_at(path: str, line: int) -> Step | None:
    """The line with the function, or the class body, around it; None where the file is not here."""
    lines = linecache.getlines(path)
    if not 0 < line <= len(lines):
        return None
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    # Inner bodies come after those around them.
    around = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, _BODIES) and node.body[0].lineno <= line <= (node.end_lineno or line)
    ]
    return Step(path, around[-1] if around else "<module>", lines[line - 1].strip())
