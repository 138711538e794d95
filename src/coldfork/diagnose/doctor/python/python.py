"""Whether coldfork works with this Python, on this platform.

Looks at the version of the interpreter whose environment is examined, read from its location, and at the
platform.

- **ok**: Python 3.11 or newer, on Linux.
- **warn**: a platform on which only part of coldfork works; a free-threaded build, in which many extensions
  switch the GIL on again when they are imported.
- **fail**: an older Python.
- **skipped**: the version is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn

_OLDEST = (3, 11)
_PLATFORMS = {"darwin": "macOS", "win32": "Windows"}


def examine(facts: Facts) -> Answer:
    """Compare Python's version and the platform with coldfork's requirements."""
    python = facts.python
    if python.version is None:
        return skipped("the folder of the examined Python does not tell its version")
    platform = (
        "Linux" if facts.system.is_linux else _PLATFORMS.get(facts.system.platform, facts.system.platform)
    )
    place = str(python.prefix) if python.prefix is not None else "an unknown place"
    well = ok(f"Python {python.version_text} on {platform} {facts.system.machine}, in {place}")
    return together(_troubles(facts, platform), well)


def _troubles(facts: Facts, platform: str) -> Iterator[Answer]:
    python = facts.python
    if python.version is not None and python.version < _OLDEST:
        yield fail(f"Python {python.version_text} is too old for coldfork", "use Python 3.11 or newer")
    if python.free_threaded:
        yield warn(
            f"Python {python.version_text} is a free-threaded build",
            "run with PYTHON_GIL=1 if an extension complains, or use an ordinary build",
        )
    if not facts.system.is_linux:
        yield warn(
            f"on {platform} the guard, coldfork ps and coldfork exec do nothing",
            "run programs that use accelerators in several processes on Linux",
        )
