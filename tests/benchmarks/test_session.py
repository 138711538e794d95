"""How soon a session answers: what is edited, and that an answer in which an edit is not seen is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import coldfork
from benchmarks import session, targets

pytestmark = pytest.mark.once


def test_every_edit_has_a_promise() -> None:
    promised = {target.figure for target in targets.TARGETS if target.tree == session.NAME}
    assert set(session.EDITS) <= promised


def test_each_answer_is_about_another_text(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    root = tmp_path / session.ROOT
    root.write_text("")
    with coldfork.CheckSession(cache=False) as held:
        edited = session.Edited(tmp_path, held)
        for _ in range(2):
            edited.answer(session.ROOT, on_disk=True)
        assert root.read_text() == "\nEDIT_1 = 1\n\nEDIT_2 = 2\n"
        edited.answer(session.ROOT, on_disk=False)
        assert root.read_text().count("EDIT") == 2
