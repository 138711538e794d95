"""Which exceptions an `except` clause is for, judged by their names."""

from __future__ import annotations

import builtins

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, last_name
from coldfork.source.syntax.walk import children

#: Exceptions that mean to leave the program: `except Exception` lets them through.
_LEAVING = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})

#: Exceptions of the standard library, with the built-in one that they are.
_DERIVED = {"PackageNotFoundError": "ModuleNotFoundError"}


def handles(kinds: Node | None, raised: str) -> bool:
    """Whether an `except` clause catches an exception of this name, judged by the built-in hierarchy."""
    if kinds is None:
        return True
    names = _exception_names(kinds)
    if not names or raised in names or "BaseException" in names:
        return True
    if "Exception" in names:
        return raised not in _LEAVING
    known = getattr(builtins, _DERIVED.get(raised, raised), None)
    if not isinstance(known, type):
        # One of a library's own: clauses that name a library's exceptions are taken to mean it.
        return any(not isinstance(getattr(builtins, name, None), type) for name in names)
    caught = [getattr(builtins, name, None) for name in names]
    return any(isinstance(one, type) and issubclass(known, one) for one in caught)


def _exception_names(node: Node) -> set[str]:
    if node[0] == nodes.SEQUENCE:
        return {name for element in children(node) for name in _exception_names(element)}
    name = last_name(node)
    return {name} if name is not None else set()
