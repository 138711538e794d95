"""The module whose import is being followed, and what its variables hold at this point."""

from __future__ import annotations

from coldfork.source.program.module import Module
from coldfork.source.values.kinds import Env, Value
from coldfork.source.values.lazy_imports import Imported


class RunningModule:
    """The module at hand; none while nothing is followed."""

    __slots__ = ("env", "imported", "module", "rebound", "unfollowed")

    def __init__(self) -> None:
        self.module: Module | None = None
        self.env: Env | None = None
        """The variables that the body binds more than once."""
        self.rebound: dict[tuple[str, str], Value] = {}
        """Module variables, of any module, that functions have rebound since the module began."""
        self.imported: set[Imported] = set()
        """The lazy imports that the body has made happen."""
        self.unfollowed: set[tuple[str, int]] = set()
        """The lines that call something unknown, each with its module."""

    def begin(self, module: Module, env: Env) -> None:
        """Follow another module from here on."""
        self.module, self.env = module, env
        self.rebound.clear()
        self.imported.clear()
        self.unfollowed.clear()

    def end(self) -> None:
        """The module has been followed."""
        self.module = self.env = None
