"""The words without which a file captures no graph: what every other file is spared for."""

from __future__ import annotations

import re

_PLACES = re.compile(rb"\bgraph\(|\bcapture_begin\(|\bmake_graphed_callables\(")
_ALIAS = re.compile(rb"\btorch\.cuda(?:\.graphs)?[ \t]+import[^\n]*\bgraph[ \t]+as[ \t]+(\w+)")
_OURS = re.compile(rb"\b(?:graph|capture|capture_begin|make_graphed_callables|check)\(")
#: One of these stands in every file that captures.
_CAPTURING = (
    b".graph(", b"capture_begin(", b"make_graphed_callables", b"coldfork", b"torch.cuda import",
    b"torch.cuda.graphs import",
)  # fmt: skip


def capturing(source: bytes) -> bool:
    """True when a file that holds "raph" may capture a graph."""
    return any(word in source for word in _CAPTURING)


def places(source: bytes) -> list[int]:
    """The offsets at which a file says that it captures."""
    found = [match.start() for match in (_OURS if b"coldfork" in source else _PLACES).finditer(source)]
    aliases = {match.group(1).decode() for match in _ALIAS.finditer(source)}
    if aliases:
        found += [match.start() for match in calls_of(aliases).finditer(source)]
    return found


def calls_of(names: set[str]) -> re.Pattern[bytes]:
    """Finds calls of functions with these names."""
    return re.compile(rb"\b(?:%b)\(" % b"|".join(sorted(name.encode() for name in names)))
