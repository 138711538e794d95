"""The words without which a file captures no graph: what every other file is spared for."""

from __future__ import annotations

import re

#: A file that says none of these captures nothing itself.
_CAPTURING = re.compile(
    rb"\.graph\(|\bcapture_begin\(|\bmake_graphed_callables\b|\bcoldfork\b"
    rb"|\bcuda(?:\.graphs)?[ \t]+import\b[^\n]*\bgraph\b"
)

_PLACES = re.compile(rb"\bgraph\(|\bcapture_begin\(|\bmake_graphed_callables\(")
_OURS = re.compile(rb"\b(?:graph|capture|capture_begin|make_graphed_callables|check)\(")

NOTHING = 0
#: It may hand something to a function that captures it.
NAMES_IT = 1
CAPTURES = 2


def capturing(source: bytes) -> int:
    """How much a file says of captures."""
    if b"raph" in source:
        return CAPTURES if _CAPTURING.search(source) is not None else NAMES_IT
    if b"capture" in source:
        return CAPTURES if b"capture_begin(" in source or b"coldfork" in source else NAMES_IT
    return NOTHING


def places(source: bytes) -> list[int]:
    """The offsets at which a file says that it captures."""
    return [match.start() for match in (_OURS if b"coldfork" in source else _PLACES).finditer(source)]


def calls_of(names: set[str]) -> re.Pattern[bytes]:
    """Finds calls of functions with these names."""
    return re.compile(rb"\b(?:%b)\(" % b"|".join(sorted(name.encode() for name in names)))
