"""Which globals a function's code refers to, in its nested functions, comprehensions and class bodies too."""

from __future__ import annotations

import sys
from functools import lru_cache
from opcode import EXTENDED_ARG, opmap
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    class CodeNames(NamedTuple):
        """The names in a function's code."""

        used: frozenset[str]
        """Globals that are read; a class body's own names are among them, as it looks for both in one way."""
        assigned: frozenset[str]
        """Globals that are assigned or deleted, which takes a `global` statement."""
        words: frozenset[str]
        """All names, attributes among them."""

else:
    from collections import namedtuple

    CodeNames = namedtuple("CodeNames", "used assigned words")

_SHIFTED = opmap["LOAD_GLOBAL"]
_READING = frozenset(opmap[name] for name in ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") if name in opmap)
_ASSIGNING = frozenset((opmap["STORE_GLOBAL"], opmap["DELETE_GLOBAL"]))


@lru_cache(maxsize=1024)
def names_in(code: CodeType) -> CodeNames:
    """The names in a function's code and in all code inside it."""
    used: set[str] = set()
    assigned: set[str] = set()
    words: set[str] = set()
    for part in _all_code(code):
        words.update(part.co_names)
        _read(part, used, assigned)
    return CodeNames(frozenset(used), frozenset(assigned), frozenset(words))


def imported_parts(package: str, words: frozenset[str]) -> Iterator[str]:
    """The modules below a package that code may mean by `package.part`, and that were imported."""
    for word in words:
        name = f"{package}.{word}"
        if name in sys.modules:
            yield name
            yield from imported_parts(name, words)


def _all_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_code(constant)


def _read(code: CodeType, used: set[str], assigned: set[str]) -> None:
    names = code.co_names
    units = code.co_code
    extended = 0
    for at in range(0, len(units), 2):
        operation = units[at]
        argument = units[at + 1] | extended
        extended = argument << 8 if operation == EXTENDED_ARG else 0
        if operation == _SHIFTED:
            used.add(names[argument >> 1])
        elif operation in _READING:
            used.add(names[argument])
        elif operation in _ASSIGNING:
            assigned.add(names[argument])
