"""The words of the tokenizers library in a forked child."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story

SAID = (
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. "
    "Disabling parallelism to avoid deadlocks...\nTo disable this warning, you can either:\n"
)
OTHER = "assert 'The current process just got forked, after parallelism has already been used' in said\n"


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("tokenizers", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []
