"""A program without a main guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import only_story, said_by

PROGRAM = """import multiprocessing

multiprocessing.get_context("{}").Process(target=print).start()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_line_that_starts_a_process_is_the_culprit(method: str, tmp_path: Path) -> None:
    story = only_story(said_by(PROGRAM.format(method), tmp_path))
    assert (story.name, story.confidence) == ("no-main-guard", Confidence.CERTAIN)
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 3)
    assert {process.started for process in story.processes} == {method}
