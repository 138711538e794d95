"""Where following ends before the code does, because the budget has."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter


def cut_short(ev: Interpreter, frame: Frame, line: int) -> None:
    """Say that the budget ends at a line: with a larger one, what is around would come to something else."""
    ev.memo.need_unfinished(0)
    ev.budget.end_at(frame.module.name, frame.symbol, line)
