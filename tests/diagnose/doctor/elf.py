"""The smallest file that a loader would take for a library with requirements."""

from __future__ import annotations

import struct


def library(*needed: str) -> bytes:
    """A 64-bit ELF file whose dynamic section asks for these libraries."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    entries = [(1, strings.index(name.encode())) for name in needed]
    at = 64 + 2 * 56
    entries += [(5, at), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in entries)
    size = at + len(strings) + len(dynamic)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096)
    place = at + len(strings)
    section = struct.pack("<IIQQQQQQ", 2, 4, place, place, place, len(dynamic), len(dynamic), 8)
    return head + load + section + strings + dynamic
