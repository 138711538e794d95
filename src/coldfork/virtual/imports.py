"""Run code right after the import of a module, without causing the import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

After = Callable[[ModuleType], None]


class AfterImport:
    """A finder that leaves the search to the other finders, and adds a last step to a module's loading."""

    def __init__(self, steps: Mapping[str, After]) -> None:
        self._steps = dict(steps)
        self._searching: set[str] = set()

    def install(self) -> None:
        """Run the steps of modules that are already imported, and put this finder before the others."""
        sys.meta_path.insert(0, self)
        for name, step in self._steps.items():
            module = sys.modules.get(name)
            # A module that is still being loaded belongs to an import in progress, whose loader was not
            # wrapped.
            if module is not None:
                step(module)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as the other finders would, and run its step once it is loaded."""
        step = self._steps.get(name)
        if step is None or name in self._searching:
            return None
        self._searching.add(name)
        try:
            spec = self._search(name, path, target)
        finally:
            self._searching.discard(name)
        if spec is not None and spec.loader is not None:
            _then(spec, step)
        return spec

    def _search(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                return spec
        return None


def _then(spec: ModuleSpec, step: After) -> None:
    """Let a module's loader also run the step, without changing the class of the loader."""
    loader = spec.loader
    load = getattr(loader, "exec_module", None)
    if load is None:
        return

    def exec_module(module: ModuleType) -> None:
        load(module)
        step(module)

    try:
        loader.exec_module = exec_module  # type: ignore[method-assign, union-attr]
    except AttributeError:
        spec.loader = _Wrapped(loader, exec_module)  # type: ignore[assignment]


class _Wrapped:
    """A substitute for a loader on which no attributes can be set."""

    def __init__(self, loader: object, exec_module: After) -> None:
        self._loader = loader
        self.exec_module = exec_module

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        create: Callable[[ModuleSpec], ModuleType | None] | None = getattr(
            self._loader, "create_module", None
        )
        return create(spec) if create is not None else None

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)
