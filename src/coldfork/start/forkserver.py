"""The forkserver of multiprocessing: whether it runs, and what it preloads; nothing here starts it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODULE = "multiprocessing.forkserver"
# Variables that the shell or a library sets for each process, and that may therefore differ.
_OF_ONE_PROCESS = ("_", "KMP_", "PWD", "OLDPWD", "SHLVL")


@dataclass(frozen=True, slots=True)
class Server:
    """The facts about the forkserver that are known without starting or asking it."""

    preload: tuple[str, ...] = ()
    """The modules that it imports before it forks; `__main__` is not among them, because each process imports
    it.
    """
    running: bool = False
    differences: tuple[str, ...] = ()
    """The variables of the environment that have changed since it was started."""


def server(names: Mapping[str, Any] | None) -> Server:
    """Return the server, read from `multiprocessing.forkserver` if the program has imported that."""
    forkserver = (names or {}).get("_forkserver")
    preload = getattr(forkserver, "_preload_modules", None)
    pid = getattr(forkserver, "_forkserver_pid", None)
    modules = tuple(str(name) for name in preload or () if name != "__main__")
    if not isinstance(pid, int):
        return Server(modules)
    return Server(modules, running=True, differences=_differences(pid))


def _differences(pid: int) -> tuple[str, ...]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
    except OSError:
        return ()
    theirs = {name: value for name, _, value in pairs}
    ours = dict(getattr(os, "environb", {}))
    changed = {name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name)}
    return tuple(name for name in sorted(map(os.fsdecode, changed)) if not name.startswith(_OF_ONE_PROCESS))
