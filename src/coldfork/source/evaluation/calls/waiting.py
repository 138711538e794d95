"""Which calls are sure to come back, in a process where something is to be certain.

What follows a call is certain only if the call waits for nobody and ends nothing: a wait may last until the
parent terminates the process. Whatever is not known here to come back may do either.
"""

from __future__ import annotations

from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.classes import external_bases
from coldfork.source.semantics.returning import comes_back
from coldfork.source.values.kinds import (
    ClassRef,
    Const,
    External,
    Instance,
    Method,
    Super,
    Unknown,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Shared, Work

COMING_BACK = "the call comes back"
_BRIEF = 0.1
"""Seconds of sleep that are over before anybody has made up his mind to end the process."""


def may_wait(ev: Interpreter, callee: Value, positional: Values) -> bool:
    """Whether a call may last for ever, or end the process."""
    if isinstance(callee, Unknown):
        return True
    if isinstance(callee, External):
        if callee.name == "time.sleep" and not ev.budget.loops and len(positional) == 1:
            return not _is_brief(positional[0])
        return not comes_back(callee.name)
    if not isinstance(callee, Method):
        return False
    receiver = callee.receiver
    if isinstance(receiver, (Instance, Super)):
        cls = receiver.cls if isinstance(receiver, Instance) else receiver.after
        return not all(comes_back(f"{base}.{callee.name}") for base in _bases(ev, cls))
    return isinstance(receiver, (Shared, Work)) and callee.name != "start"


def _bases(ev: Interpreter, cls: ClassRef) -> list[str]:
    return [base for base in external_bases(ev, cls) if base != "builtins.object"]


def _is_brief(seconds: Value) -> bool:
    return isinstance(seconds, Const) and type(seconds.value) in (int, float) and seconds.value <= _BRIEF
