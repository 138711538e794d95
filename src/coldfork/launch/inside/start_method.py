"""Makes a start method the default of multiprocessing, without importing multiprocessing."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

#: Where packages keep the context that is used when nobody names one.
CONTEXTS = frozenset({"multiprocessing.context", "multiprocess.context"})


class Enforcer:
    """Sets the default start method in each package of this kind right after its module was loaded."""

    def __init__(self, method: str) -> None:
        self._method = method

    def install(self) -> None:
        """Begin; what is imported already is set now."""
        sys.meta_path.insert(0, self)
        for name in CONTEXTS:
            module = sys.modules.get(name)
            if module is not None:
                self.enforce(module)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find such a module as Python would, and have its loader call us; nothing about any other."""
        if name not in CONTEXTS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            self.enforce(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def enforce(self, context: ModuleType) -> None:
        """Set the default, and not the choice: a script may still choose once, as it could alone."""
        try:
            known = context._concrete_contexts.get(self._method)
            if known is not None and context._default_context._actual_context is None:
                context._default_context._default_context = known
        except AttributeError:
            # Another shape of the module: the default stays what it is.
            return
