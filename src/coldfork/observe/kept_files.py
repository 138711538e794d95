"""Files of the cache folder, which are always safe to delete."""

from __future__ import annotations

import json
import os
import sys
from hashlib import blake2b
from typing import Any

from coldfork.model.folders import user_cache


class KeptFile:
    """One file in the cache, written whole or not at all; failures to read or write it are ignored."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    @classmethod
    def of(cls, kind: str, name: str) -> KeptFile:
        """Return the cache file of this kind and name."""
        folder = user_cache(os.environ, sys.platform)
        return cls(None if folder is None else os.path.join(folder, kind, f"{name}.json"))

    @property
    def possible(self) -> bool:
        """Return whether there is a folder for this file."""
        return self._path is not None

    def read(self) -> dict[str, Any] | None:
        """Return the content of the file; None if it is missing or unreadable."""
        if self._path is None:
            return None
        try:
            with open(self._path, encoding="utf-8") as file:
                stored = json.load(file)
        except (OSError, ValueError):
            return None
        return stored if isinstance(stored, dict) else None

    def write(self, stored: dict[str, Any]) -> None:
        """Replace the content of the file."""
        if self._path is None:
            return
        beside = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(beside, "w", encoding="utf-8") as file:
                json.dump(stored, file)
            os.replace(beside, self._path)
        except OSError:
            try:
                os.unlink(beside)
            except OSError:
                pass


def digest(parts: tuple[Any, ...]) -> str:
    """Return a short name, a digest, for these values."""
    return blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
