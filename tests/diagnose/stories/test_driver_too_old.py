"""A driver that is older than the CUDA it is to serve."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = raised(
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update"
)
OTHER = raised("RuntimeError: the driver version of the database is insufficient")


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("driver-too-old", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []
