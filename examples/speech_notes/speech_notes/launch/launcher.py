"""The base of all ways to do a job's work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from speech_notes.jobs import Ending

Tell = Callable[[int, int], object]


class Launcher(Protocol):
    """Starts the post-processing of one transcript and brings its ending."""

    async def run(self, transcript: str, name: str, tell: Tell) -> Ending:
        """Do the work; `name` is this attempt's own, `tell` hears how far it is."""

    def health(self) -> Mapping[str, Any] | None:
        """How what it keeps ready stands, and whether it is `fit` for jobs; None if it keeps nothing."""

    def close(self) -> None:
        """End what it keeps ready; when this returns, it has ended."""
