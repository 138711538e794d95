"""coldfork's guard refuses a fork, and names who woke the device."""

from __future__ import annotations

from tests.diagnose.corpus import captured
from tests.diagnose.running import only_story


def test_the_waker_that_the_message_names_is_the_culprit() -> None:
    story = only_story(captured("refused-3.11.log"))
    assert story.name == "fork-refused"
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/broken_engine/attention/flash.py", None)
    (suspect,) = story.suspects
    assert suspect.chain[0] == "__main__  /srv/refused.py:11"
    assert suspect.chain[-1] == "broken_engine.attention.flash  /srv/broken_engine/attention/flash.py"


def test_without_a_waker_it_is_the_line_that_tried_to_fork() -> None:
    text = captured("refused-3.11.log")
    story = only_story(text[: text.index("  cuda was woken by")])
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/refused.py", 13)
