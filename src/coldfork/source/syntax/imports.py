"""The imports of a module: a fast parser for the usual forms, and which imports are lazy (PEP 810)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from keyword import kwlist
from sys import intern
from typing import NamedTuple

from coldfork.source.files.reading import CannotRead
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Case, Node, line_of

#: The first Python version with lazy imports.
FIRST = (3, 15)
#: The variable that lists a module's lazy imports; older Python versions ignore it.
LISTED = "__lazy_modules__"
_LISTED = LISTED.encode()
_STATEMENT = re.compile(
    rb"lazy(?:[ \t]|\\\n)+(?:import(?:[ \t]|\\\n)+[^\s,;#]+[ \t]*(?:\n|[,;#\\]|as\b)"
    rb"|from\b[^\n]*\bimport\b|from[ \t]*\\)"
)

EAGER, UNSURE, DECLARED = 0, 1, 2
_Import = ast.Import | ast.ImportFrom


def may_be_spelt(source: bytes) -> bool:
    """Return True if the source may contain a `lazy import`, or a text that looks like one."""
    at = source.find(b"lazy")
    while at >= 0:
        before = source[source.rfind(b"\n", 0, at) + 1 : at].rstrip(b" \t")
        if (not before or before.endswith((b":", b";"))) and _STATEMENT.match(source, at):
            return True
        at = source.find(b"lazy", at + 4)
    return False


def laziness(node: _Import) -> int:
    """Return whether an import statement is lazy, as far as the file shows."""
    return int(getattr(node, "is_lazy", EAGER))


def may_be_listed(source: bytes, target_version: tuple[int, int]) -> bool:
    """Return True if the module may list lazy imports, and the target Python supports them."""
    return target_version >= FIRST and _LISTED in source


def declare(tree: ast.Module, source: bytes, target_version: tuple[int, int]) -> frozenset[str]:
    """Mark the lazy imports of a module; return the names that they bind and the submodules that they import.

    A misplaced `lazy import` makes the whole file invalid, as it does in Python.
    """
    if may_be_spelt(source):
        for node in ast.walk(tree):
            if isinstance(node, _Import) and laziness(node):
                node.is_lazy = DECLARED  # type: ignore[union-attr]
                _refuse_version(node, target_version)
        _refuse_places(tree.body, "")
    if target_version < FIRST:
        return frozenset()
    if may_be_listed(source, target_version):
        for node in _eligible(tree.body):
            starred = any(alias.name == "*" for alias in node.names)
            if not laziness(node) and not starred and getattr(node, "module", None) != "__future__":
                node.is_lazy = UNSURE  # type: ignore[union-attr]
    found: set[str] = set()
    for node in _eligible(tree.body):
        if laziness(node):
            found.update(_bound(node))
    return frozenset(found)


def _refuse_version(node: _Import, target_version: tuple[int, int]) -> None:
    if target_version < FIRST:
        asked = ".".join(map(str, target_version))
        raise CannotRead(
            f"uses `lazy import` of Python 3.15, which the target version, Python {asked}, cannot read; "
            f"list the modules in {LISTED} instead, which older Pythons ignore",
            node.lineno,
            node.col_offset,
        )


def _refuse_places(statements: Sequence[ast.AST], inside: str) -> None:
    """Reject a `lazy import` in a function, class or `try` statement, and a lazy star import."""
    pending = [(statement, inside) for statement in statements]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, _Import):
            reason = _misplaced(node, inside) if laziness(node) else ""
            if reason:
                raise CannotRead(f"does not parse: {reason}", node.lineno, node.col_offset)
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = "functions"
        elif isinstance(node, ast.ClassDef):
            inside = inside or "classes"
        elif isinstance(node, (ast.Try, ast.TryStar)):
            inside = inside or "try/except blocks"
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            pending.extend((child, inside) for child in ast.iter_child_nodes(node))


def _misplaced(node: _Import, inside: str) -> str:
    if inside:
        return f"lazy import not allowed inside {inside}"
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return "lazy from __future__ import is not allowed"
    return "lazy from ... import * is not allowed" if any(a.name == "*" for a in node.names) else ""


def _eligible(statements: Sequence[ast.stmt]) -> Iterator[_Import]:
    """Yield the import statements at module level that may be lazy: those outside any `try` block."""
    for node in statements:
        if isinstance(node, _Import):
            yield node
        elif isinstance(node, (ast.Try, ast.TryStar)):
            yield from _eligible(node.finalbody)
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.AsyncFor)):
            yield from _eligible(node.body)
            yield from _eligible(node.orelse)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            yield from _eligible(node.body)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from _eligible(case.body)


def _bound(node: _Import) -> Iterator[str]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name
        else:
            yield alias.asname or alias.name.partition(".")[0]
            if "." in alias.name:
                yield alias.name


def may_be_lazy(block: Block, line: int) -> bool:
    """Return True if Python would allow an import at this line of a module's body to be lazy (PEP 810)."""
    return any(_found(node, line) for node in block if node[0] != nodes.LOADS)


def _found(node: Node, line: int) -> bool:
    match node:
        case (nodes.IMPORT, *_):
            return line_of(node) == line
        case (nodes.FROM, _, _, _, _, names):
            return line_of(node) == line and all(name != "*" for name, _ in names)
        case (nodes.IF | nodes.WHILE, _, _, body, orelse, _) | (
            nodes.FOR | nodes.ASYNC_FOR,
            _,
            _,
            _,
            body,
            orelse,
        ):
            return may_be_lazy(body, line) or may_be_lazy(orelse, line)
        case (nodes.WITH | nodes.ASYNC_WITH, _, _, body):
            return may_be_lazy(body, line)
        case (nodes.TRY, _, _, _, _, final):
            return may_be_lazy(final, line)
        case (nodes.MATCH, _, _, cases):
            return any(may_be_lazy(Case._make(one).block, line) for one in cases)
    return False


_WORD = rb"[A-Za-z_]\w*+"
_PATH = rb"%b(?:\.%b)*+" % (_WORD, _WORD)
_AS = rb"(?: as %b)?+" % _WORD
_GAP = rb"(?:[ \t\n]++|\#[^\n]*+)*+"
_COMMENT = re.compile(rb"#[^\n]*")
_KEYWORDS = frozenset(word.encode() for word in kwlist)

Names = tuple[tuple[str, str | None], ...]
#: The first and last line, the module after `from`, the dots before it (-1 for `import`), and names with
#: aliases.
PlainImport = tuple[int, int, str | None, int, Names]


class Found(NamedTuple):
    """A parsed import: its names, the end of its parentheses if it has any, and the end of the statement."""

    module: str | None
    level: int
    names: Names
    closed: int
    end: int


@cache
def _pattern() -> re.Pattern[bytes]:
    """Return the pattern of an import statement, compiled on first use because compiled skeletons never need
    it.
    """
    return re.compile(
        rb"(?:import (?P<modules>%(path)b%(as)b(?:, ?%(path)b%(as)b)*+)"
        rb"|from (?P<dots>\.*+)(?P<source>%(path)b)?+ import "
        rb"(?:(?P<names>%(word)b%(as)b(?:, ?%(word)b%(as)b)*+)"
        rb"|\(%(gap)b(?P<listed>%(word)b%(as)b%(gap)b(?:,%(gap)b%(word)b%(as)b%(gap)b)*+),?+%(gap)b(?P<end>\))))"
        rb"[ \t]*+(?:\#[^\n]*+)?+\n" % {b"word": _WORD, b"path": _PATH, b"as": _AS, b"gap": _GAP}
    )


def plain_import(source: bytes, start: int, end: int) -> Found | None:
    """Return the import statement that begins at the start of a line; None if it has an unusual form."""
    found = _pattern().match(source, start, end)
    if found is None:
        return None
    dots, module = found["dots"], found["source"]
    level = -1 if dots is None else len(dots)
    if (level == 0 and not module) or module == b"__future__":
        return None
    if module and not _KEYWORDS.isdisjoint(module.split(b".")):
        return None
    names = _names(_COMMENT.sub(b"", found["modules"] or found["names"] or found["listed"]))
    if names is None:
        return None
    closed = max(found.start("end"), start)
    return Found(module.decode() if module else None, level, names, closed, found.end())


def _names(text: bytes) -> Names | None:
    """Return the imported names and their aliases; None if one of them is a keyword."""
    names: list[tuple[str, str | None]] = []
    for part in text.split(b","):
        words = part.split()
        if not _KEYWORDS.isdisjoint((*words[0].split(b"."), *words[2:])):
            return None
        names.append((intern(words[0].decode()), intern(words[2].decode()) if len(words) > 1 else None))
    return tuple(names)
