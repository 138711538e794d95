"""The engine that is always there: rules and counting, no model, no download, no device."""

from __future__ import annotations

from collections.abc import Sequence

from speech_notes.engines import punctuation, summary


class Embedded:
    """Punctuates by rules for English, and summarises by picking sentences."""

    about = (
        "Rules for English set the punctuation and the capitals, and they are wrong at times. The summary is "
        "made of sentences picked from the text, unchanged. No language model is involved."
    )

    def punctuate(self, passage: str) -> str:
        """Set full stops, question marks, commas and capitals; no word is changed."""
        return punctuation.punctuate(passage)

    def summarise(self, text: str) -> Sequence[str]:
        """The sentences that say most of what the text is about, in its order."""
        return summary.summarise(text)

    def remarks(self) -> Sequence[str]:
        """Nothing beyond what `about` says."""
        return ()
