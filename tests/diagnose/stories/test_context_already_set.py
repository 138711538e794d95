"""The start method is set twice."""

from __future__ import annotations

from pathlib import Path

from tests.diagnose.running import only_story, said_by

PROGRAM = """import multiprocessing

multiprocessing.set_start_method("spawn")
multiprocessing.set_start_method("spawn")
"""


def test_the_second_line_is_the_culprit(tmp_path: Path) -> None:
    story = only_story(said_by(PROGRAM, tmp_path))
    assert story.name == "context-already-set"
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 4)
