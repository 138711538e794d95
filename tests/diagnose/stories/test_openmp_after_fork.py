"""The words of numba's OpenMP layer before it ends a forked child."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = "Terminating: fork() called from a process already using GNU OpenMP, this is unsafe.\n"
OTHER = raised(
    "RuntimeError: the docs say: fork() called from a process already using GNU OpenMP, this is unsafe"
)


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("openmp-after-fork", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []
