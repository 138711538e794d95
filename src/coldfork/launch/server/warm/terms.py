"""On which terms a script may be forked from a server: what both have read, and whether it was the same."""

from __future__ import annotations

import os
from dataclasses import dataclass

from coldfork.launch.server.zygote import variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

OURS = ("COLDFORK_WATCH", "COLDFORK_RUN", "COLDFORK_CHANNEL", "COLDFORK_SPARE")
"""Variables that are another one in every script, and that only coldfork reads."""
_LOCALE = ("LANG", "LANGUAGE", "LC_")
_GIVEN_ANEW = (*variables.HELD, *variables.FOLLOWING, *variables.QUIET, *variables.UNLESS_SET)
"""Variables that are read at import, and whose value every script is given by other means."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A script that is to be started."""

    python: str
    words: Sequence[str]
    """What stands behind the interpreter on its command line."""
    environment: Mapping[str, str]
    cwd: str | None
    modules: Sequence[str]
    """What its server has imported."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides which server a script may come from."""

    python: str
    modules: tuple[str, ...]
    environment: dict[str, str]
    cwd: str
    folder: str | None
    """What the script has first on its path for imports."""

    @staticmethod
    def of(message: Mapping[str, Any]) -> Facts:
        """Those that a client sent."""
        return Facts(
            python=message["python"],
            modules=tuple(message["modules"]),
            environment=dict(message["environment"]),
            cwd=message["cwd"],
            folder=message["folder"],
        )

    @property
    def server_environment(self) -> dict[str, str]:
        """What a server for such scripts is started with."""
        kept = {name: value for name, value in self.environment.items() if name not in OURS}
        without = {name: value for name, value in kept.items() if name not in variables.FOLLOWING}
        return {**variables.UNLESS_SET, **without, **variables.HELD, **variables.QUIET}


def read_otherwise(then: Mapping[str, str], now: Mapping[str, str], read: Mapping[str, Any]) -> str | None:
    """A variable that a server has read and that says something else now; None if there is none."""
    for name in sorted(then.keys() | now.keys()):
        if name in OURS or name in _GIVEN_ANEW or then.get(name) == now.get(name):
            continue
        if _was_read(name, read):
            return name
    return None


def _was_read(name: str, read: Mapping[str, Any]) -> bool:
    return (
        name in read["variables"]
        or name.startswith(("PYTHON", *_LOCALE, *read["beginnings"]))
        or variables.was_read(name, read["early"])
        or (read["whole"] is not None and name not in _OF_SHELLS)
    )


_OF_SHELLS = frozenset(
    {"_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "TERM_SESSION_ID", "TMUX", "TMUX_PANE", "WINDOWID"}
)
"""Variables that say where a shell stands, and that nobody means who goes through all of them."""


def stand_in(names: Mapping[str, str], folder: str | None) -> str | None:
    """A file in a script's own folder that it would import in place of a module of the server's."""
    if folder is None:
        return None
    try:
        listed = os.listdir(folder)
    except OSError:
        return None
    for entry in listed:
        name, dot, _ = entry.partition(".")
        home = names.get(name)
        if home is None or os.path.realpath(home) == os.path.realpath(folder):
            continue
        path = os.path.join(folder, entry)
        if entry.endswith((".py", ".pyc", ".so")) or (
            not dot and os.path.exists(os.path.join(path, "__init__.py"))
        ):
            return path
    return None
