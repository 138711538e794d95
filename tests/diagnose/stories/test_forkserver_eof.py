"""The fork server dies at what it preloads."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.diagnose.running import names, raised, said_by

PROGRAM = """import multiprocessing

if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["ends_the_server"])
    context = multiprocessing.get_context("forkserver")
    worker = context.Process(target=print)
    worker.start()
    worker.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no forkserver")
def test_the_server_that_ends_leaves_its_parent_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_the_server.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = said_by(PROGRAM, tmp_path)
    assert names(said) == ["forkserver-eof"], said


def test_the_end_of_another_file_is_no_story() -> None:
    assert names(raised("EOFError: Ran out of input", 'File "/srv/forkserver.py", line 3, in load')) == []
