"""Whether a call is sure to return, which must be known if results have to be certain.

The code after a call is reached for certain only if the call neither blocks nor exits: a wait may last until
the parent terminates the process. A call that is not known to return may do either.
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

COMING_BACK = "the call returns"
_BRIEF = 0.1
"""A sleep of at most this many seconds ends before anything can reasonably end the process."""


def may_wait(ev: Interpreter, callee: Value, positional: Values) -> bool:
    """Return whether a call may block forever, or end the process."""
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
