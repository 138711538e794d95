"""From a transcript to a note, whichever engine does it: passage by passage, and then the summary."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from speech_notes.engines import Engine
from speech_notes.engines.punctuation import passages

PASSAGE_WORDS = 80
SCHEMA_VERSION = 1
LARGEST_NOTE = 16 << 20


def units(transcript: str) -> list[str]:
    """The passages of a transcript."""
    return passages(transcript, PASSAGE_WORDS)


def process(
    transcript: str, make_engine: Callable[[], Engine], tell: Callable[[int, int], object]
) -> dict[str, Any]:
    """The note; `tell` hears how far it is, in steps: the engine, each passage, the summary."""
    pieces = units(transcript)
    total = len(pieces) + 2
    # Nothing is told before: what follows on the heels of another step is not heard, and this one lasts.
    engine = make_engine()
    tell(1, total)
    written: list[str] = []
    for number, piece in enumerate(pieces, 2):
        written.append(engine.punctuate(piece))
        tell(number, total)
    summary = list(engine.summarise("\n\n".join(written)))
    tell(total, total)
    return {
        "schema_version": SCHEMA_VERSION,
        "paragraphs": written,
        "summary": summary,
        "remarks": list(engine.remarks()),
    }


def read(content: bytes) -> dict[str, Any] | None:
    """A note as another process has written it down, if it is what was agreed on."""
    try:
        note = json.loads(content) if len(content) <= LARGEST_NOTE else None
    except (ValueError, RecursionError):
        return None
    lists = ("paragraphs", "summary", "remarks")
    if not isinstance(note, dict) or note.get("schema_version") != SCHEMA_VERSION:
        return None
    whole = all(
        isinstance(note.get(name), list) and all(isinstance(one, str) for one in note[name]) for name in lists
    )
    return {name: note[name] for name in lists} if whole else None
