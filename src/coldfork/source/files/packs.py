"""The cache of summaries and results. It can be deleted at any time; every entry is checked before use.

A pack is one file: a header that names the format, a checksum, and marshalled plain data. A pack that is
truncated, foreign or from another version of coldfork is ignored. Packs are replaced as a whole, by renaming,
so one of two simultaneous runs may lose its additions, but they are never mixed. Problems with the folder are
ignored.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from coldfork.model.folders import user_cache

_MAGIC = b"coldfork pack 1\n"
_DIGEST = 16


def digest_of(*parts: object) -> str:
    """Return a short digest of some settings, for use in a file name."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def fields_of(one: Any) -> tuple[Any, ...]:
    """Return the fields of an object that contains only plain values."""
    return tuple([getattr(one, field) for field in one.__slots__])


def tool_digest() -> str:
    """Return a digest of the code that makes summaries and results, which changes whenever the code does."""
    room = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    marks = []
    for folder, _, names in os.walk(room):
        for name in names:
            if name.endswith(".py"):
                status = os.stat(f"{folder}/{name}")
                marks.append((f"{folder[len(room) :]}/{name}", status.st_size, status.st_mtime_ns))
    return digest_of(sys.version_info[:3], sys.implementation.cache_tag, sorted(marks))


def load_pack(path: Path) -> Any:
    """Return the data of a pack; None if the file is missing or invalid."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC)
    if not raw.startswith(_MAGIC) or len(raw) < head + _DIGEST:
        return None
    body = memoryview(raw)[head + _DIGEST :]
    if blake2b(body, digest_size=_DIGEST).digest() != raw[head : head + _DIGEST]:
        return None
    try:
        return marshal.loads(body)
    except (ValueError, EOFError, TypeError):
        return None


def save_pack(path: Path, data: Any) -> bool:
    """Write a pack; return False if writing fails, which does no harm to the run."""
    try:
        body = marshal.dumps(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with open(temporary, "wb") as file:
            file.write(_MAGIC + blake2b(body, digest_size=_DIGEST).digest())
            file.write(body)
        os.replace(temporary, path)
    except (OSError, ValueError):
        return False
    return True


def cache_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """Return the cache folder, creating it if necessary; None if no place is writable."""
    named = user_cache(environment, platform)
    if named is None:
        return None
    folder = Path(named)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None
