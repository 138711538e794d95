"""Which modules hold tests: they get less work, and what they do is reported as a test's."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=8_192)  # the same few thousand are asked about by every part of an analysis
def is_test(name: str, path: str) -> bool:
    """True for test modules, also those inside packages."""
    parts = path.split("/")
    stem = parts[-1]
    if stem.startswith("test_") or stem.endswith("_test.py") or stem == "conftest.py":
        return True
    return any(part in ("tests", "test", "testing") for part in parts[:-1]) or any(
        part in ("tests", "test") for part in name.split(".")[:-1]
    )
