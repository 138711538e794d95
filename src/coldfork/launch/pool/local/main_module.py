"""The caller's main module in a worker: it is imported when something of it is asked for, and not before.

A task whose function stands in another module needs no `if __name__ == "__main__":` in the script, then,
and a script that takes long to import makes no worker late.
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
"""What multiprocessing says of the main module in what it has a new process prepare."""
_COMPARED = re.compile(rb"__name__\s*[!=]=|[!=]=\s*__name__")
_NAMES = ("__main__", "__mp_main__")


class AwaitedMain(ModuleType):
    """Stands in for the main module until something of it is asked for."""

    def __init__(self, preparation: Mapping[str, Any]) -> None:
        super().__init__("__main__")
        self.__dict__["_preparation"] = dict(preparation)

    def __getattr__(self, name: str) -> Any:
        """Something of the main module, which is imported now."""
        preparation = self.__dict__["_preparation"]
        if name.startswith("__") or not preparation or is_inheriting():
            raise AttributeError(f"module '__main__' has no attribute {name!r}")
        return getattr(_imported(preparation), name)


def preparation() -> dict[str, Any]:
    """How another process imports the main module of this one; empty where it cannot."""
    said = preparation_data("coldfork")
    path = said.get("init_main_from_path")
    if path is not None and not os.path.isfile(path):
        # What is read from standard input says that it is in a file of that name.
        return {}
    if path is not None and not _is_guarded(path):
        # All of it would run again in every worker.
        return {}
    if str(said.get("init_main_from_name")).endswith(".__main__"):
        # multiprocessing imports no module that is there to be run.
        return {}
    return {name: said[name] for name in KEYS if name in said}


def _is_guarded(path: str) -> bool:
    """Whether a script asks how it is called; one that does not cannot tell a worker from its caller."""
    try:
        with open(path, "rb") as stream:
            return _COMPARED.search(stream.read()) is not None
    except OSError:
        return False


def await_main(preparation: Mapping[str, Any]) -> None:
    """Have the main module imported when it is asked for, unless the server has imported it already."""
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
    """Whether this is a worker that only imports its caller's main module just now."""
    return bool(getattr(process.current_process(), "_inheriting", False))
