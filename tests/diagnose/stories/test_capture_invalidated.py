"""A call that cannot be recorded runs during a capture."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = raised("RuntimeError: CUDA error: operation not permitted when stream is capturing")
OTHER = raised("RuntimeError: the camera is capturing, which is not permitted")


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("capture-invalidated", Confidence.CERTAIN)
    assert story.remedies


def test_a_virtual_capture_is_recognised_by_the_same_words() -> None:
    said = (
        "CUDA error: operation not permitted when stream is capturing\n.item() at engine.py:5 reads a value"
    )
    refused = f"coldfork.virtual.capturing.recording.refusals.DeviceRefusal: {said}"
    failed = (
        f"coldfork.graphs.errors.CaptureFailedError: capturing FULL tokens=8 failed: DeviceRefusal: {said}"
    )
    for message in (refused, failed):
        assert only_story(raised(message)).name == "capture-invalidated"


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []
