"""What cannot be recorded runs during a capture."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = raised("RuntimeError: CUDA error: operation not permitted when stream is capturing")
OTHER = raised("RuntimeError: the camera is capturing, which is not permitted")


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("capture-invalidated", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []
