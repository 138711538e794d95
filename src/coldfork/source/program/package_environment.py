"""The variables that a package's `__init__` sets before its submodules run, and the modules next to a
program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from coldfork.source.files.discovery import Found
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, line_of
from coldfork.source.syntax.variables import DEFAULT_DEVICE, Environment, set_by, sets_variables

_MOST_MODULES = 400
_NOTHING: Environment = {}


class _Walk(NamedTuple):
    """The environment variables after a package's import, and at the beginning of each of its modules."""

    at_start: dict[str, Environment]
    final: Environment


class _Sets(NamedTuple):
    """A statement that sets environment variables."""

    node: Node


class PackageEnvironments:
    """The environment variables at the beginning of each module, computed once per top-level package."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._walks: dict[str, _Walk] = {}
        self._left: dict[str, Environment] = {}
        self._steps: dict[str, tuple[str | _Sets, ...]] = {}
        self._writers = _Writers(program)

    def environment(self, module: Module) -> Environment:
        """Return the environment variables set when `module` begins, after its top-level package has run."""
        top = module.name.partition(".")[0]
        if top == module.name:
            return _NOTHING
        walk = self._walk_of(top)
        return walk.at_start.get(module.name, walk.final)

    def environment_at(self, module: Module, line: int) -> Environment:
        """Return the environment variables set when a line of the module's body runs."""
        top = module.name.partition(".")[0]
        walk = self._walk_of(top)
        current = dict(walk.at_start.get(module.name, walk.final))
        for node in module.summary.body:
            if node[0] == nodes.LOADS or line_of(node) >= line:
                continue
            if node[0] in (nodes.IMPORT, nodes.FROM):
                for name in _imported(module, node):
                    if name.partition(".")[0] == top and name != top:
                        current.update(self._left_by(name, top))
            else:
                set_by(node, current)
        return current

    def _left_by(self, name: str, top: str) -> Environment:
        """Return the environment variables that importing one module of a package sets."""
        known = self._left.get(name)
        if known is None:
            walk = _Walk({}, {})
            target = self._program.module(name)
            if target is not None and self._writers.led_to_by(name, top):
                self._enter(target, top, walk, self._writers)
            known = self._left[name] = walk.final
        return known

    def _walk_of(self, top: str) -> _Walk:
        walk = self._walks.get(top)
        if walk is None:
            walk = self._walks[top] = self._walk(top)
        return walk

    def _walk(self, top: str) -> _Walk:
        """Follow the plain imports and assignments in the modules of a package, in execution order."""
        state = self._program.module(top)
        walk = _Walk({}, {})
        if state is not None and state.located.is_package:
            self._enter(state, top, walk)
        return walk

    def _enter(self, state: Module, top: str, walk: _Walk, only: _Writers | None = None) -> None:
        """Follow one module when it is imported; `walk` contains the variables set so far, and is updated."""
        at_start, current = walk.at_start, walk.final
        if len(at_start) > _MOST_MODULES:
            return
        at_start[state.name] = dict(current)
        for step in self._steps_of(state, top):
            if isinstance(step, _Sets):
                set_by(step.node, current)
            elif step not in at_start:
                target = self._program.module(step)
                if target is not None and (only is None or only.led_to_by(step, top)):
                    self._enter(target, top, walk, only)

    def _steps_of(self, state: Module, top: str) -> tuple[str | _Sets, ...]:
        """Return, in order, the modules of the same package that a module imports, and its statements that
        set variables.
        """
        known = self._steps.get(state.name)
        if known is None:
            known = self._steps[state.name] = tuple(_steps(state, top))
        return known


class _Writers:
    """The modules whose import sets an environment variable, directly or through other imports.

    These modules are few, so a search limited to them ends quickly.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._importers: dict[str, list[str]] = {}
        self._seen: set[str] = set()
        self._leading: set[str] = set()

    def led_to_by(self, name: str, top: str) -> bool:
        """Return True if importing a module may set an environment variable."""
        if name not in self._seen:
            self._explore(name, top)
        return name in self._leading

    def _explore(self, name: str, top: str) -> None:
        """Examine a module, and all modules of its package that it may import, for statements that set
        variables.
        """
        pending = [name]
        self._seen.add(name)
        found: list[str] = []
        while pending:
            here = pending.pop()
            state = self._program.module(here)
            if state is None:
                continue
            if state.outline.sets_variables:
                found.append(here)
            for imported in may_import(state, top):
                self._importers.setdefault(imported, []).append(here)
                if imported in self._leading:
                    found.append(here)
                if imported not in self._seen:
                    self._seen.add(imported)
                    pending.append(imported)
        while found:
            leading = found.pop()
            if leading not in self._leading:
                self._leading.add(leading)
                found += self._importers.get(leading, ())


def may_import(state: Module, top: str = "") -> Iterator[str]:
    """Yield the modules that the imports of a module may run, packages first; with `top`, only those of that
    package.
    """
    for module, level, names in state.outline.imports:
        base = state.absolute(module, level)
        if base and base.partition(".")[0] == (top or base.partition(".")[0]):
            yield from with_packages(base)
            yield from (f"{base}.{name}" for name in names or () if name != "*")


def _steps(state: Module, top: str) -> Iterator[str | _Sets]:
    sets = state.outline.sets_variables
    for node in state.summary.body:
        if node[0] in (nodes.IMPORT, nodes.FROM):
            yield from (name for name in _imported(state, node) if name.partition(".")[0] == top)
        elif sets and sets_variables((node,)):
            yield _Sets(node)


def _imported(state: Module, node: Node) -> list[str]:
    """Return the modules that an import statement may run, packages first."""
    if node[0] == nodes.IMPORT:
        _, _, _, names = node
        bases = [name for name, _ in names]
    else:
        _, _, _, module, level, names = node
        base = state.absolute(module, level)
        bases = [base, *[f"{base}.{name}" for name, _ in names if name != "*"]]
    return [name for base in bases for name in with_packages(base)]


@cache
def with_packages(module: str) -> tuple[str, ...]:
    """Return the packages that contain a module, outermost first, and the module itself."""
    parts = module.split(".")
    return tuple([".".join(parts[: index + 1]) for index in range(len(parts))])


def device_left_by(module: Module) -> str | None:
    """Return the default device that plain statements of a module's body set; None if there are none."""
    if not module.outline.sets_variables:
        return None
    left: Environment = {}
    for node in module.summary.body:
        if node[0] == nodes.EXPR:
            set_by(node, left)
    return left.get(DEFAULT_DEVICE)


def take_in_neighbours(found: Found, program: Program) -> None:
    """Add to the checked files the modules that a named script imports from its own folder."""
    for script in found.scripts:
        folder = os.path.dirname(found.files[script])
        shown = os.path.dirname(found.display[script])
        pending = [script]
        while pending:
            module = program.module(pending.pop())
            for name in may_import(module) if module is not None else ():
                located = program.finder.find(name)
                if located is None or located.path is None or name in found.files:
                    continue
                if not located.path.startswith(f"{folder}{os.sep}"):
                    continue
                found.files[name] = located.path
                if "." not in name and not located.is_package:
                    found.display[name] = f"{shown}/{name}.py".lstrip("/")
                pending.append(name)
