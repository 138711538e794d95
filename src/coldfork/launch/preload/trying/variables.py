"""Record the environment variables that imports read and set, and the values that modules keep."""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from types import CodeType, FunctionType, ModuleType

from coldfork.launch.preload.trying.lines import parsed, site
from coldfork.launch.server.variables import is_workers_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from coldfork.launch.preload.trying.lines import Site

    Use = tuple[str | None, Site]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEEPEST = 3


class Variables:
    """The variables read and set since the last `forget`, each with its first reader or latest writer.

    Reads by C code are not seen. A copy of the whole environment does not count as a read, because the aim is
    to find lines that freeze one variable; a server counts it as a read of all variables (`server.reads`).
    """

    def __init__(self, module: Callable[[], str | None]) -> None:
        self._module = module
        self._copied: str | None = None
        self._to_copy: list[str] = []
        """The names just listed, the last one first: code that copies the environment asks for them in this
        order.
        """
        self.reads: dict[str, Use] = {}
        self.writes: dict[str, tuple[str | None, Use]] = {}

    def forget(self) -> None:
        """Forget all earlier reads and writes."""
        self.reads, self.writes = {}, {}

    def of_workers(self) -> dict[str, Use]:
        """Return the recorded reads of variables that differ between workers."""
        return {name: use for name, use in self.reads.items() if is_workers_own(name, use[0])}

    def listen(self) -> None:
        """Record every use of `os.environ` from now on."""
        kind: Any = type(os.environ)
        get, put, drop, names = kind.__getitem__, kind.__setitem__, kind.__delitem__, kind.__iter__

        def get_noting(environment: Any, name: Any) -> Any:
            if environment is os.environ and not self._is_copied(name) and name not in self.reads:
                self.reads[name] = (self._module(), site())
            return get(environment, name)

        def set_noting(environment: Any, name: Any, value: Any) -> None:
            put(environment, name, value)
            if environment is os.environ:
                self.writes[name] = (value, (self._module(), site()))

        def remove_noting(environment: Any, name: Any) -> None:
            drop(environment, name)
            if environment is os.environ:
                self.writes[name] = (None, (self._module(), site()))

        def list_noting(environment: Any) -> Iterator[Any]:
            listed = list(names(environment))
            for name in listed:
                self._copied = name
                yield name
            self._copied, self._to_copy = None, listed[::-1]

        kind.__getitem__, kind.__setitem__ = get_noting, set_noting
        kind.__delitem__, kind.__iter__ = remove_noting, list_noting

    def _is_copied(self, name: Any) -> bool:
        if name == self._copied:
            return True
        if self._to_copy and self._to_copy[-1] == name:
            self._to_copy.pop()
            return True
        self._to_copy = []
        return False


def pretend(values: dict[str, str | None]) -> None:
    """Make Python code see other values of variables; C code still sees the real ones."""
    environment: Any = os.environ
    for name, value in values.items():
        if value is None:
            environment._data.pop(os.fsencode(name), None)
        else:
            environment._data[os.fsencode(name)] = os.fsencode(value)


def imprint(module: str | None) -> str:
    """Return a digest of the plain values among a module's globals."""
    held = vars(sys.modules[module]) if module in sys.modules else {}
    plain = {
        name: value
        for name, value in list(held.items())
        if not name.startswith("__") and _is_plain(value, _DEEPEST)
    }
    for name in _on_its_way(held.get("__file__")) & plain.keys():
        if not _is_asked_for(name, str(module)):
            del plain[name]
    text = repr(sorted(plain.items()))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _is_plain(value: Any, depth: int) -> bool:
    if value is None or type(value) in (bool, int, float, str, bytes):
        return True
    # Only exact types, because methods of subclasses may run any code.
    if depth and type(value) in (tuple, list):
        return all(_is_plain(one, depth - 1) for one in value)
    if depth and type(value) is dict:
        return all(_is_plain(key, 0) and _is_plain(one, depth - 1) for key, one in list(value.items()))
    return False


def _on_its_way(path: object) -> set[str]:
    """Return the names that are read by a module's top-level code, but by none of its functions."""
    tree = parsed(path)
    if tree is None:
        return set()
    in_functions: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            in_functions |= _read(ast.walk(node))
    return _read(_body(tree)) - in_functions


def _body(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module's syntax tree that lie outside functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _body(child)


def _read(nodes: Iterator[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _is_asked_for(name: str, module: str) -> bool:
    """Return whether any loaded module uses this name, as its own or as an attribute."""
    for other, loaded in list(sys.modules.items()):
        held = vars(loaded) if issubclass(type(loaded), ModuleType) else None
        if other == module or not isinstance(held, dict):
            continue
        if name in held or any(name in code.co_names for code in _codes(held)):
            return True
    return False


def _codes(held: dict[str, Any]) -> Iterator[CodeType]:
    """Yield the code of a module's functions and methods."""
    for value in list(held.values()):
        members = list(vars(value).values()) if issubclass(type(value), type) else [value]
        for member in members:
            # Other objects are skipped, because inspecting them may run their own code.
            if type(member) in (staticmethod, classmethod):
                member = member.__func__
            if type(member) is FunctionType:
                yield from _with_inner(member.__code__)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
