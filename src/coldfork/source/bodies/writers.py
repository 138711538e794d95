"""The variables and attributes that the functions of a program set, as far as its source text shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from coldfork.source.program.program import Program

_MAKING = (b"__init__", b"__new__", b"__post_init__", b"__setstate__")
"""Methods that set attributes of the object under construction."""
_ANY = ""
"""Stands for a name that the source does not show, as in `setattr(x, name, y)`."""

# A regular expression searches a whole program within milliseconds; parsing would take far longer. Text that
# looks like an assignment counts as one even in a comment or a string.
_WRITE = re.compile(
    rb"""
    ^(?P<indent>[ \t]*)(?:async[ \t]+)?def[ \t]+(?P<function>\w+)[^(\n]*\(\s*(?P<first>\w*)
    | (?P<owner>\w*)\.(?P<set>\w+)\s*(?::[^=\n]*)?(?:[-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)
    | ^[ \t]+(?P<several>[\w.\[\]'", \t*]*\.[\w.\[\]'", \t*]*,[\w.\[\]'", \t*]*)=(?!=)
    | \b(?:for|as|del)[ \t]+\(?(?P<listed>[\w.]*(?:\s*,\s*[\w.]+)*\.\w+)
    | \b(?:(?:set|del)attr|__(?:set|del)attr__)\(\s*(?:(?P<object>[\w.]+)\s*,\s*)?(?:["'](?P<name>\w+)["'])?
    """,
    re.MULTILINE | re.VERBOSE,
)
_ATTRIBUTE = re.compile(rb"\.(\w+)[ \t]*(?:,|$|\))")


class WrittenNames:
    """The variables and attributes that functions of some modules set; the sources are read when first
    needed.
    """

    def __init__(self, program: Program, modules: Iterable[str]) -> None:
        self._program = program
        self._modules = tuple(modules)
        self._written: set[str] = set()
        self._variables: dict[str, frozenset[str]] | None = None

    def variables(self, module: str) -> frozenset[str]:
        """Return the variables of a module that some function declares `global`."""
        return self._read().get(module, frozenset())

    def writes(self, attribute: str) -> bool:
        """Return whether a function sets an attribute of this name on any object but the one that it
        constructs.
        """
        self._read()
        return attribute in self._written or _ANY in self._written

    def _read(self) -> dict[str, frozenset[str]]:
        if self._variables is None:
            self._variables = {}
            for module in self._modules:
                located = self._program.find(module)
                if located is not None and located.path is not None:
                    source = self._program.read_source(located.path)
                    self._written.update(written_in(source))
                    self._variables[module] = frozenset(_declared_global(source))
        return self._variables


_GLOBAL = re.compile(rb"^[ \t]+(?:\w.*[:;][ \t]*)?global[ \t]+([\w, \t]+)", re.MULTILINE)


def _declared_global(source: bytes) -> Iterator[str]:
    for names in _GLOBAL.findall(source):
        yield from (name.strip().decode() for name in names.split(b","))


def written_in(source: bytes) -> Iterator[str]:
    """Yield the attributes that a source sets, except those that a constructor sets on its own object."""
    maker = b""
    for found in _WRITE.finditer(source):
        said = found.groupdict()
        if said["function"] is not None:
            maker = said["first"] if said["function"] in _MAKING else b""
        elif said["set"] is not None:
            if said["owner"] != maker or not maker:
                yield said["set"].decode()
        elif said["several"] is not None or said["listed"] is not None:
            for name in _ATTRIBUTE.findall(said["several"] or said["listed"]):
                yield name.decode()
        elif said["object"] != maker or not maker:
            yield (said["name"] or b"").decode()
