"""A daemon starts processes."""

from __future__ import annotations

from pathlib import Path

from tests.diagnose.running import only_story, said_by

PROGRAM = """import multiprocessing


def work():
    multiprocessing.Process(target=print).start()


if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work, daemon=True)
    worker.start()
    worker.join()
"""


def test_the_line_in_the_worker_is_the_culprit(tmp_path: Path) -> None:
    story = only_story(said_by(PROGRAM, tmp_path))
    assert story.name == "daemonic"
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 5)
    (process,) = story.processes
    assert (process.name, process.role, process.started) == ("SpawnProcess-1", "child", "spawn")
