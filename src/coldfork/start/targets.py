"""The target of a new process, and the imports that a new interpreter would need for it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from coldfork.model.errors import UsageError
from coldfork.model.forking.judgement import Purpose
from coldfork.observe.forking import purposes

MAIN = "__main__"


@dataclass(frozen=True, slots=True)
class Target:
    """The module that a new process will import, and the function in it."""

    module: str
    function: str | None = None
    file: str | None = None
    """The file of the module, if it is known without a search."""

    @property
    def has_no_file(self) -> bool:
        """Whether the target was typed into an interpreter or notebook, so that no process can import it."""
        return self.module == MAIN and self.file is None

    @property
    def cannot_be_pickled(self) -> bool:
        """Whether the target is a lambda or a nested function, which pickle cannot pass on."""
        return self.function is not None and "<" in self.function

    @property
    def purpose(self) -> Purpose:
        """The purpose of a process that runs the target: a worker of a known kind, or any function."""
        return Purpose(purposes.WORKERS.get((self.module, self.function or ""), purposes.PROCESS))

    def __str__(self) -> str:
        return f"{self.module}:{self.function}" if self.function else self.module


def target_of(thing: object) -> Target | None:
    """Return the target for a callable, a module, or a text such as `package.module:function`."""
    if thing is None:
        return None
    if isinstance(thing, Target):
        return thing
    if isinstance(thing, str):
        module, _, function = thing.partition(":")
        if not module or not all(part.isidentifier() for part in module.split(".")):
            raise UsageError(
                f"{thing!r} is not a target: give a callable, or a text such as 'package.module:function'"
            )
        return Target(module, function or None, _file_of(module))
    if isinstance(thing, ModuleType):
        return Target(thing.__name__, None, _file_of(thing.__name__))
    return _of_callable(thing)


def _of_callable(thing: Any) -> Target:
    # A partial runs the function inside it.
    while hasattr(thing, "func") and hasattr(thing, "keywords"):
        thing = thing.func
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(named, "__module__", None)
    if not callable(thing) or not isinstance(module, str):
        raise UsageError(
            f"{thing!r} is not a target: give a callable, or a text such as 'package.module:function'"
        )
    return Target(module, named.__qualname__, _file_of(module))


def _file_of(module: str) -> str | None:
    """Return the file of an imported module, without searching or importing anything."""
    found = getattr(sys.modules.get(module), "__file__", None)
    return found if isinstance(found, str) else None
