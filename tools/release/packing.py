"""Packs a wheel anew, as tightly as deflate can: a wheel is fetched more often than it is built."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION = 20
#: More rounds gain a thousandth and take twice the time.
_ROUNDS = 5


def repack(wheel: Path) -> Path:
    """Pack a wheel as tightly as it can be packed, without entries for folders, which auditwheel adds.

    The standard library's `zipfile` takes no other compressor than its own, so the few records of an archive
    are written here; it reads what was written, as a check.
    """
    with zipfile.ZipFile(wheel) as archive:
        kept = [(entry, archive.read(entry)) for entry in archive.infolist() if not entry.is_dir()]
    wheel.write_bytes(b"".join(_packed(kept)))
    with zipfile.ZipFile(wheel) as archive:
        assert [(entry.filename, archive.read(entry)) for entry in archive.infolist()] == [
            (entry.filename, data) for entry, data in kept
        ]
    return wheel


def _packed(kept: list[tuple[zipfile.ZipInfo, bytes]]) -> Iterator[bytes]:
    from zopfli import zlib  # which only the environment of a release has

    directory, at = b"", 0
    for entry, data in kept:
        # Without the header and the checksum that zlib puts around what it deflates.
        body = zlib.compress(data, numiterations=_ROUNDS)[2:-4]
        name = entry.filename.encode()
        flags = 0 if name.isascii() else 0x800
        year, month, day, hour, minute, second = entry.date_time
        date, time = (year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2
        same = (zipfile.ZIP_DEFLATED, time, date, entry.CRC, len(body), len(data), len(name), 0)
        head = _LOCAL.pack(b"PK\3\4", _VERSION, flags, *same) + name
        directory += _CENTRAL.pack(
            b"PK\1\2",
            _VERSION,
            entry.create_system,
            _VERSION,
            0,
            flags,
            *same,
            0,
            0,
            0,
            entry.external_attr,
            at,
        )
        directory += name
        at += len(head) + len(body)
        yield head + body
    yield directory
    yield _END.pack(b"PK\5\6", 0, 0, len(kept), len(kept), len(directory), at, 0)
