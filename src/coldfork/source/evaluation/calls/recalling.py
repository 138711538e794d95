"""What a call is known to come to, from the same call, or from one that differs in what nobody looks at."""

from __future__ import annotations

from coldfork.source.evaluation.frame import CallResult
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.unread_texts import Key, anew
from coldfork.source.values.given_text import look_at
from coldfork.source.values.kinds import Value


def recalled(
    ev: Interpreter, key: Key, positional: tuple[Value, ...], place: tuple[str, int]
) -> CallResult | None:
    """What the call comes to; None where it has to be followed."""
    known = _for_these(ev, key, place)
    if known is None:
        return _for_any(ev, key)
    look_at(positional)  # it is known for these very texts, and may depend on each
    return known


def _for_these(ev: Interpreter, key: Key, place: tuple[str, int]) -> CallResult | None:
    known = ev.memo.recall(key)
    if known is None and not ev.joining:
        known = ev.memo.repeat(key, ev.running.rebound)
    if known is None and ev.unproductive_calls.should_skip(place):
        known = ev.unproductive_calls.summary_of(place)
    return known


def _for_any(ev: Interpreter, key: Key) -> CallResult | None:
    """What the call comes to whatever the texts say that it does not look at."""
    alike = ev.unread_texts.for_any(key)
    known = ev.memo.recall(alike) if alike is not None else None
    if known is None:
        return None
    known = anew(known)
    ev.memo.copy(alike, key, known)
    return known
