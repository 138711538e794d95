"""Where following ends before the code does: the budget has, or coldfork itself fails."""

from __future__ import annotations

from coldfork.model.errors import ColdforkError
from coldfork.model.faults import describe
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter

#: What ends following a module: a refusal, and what has run so deep or so far that going on makes it worse.
_ENDING = (ColdforkError, RecursionError, MemoryError)


def cut_short(ev: Interpreter, frame: Frame, line: int) -> None:
    """Say that the budget ends at a line: with a larger one, what is around would come to something else."""
    ev.memo.need_unfinished(0)
    ev.budget.end_at(frame.module.name, frame.symbol, line)


def fail_at(ev: Interpreter, module: str, symbol: str, line: int, fault: str) -> None:
    """Say that coldfork itself failed at a line, and that what is around rests on nothing there."""
    ev.memo.need_unfinished(0)
    ev.budget.fail_at(module, symbol, line, fault)


def contain(ev: Interpreter, frame: Frame, problem: Exception, line: int = 0) -> None:
    """Take an error for a fault of coldfork's own: it costs what was being followed, and nothing else."""
    if isinstance(problem, _ENDING):
        raise problem
    fail_at(ev, frame.module.name, frame.symbol, max(frame.line, frame.before, line, 1), describe(problem))
