"""The compiled twins of `skeleton` and `words`, if they were compiled from the adjacent source."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from coldfork.source.syntax.imports import PlainImport

#: Text, spans, header names, runs and imports of a skeleton.
Parts = tuple[
    bytes,
    dict[int, tuple[int, int]],
    dict[bytes, int],
    dict[int, list[int]],
    dict[int, list[PlainImport]],
]
_SOURCE = Path(__file__).with_name("skeleton.c")


def digest_of_source(source: Path = _SOURCE) -> str | None:
    """Return the digest of the C source at hand; the compiled module names the one it was made from."""
    try:
        return blake2b(source.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return None


def up_to_date(digest: str, source: Path = _SOURCE) -> bool:
    """Return whether a module was compiled from exactly this source: another one may behave differently."""
    return digest == digest_of_source(source)


def _usable() -> ModuleType | None:
    try:
        from coldfork.source.syntax.native import _skeleton
    except ImportError:  # nothing was compiled for this Python
        return None
    return _skeleton if up_to_date(_skeleton.DIGEST) else None


_module = _usable()
compiled_skeleton: Callable[[bytes], Parts | None] | None = getattr(_module, "skeleton", None)
compiled_words: Callable[[bytes], int] | None = getattr(_module, "words", None)
