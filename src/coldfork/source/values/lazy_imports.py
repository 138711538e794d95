"""What a name holds between a lazy import and the first time that somebody reads it."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.source.program.module import Module
from coldfork.source.values.kinds import Value


class Imported(NamedTuple):
    """What a lazy import statement imports under one name."""

    source: str | None
    level: int
    name: str | None
    """What is taken from the module; None for `import module`."""
    alias: bool
    """For `import a.b`: whether an `as` makes the name mean the submodule."""
    declared: bool
    """False where `__lazy_modules__` says whether the import is lazy."""
    line: int

    @classmethod
    def of_module(cls, module: str, alias: bool, declared: bool, line: int) -> Imported:
        """By `lazy import module`."""
        return cls(module, 0, None, alias, declared, line)

    @classmethod
    def of_name(cls, source: str | None, level: int, name: str, declared: bool, line: int) -> Imported:
        """By `lazy from source import name`."""
        return cls(source, level, name, True, declared, line)


class LazyImport(Value):
    """An import that has not happened yet, and the module that holds its statement."""

    __slots__ = ("imported", "module")

    def __init__(self, module: Module, imported: Imported) -> None:
        self.module = module
        self.imported = imported

    def __eq__(self, other: object) -> bool:
        return type(other) is LazyImport and self.module is other.module and self.imported == other.imported

    def __hash__(self) -> int:
        return hash(self.imported)
