"""Code that says which of its lines run: every statement sets a byte of a file that all processes share."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType

#: A process that does not know of the file sets bytes of its own, in vain.
_PREAMBLE = """
def hits_of_mutants():
    import os, sys
    name = os.environ.get("COLDFORK_MUTANTS_HITS")
    try:
        if getattr(sys, "_coldfork_mutants_name", "") == name:
            return sys._coldfork_mutants_hits
        import mmap
        file = os.open(name, os.O_RDWR)
        sys._coldfork_mutants_hits = mmap.mmap(file, 0)
        sys._coldfork_mutants_name = name
        os.close(file)
        return sys._coldfork_mutants_hits
    except Exception:
        return bytearray({size})
hits_of_mutants = hits_of_mutants()
"""


class Lines:
    """Which byte stands for which line: those of one file after those of another."""

    def __init__(self, sources: Iterable[tuple[str, bytes]]) -> None:
        self._first: dict[str, int] = {}
        self._names: list[tuple[str, int]] = []
        for path, source in sources:
            self._first[path] = len(self._names)
            self._names += [(path, line) for line in range(source.count(b"\n") + 2)]

    def __len__(self) -> int:
        return len(self._names)

    def named(self, numbers: Iterable[int]) -> Iterator[tuple[str, int]]:
        """The files and lines that bytes stand for."""
        return (self._names[number] for number in numbers)

    def code(self, path: str, source: bytes, file: Path) -> CodeType:
        """The code of a file that says which of its lines run."""
        tree = _Marker(self._first[path]).visit(ast.parse(source))
        start = 0
        for node in tree.body:
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not future and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                break
            start += 1
        tree.body[start:start] = ast.parse(_PREAMBLE.format(size=len(self))).body
        return compile(ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True)


class _Marker(ast.NodeTransformer):
    """Puts a mark before every statement."""

    def __init__(self, first: int) -> None:
        self._first = first

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Mark the blocks of a node."""
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                setattr(node, field, [one for statement in block for one in self._with_mark(statement)])
        return node

    def _with_mark(self, node: ast.stmt) -> list[ast.stmt]:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if docstring or future:
            return [node]
        mark = ast.parse(f"hits_of_mutants[{self._first + node.lineno}] = 1").body[0]
        for one in ast.walk(mark):
            if isinstance(one, ast.stmt | ast.expr):
                one.lineno = one.end_lineno = node.lineno
                one.col_offset = one.end_col_offset = node.col_offset
        return [mark, node]
