"""The target of a process cannot be pickled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnose.running import names, only_story, raised, said_by

PROGRAM = """import multiprocessing
import threading


def start():
    def target():
        pass

    multiprocessing.get_context("spawn").Process(target={}).start()


if __name__ == "__main__":
    start()
"""


@pytest.mark.parametrize("target", ["target", "lambda: None", "print, args=(threading.Lock(),)"])
def test_the_line_that_starts_the_process_is_the_culprit(target: str, tmp_path: Path) -> None:
    story = only_story(said_by(PROGRAM.format(target), tmp_path))
    assert story.name == "unpicklable-target"
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 9)


def test_pickle_fails_elsewhere_too(tmp_path: Path) -> None:
    said = said_by("import pickle\npickle.dumps(lambda: None)\n", tmp_path)
    assert "pickle" in said
    assert names(said) == []


def test_a_spawned_child_that_does_not_find_what_it_is_to_run_is_the_same_story() -> None:
    text = raised(
        "AttributeError: Can't get attribute 'Procedure' on <module '__main__' (built-in)>",
        'File "<string>", line 1, in <module>',
        'File "/usr/lib/python3.12/multiprocessing/spawn.py", line 122, in spawn_main',
        'File "/usr/lib/python3.12/multiprocessing/spawn.py", line 132, in _main',
    )
    assert names(text) == ["unpicklable-target"]
