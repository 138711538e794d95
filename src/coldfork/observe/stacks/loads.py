"""One import in progress."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Load:
    """A module that is being loaded; not a dataclass, because thousands are made while a program starts."""

    __slots__ = ("name", "parent", "path", "spec", "start")

    def __init__(self, name: str, path: str | None, spec: Any, start: float, parent: Load | None) -> None:
        self.name = name
        self.path = path
        self.spec = spec
        self.start = start
        self.parent = parent
