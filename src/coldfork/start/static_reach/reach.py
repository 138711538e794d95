"""Find the effects on accelerators of importing a module, with `coldfork check` and without the import.

`StaticReach` returns a cached answer, or has another process check the module and waits for it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coldfork.start.static_reach.answers import Place, ReachAnswer, Reached

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldfork.start.targets import Target

DEADLINE = 20.0
"""How many seconds a check may take before its answer is given up."""


class StaticReach:
    """A client that asks `coldfork check --entry` in another process, and caches the answers."""

    def __init__(self, deadline: float = DEADLINE, search: Sequence[str] | None = None) -> None:
        self._deadline = deadline
        self._search = sys.path if search is None else search
        self._not_kept: dict[Place, ReachAnswer] = {}
        """The answers that cannot be cached on disk; each process waits for one only once."""

    def __call__(self, target: Target) -> ReachAnswer:
        """Return whether importing the target's module wakes a device; never raise an error, never
        import it.
        """
        if target.module.partition(".")[0] in sys.stdlib_module_names and target.module != "__main__":
            return ReachAnswer(target.module, Reached.NOTHING, "it belongs to the standard library")
        try:
            place = located(target, self._search)
            if isinstance(place, str):
                return ReachAnswer.unknown(target.module, place)
            return replace(self._answer(place), module=target.module)
        except Exception as error:
            return ReachAnswer.unknown(target.module, f"{type(error).__name__}: {error}")

    def _answer(self, place: Place) -> ReachAnswer:
        # Imported here, because most decisions need neither another process nor the cache.
        from coldfork.start.static_reach import cache, check_process

        kept = cache.KeptAnswer.of(place, self._search)
        answer = kept.read()
        if answer is None:
            answer = self._not_kept.get(place) or check_process.ask(place, self._search, self._deadline)
            if answer.reached is Reached.UNKNOWN or not kept.possible:
                self._not_kept[place] = answer
            kept.write(answer)
        return answer


def located(target: Target, search: Sequence[str]) -> Place | str:
    """Return the place of a target's source without importing it, or why the place is unknown."""
    module, file = target.module, target.file
    if module == "__main__":
        main = getattr(sys.modules.get("__main__"), "__spec__", None)
        if main is None:
            return _script(file)
        module = main.name
    top = module.partition(".")[0]
    origin = _origin(top, search)
    if origin is None:
        return f"there is no module {top} on sys.path"
    if os.path.isdir(origin):
        return Place(module, os.path.dirname(origin), origin)
    if not origin.endswith(".py"):
        return f"{os.path.basename(origin)} has no readable source"
    folder = os.path.dirname(origin)
    return Place(module, folder, folder)


def _script(file: str | None) -> Place | str:
    if file is None:
        return "it was defined interactively and is in no file"
    path = os.path.abspath(file)
    name, suffix = os.path.splitext(os.path.basename(path))
    if suffix != ".py" or not name.isidentifier():
        return f"{os.path.basename(path)} cannot be a module's name"
    return Place(name, os.path.dirname(path), os.path.dirname(path))


def _origin(top: str, search: Sequence[str]) -> str | None:
    """Return the folder of a top-level package, or the file of a top-level module."""
    spec: Any = getattr(sys.modules.get(top), "__spec__", None) or _found(top, search)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return os.path.abspath(str(next(iter(spec.submodule_search_locations))))
    return os.path.abspath(str(spec.origin)) if spec.has_location and spec.origin else None


def _found(top: str, search: Sequence[str]) -> Any:
    from importlib.machinery import PathFinder

    return PathFinder.find_spec(top, list(search))
