"""Engines: what one is, and where the chosen one is found."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Protocol


class Engine(Protocol):
    """Turns raw transcripts into text; made in the isolated process, and never in the server."""

    about: str
    """What it does, and what not: shown on the page, read from the class without making an engine.

    Beside it a class may name in `preload` modules that take long to import and that its own module does not
    import at once. The workers of a pool find them imported, unless that wakes a device or starts a thread.
    """

    def punctuate(self, passage: str) -> str:
        """The same words with punctuation and capitals."""

    def summarise(self, text: str) -> Sequence[str]:
        """The points of a punctuated text, one after the other."""

    def remarks(self) -> Sequence[str]:
        """Return notes for the reader on how the result came about."""


class EngineError(Exception):
    """There is no such engine, or it cannot work here; the message says why."""


BUILT_IN = {
    "embedded": "speech_notes.engines.embedded:Embedded",
    "vllm": "speech_notes.engines.vllm:VllmEngine",
}


def find(named: str) -> type[Engine]:
    """The class of an engine: one of ours, or `module:Class` of anybody who wrote one."""
    module, colon, name = BUILT_IN.get(named, named).partition(":")
    if not (module and colon and name):
        raise EngineError(f"there is no engine {named!r}: {', '.join(BUILT_IN)}, or module:Class")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise EngineError(f"the engine {named!r} cannot be found: {error}") from error
    about = getattr(found, "about", None)
    if not isinstance(about, str):
        raise EngineError(f"{named!r} is no engine: it has no text `about`")
    engine: type[Engine] = found
    return engine


def make(named: str, model: str | None) -> Engine:
    """Make an engine; an engine that knows no models takes none."""
    kind = find(named)
    return kind(model) if model is not None else kind()  # type: ignore[call-arg]
