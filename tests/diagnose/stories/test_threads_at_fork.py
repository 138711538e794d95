"""A process with threads forks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.diagnose.running import names, only_story, said_by

PROGRAM = """import os
import threading

gate = threading.Event()
threading.Thread(target=gate.wait).start()
if os.fork() == 0:
    os._exit(0)
os.wait()
gate.set()
"""
OF_JAX = (
    "/srv/serve.py:12: RuntimeWarning: os.fork() was called. os.fork() is incompatible with multithreaded "
    "code, and JAX is multithreaded, so this will likely lead to a deadlock.\n  pid = os.fork()\n"
)


@pytest.mark.skipif(sys.version_info < (3, 12) or sys.platform == "win32", reason="Python warns since 3.12")
def test_the_line_that_forks_is_the_culprit(tmp_path: Path) -> None:
    story = only_story(said_by(PROGRAM, tmp_path))
    assert story.name == "threads-at-fork"
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 6)


def test_the_warning_of_jax_is_told_with_its_line() -> None:
    story = only_story(OF_JAX)
    assert story.name == "threads-at-fork"
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line, story.culprit.text) == (
        "/srv/serve.py",
        12,
        "pid = os.fork()",
    )


def test_another_warning_about_a_fork_is_no_story() -> None:
    assert names("/srv/a.py:1: DeprecationWarning: fork() is going away\n  fork()\n") == []
