"""A device that the process does not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised, said_by

PROGRAM = """
import coldfork.virtual

coldfork.virtual.install("h100")

import torch

torch.cuda.set_device(7)
"""

SAID = raised("RuntimeError: CUDA error: invalid device ordinal")
OTHER = raised("ValueError: invalid device ordinal in the file")


def test_the_words_are_recognised() -> None:
    story = only_story(f"loading the model\n{SAID}")
    assert (story.name, story.confidence) == ("invalid-device", Confidence.CERTAIN)
    assert story.remedies


def test_words_that_are_alike_are_no_story() -> None:
    assert names(OTHER) == []


def test_a_number_that_no_device_has_is_recognised_in_what_torch_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    story = only_story(said_by(PROGRAM, tmp_path))
    assert (story.name, story.confidence) == ("invalid-device", Confidence.CERTAIN)
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 8)
