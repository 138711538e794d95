"""The wrapper around multiprocessing's own fork: it is called once, and no traceback shows it."""

from __future__ import annotations

import traceback
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.start.guard.multiprocessing_launches import guard_launches


class Examiner:
    """An examiner that says whether it examines, and counts."""

    def __init__(self, examines: bool) -> None:
        self.examines = examines
        self.before = self.after = 0

    def before_launch(self, process: Any) -> bool:
        self.before += 1
        return self.examines

    def after_launch(self) -> None:
        self.after += 1


def launching() -> Any:
    """A module like `multiprocessing.popen_fork`, whose launch fails for a process that is None."""

    class Popen:
        def _launch(self, process_obj: object) -> object:
            if process_obj is None:
                raise OSError("out of memory")
            return process_obj

    return SimpleNamespace(Popen=Popen)


@pytest.mark.parametrize("examines", [True, False])
def test_an_error_of_a_launch_shows_no_frame_of_ours(examines: bool) -> None:
    module, examiner = launching(), Examiner(examines)
    guard_launches(module, examiner)
    with pytest.raises(OSError, match="out of memory") as caught:
        module.Popen()._launch(None)
    assert [frame.filename for frame in traceback.extract_tb(caught.tb)] == [__file__, __file__]
    assert (examiner.before, examiner.after) == (1, examines)


@pytest.mark.parametrize("examines", [True, False])
def test_a_launch_is_examined_once_however_often_it_is_guarded(examines: bool) -> None:
    module, examiner = launching(), Examiner(examines)
    for _ in range(3):
        guard_launches(module, examiner)
    assert module.Popen()._launch("process") == "process"
    assert (examiner.before, examiner.after) == (1, examines)


def test_a_module_without_a_popen_is_left_alone() -> None:
    guard_launches(SimpleNamespace(), Examiner(True))
