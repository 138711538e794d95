"""Shared memory that is full."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = raised(
    "RuntimeError: DataLoader worker (pid 33) is killed by signal: Bus error."
    " It is possible that dataloader's "
    "workers are out of shared memory."
)
OTHER = raised("RuntimeError: DataLoader worker (pid 33) is killed by signal: Killed.")


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("shared-memory", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []
