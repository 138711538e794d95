"""The caller's main module in a worker: imported only when one of its attributes is needed.

So if a task's function is defined in another module, the script needs no `if __name__ == "__main__":`, and
slow imports in the script delay no worker.
"""

from __future__ import annotations

import os
import re
import sys
from multiprocessing import process, spawn
from types import ModuleType

from coldfork.launch.server.zygote.processes import preparation_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEYS = ("init_main_from_name", "init_main_from_path")
"""The keys that name the main module in multiprocessing's preparation of a new process."""
_COMPARED = re.compile(rb"__name__\s*[!=]=|[!=]=\s*__name__")
_NAMES = ("__main__", "__mp_main__")


class AwaitedMain(ModuleType):
    """A stand-in for the main module until one of its attributes is needed."""

    def __init__(self, preparation: Mapping[str, Any]) -> None:
        super().__init__("__main__")
        self.__dict__["_preparation"] = dict(preparation)

    def __getattr__(self, name: str) -> Any:
        """Import the main module, and return this attribute of it."""
        preparation = self.__dict__["_preparation"]
        if name.startswith("__") or not preparation or is_inheriting():
            raise AttributeError(f"module '__main__' has no attribute {name!r}")
        return getattr(_imported(preparation), name)


def preparation() -> dict[str, Any]:
    """Return the data with which another process imports this process's main module; empty if none can."""
    said = preparation_data("coldfork")
    path = said.get("init_main_from_path")
    if path is not None and not os.path.isfile(path):
        # A program read from standard input is named like a file, but there is no such file.
        return {}
    if path is not None and not _is_guarded(path):
        # Without a test of `__name__`, the whole script would run again in every worker.
        return {}
    if str(said.get("init_main_from_name")).endswith(".__main__"):
        # Like multiprocessing, do not import a `__main__` module, which is meant to be run.
        return {}
    return {name: said[name] for name in KEYS if name in said}


def _is_guarded(path: str) -> bool:
    """Return whether a script tests `__name__`; without that test it would run again in each worker."""
    try:
        with open(path, "rb") as stream:
            return _COMPARED.search(stream.read()) is not None
    except OSError:
        return False


def await_main(preparation: Mapping[str, Any]) -> None:
    """Have the main module imported on demand, unless the server has imported it already."""
    if sys.modules["__main__"].__name__ == "__mp_main__":
        return
    awaited = AwaitedMain(preparation)
    for name in _NAMES:
        sys.modules[name] = awaited


def _imported(preparation: dict[str, Any]) -> ModuleType:
    current: Any = process.current_process()
    awaited = sys.modules["__main__"]
    current._inheriting = True
    try:
        spawn.prepare(preparation)
    except BaseException:
        for name in _NAMES:
            sys.modules[name] = awaited
        raise
    finally:
        del current._inheriting
    return sys.modules["__main__"]


def is_inheriting() -> bool:
    """Return whether this process is a worker that is importing its caller's main module at the moment."""
    return bool(getattr(process.current_process(), "_inheriting", False))
