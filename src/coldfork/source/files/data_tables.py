"""Whether a file that is too large to be analysed holds nothing but data: importing it wakes nothing then."""

from __future__ import annotations

import re

_LARGEST = 256_000_000
"""A larger file is not even looked through."""
#: One after another, from the first byte to the last: names may be assigned to, and do nothing else.
_DATA = re.compile(
    rb"""(?:
        [ \t\r\n\f]++ | \\\r?\n | \#[^\n]*+
      | [bBuUrR]{0,2}(?:'{3}(?:[^\\']|\\.|'(?!''))*+'{3} | "{3}(?:[^\\"]|\\.|"(?!""))*+"{3})
      | [bBuUrR]{0,2}(?:'(?:[^\\'\n]|\\.)*+' | "(?:[^\\"\n]|\\.)*+")
      | \.?[0-9][0-9a-zA-Z_.]*+(?:(?<=[eE])[-+][0-9_]++[jJ]?)?
      | (?:True|False|None)\b
      | (?:(?<=\n)|(?<=;)|\A)[A-Za-z_][A-Za-z0-9_]*+(?=[ \t]*+=[^=])
      | [\[\]{}(),:;=+\-]
    )*+\Z""",
    re.VERBOSE | re.DOTALL,
)


def holds_only_data(raw: bytes) -> bool:
    """True for a source of literals and of assignments of literals to names.

    A name is read nowhere and nothing is called, so there is nothing in it that could wake a device.
    """
    if any(b"coding" in line for line in raw[:400].split(b"\n")[:2]):
        return False  # in another encoding the bytes may say anything
    return _DATA.match(raw.removeprefix(b"\xef\xbb\xbf")) is not None


def is_table(path: str) -> bool:
    """Whether a file that was too large to be read holds only data."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError:
        return False
    return len(raw) <= _LARGEST and holds_only_data(raw)
