"""The outcomes of calls: looked up in the cache, and passed on to the caller."""

from __future__ import annotations

from coldfork.source.evaluation.frame import CallResult, Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.memo import Key, anew
from coldfork.source.evaluation.starting import note_start
from coldfork.source.evaluation.trace import Wake
from coldfork.source.values.conditions import Conditions, negated, presumed_together
from coldfork.source.values.kinds import Values
from coldfork.source.values.rarer_kinds import look_at


def recalled(ev: Interpreter, key: Key, positional: Values, place: tuple[str, int]) -> CallResult | None:
    """Return the cached outcome of a call; None if the call has to be followed."""
    known = _for_these(ev, key, place)
    if known is None:
        return _for_any(ev, key)
    look_at(positional)  # the cached outcome is for exactly these texts, so it may depend on each of them
    return known


def _for_these(ev: Interpreter, key: Key, place: tuple[str, int]) -> CallResult | None:
    known = ev.memo.recall(key)
    if known is None and not ev.joining:
        known = ev.memo.repeat(key, ev.running.rebound)
    if known is None and ev.unproductive_calls.should_skip(place):
        known = ev.unproductive_calls.summary_of(place)
    return known


def _for_any(ev: Interpreter, key: Key) -> CallResult | None:
    """Return the outcome of an earlier call that differs only in texts which neither call reads."""
    alike = ev.unread_texts.for_any(key)
    known = ev.memo.recall(alike) if alike is not None else None
    if known is None:
        return None
    known = anew(known)
    ev.memo.copy(alike, key, known)
    return known


def hand_over(ev: Interpreter, frame: Frame, result: CallResult) -> None:
    """Pass the effects of a call on to the caller."""
    if result.raise_must is not None:
        frame.raise_musts.append(frame.must | result.raise_must)
    must = result.strict if frame.tries else result.must
    before = frozenset(frame.must)
    for start in result.starts:
        note_start(frame, start)
    for wake in result.wakes:
        sure = wake.surety in must
        # every nominal path wakes the device, so the presumptions of all of them apply
        if sure and result.presumed:
            wake = wake._replace(presumed=presumed_together(wake.presumed, result.presumed))
        needed = _survived(result, wake) if sure and frame.tries else ()
        outer, frame.conditions = frame.conditions, (*frame.conditions, *needed)
        frame.wake(wake, sure)
        frame.conditions = outer
    for edge in result.edges:
        frame.edge(edge, False)
    for failure in result.failures:
        ev.record_failure(failure._replace(must=before | failure.must))
    frame.stay(result.stays)
    if result.raises and not _doubted(frame, result):
        raise Raised(result.raises, result.outright and frame.gate == 0)


def _survived(result: CallResult, wake: Wake) -> Conditions:
    """Return the conditions that the failures of a call do not happen before a wake that it contains."""
    return tuple([
        negated(failure.condition)
        for failure in result.failures
        if failure.even and failure.condition.words and wake.surety not in failure.must
    ])  # fmt: skip


def _doubted(frame: Frame, result: CallResult) -> bool:
    """Return True if an error in a call seems to end the import of a module, which is implausible for
    published code.

    Most such errors come from looking something up in a table that other modules would have filled by then.
    So the code after the call is followed; only an unconditional `raise` or an exit from the program ends a
    module.
    """
    return frame.toplevel and not frame.tries and not result.outright and result.raises != "SystemExit"
