"""Records process starts, each with the wakes that come before it on the calls that lead there."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.model.effects import WAKING
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.trace import Edge, SiteStart, Start, Wake, possible_together
from coldfork.source.values.conditions import Conditions, opposed, presumed_together

#: The surest wake before a start, and whether the wake is certain.
Woken = tuple[Wake | None, bool]


def note_start(frame: Frame, start: Start, woken: Woken | None = None) -> None:
    """Record a process that starts at the current line, directly or inside a call.

    For a process started earlier in the frame, `woken` is the surest wake before that start.
    """
    if frame.quiet:
        return
    conditions = possible_together(_together(frame.conditions, start.conditions))
    if conditions is None:
        return
    before, sure = woken or _surest_before(frame, start, conditions)
    found = start._replace(
        conditions=conditions,
        presumed=presumed_together(frame.presumed, start.presumed),
        link=frame.step(start.link),
        off=frame.off is not None or start.off,
        handled=frame.tries > 0 or start.handled,
        before=before,
        sure=sure,
        imports=_imports(frame, start),
    )
    if frame.toplevel:
        frame.site_starts.append(SiteStart(*frame.place, found, len(frame.site_edges)))
        return
    known = frame.starts.get(found.place)
    if known is None or found.order < known.order:
        frame.starts[found.place] = found


def woken_by(frame: Frame) -> Woken:
    """Return the surest wake so far in the process that the frame runs in."""
    return _surest(frame, _alike(frame, frame.conditions))


def surest(wakes: Iterable[Wake]) -> Wake | None:
    """Return the surest of these wakes, ignoring those that only query a device."""
    waking = [wake for wake in wakes if wake.kind in WAKING]
    return min(waking, key=lambda wake: wake.order, default=None)


def _surest_before(frame: Frame, start: Start, conditions: Conditions) -> Woken:
    """Return the surest wake before a start, in the frame or in the call that starts the process."""
    own, sure = _surest(frame, _alike(frame, conditions))
    inside = start.before
    if inside is None or (sure and not start.sure):
        return own, sure
    met = possible_together(_together(frame.conditions, inside.conditions))
    if met is None:
        return own, sure
    return inside._replace(conditions=met, link=frame.step(inside.link)), start.sure


def _alike(frame: Frame, conditions: Conditions) -> list[Wake]:
    """Return the frame's wakes so far, except those on paths that these conditions rule out."""
    wakes = [site.wake for site in frame.sites] if frame.toplevel else frame.wakes.values()
    return [wake for wake in wakes if not opposed(_together(wake.conditions, conditions))]


def _surest(frame: Frame, wakes: Iterable[Wake]) -> Woken:
    waking = [wake for wake in wakes if wake.kind in WAKING]
    sure = [wake for wake in waking if wake.accelerator in frame.must]
    found = surest(sure or waking)
    return found, found is not None and bool(sure)


def _imports(frame: Frame, start: Start) -> tuple[Edge, ...]:
    """Return the imports that functions run on the way to the start; those of the module body are found
    elsewhere.
    """
    inside = tuple([edge._replace(link=frame.step(edge.link)) for edge in start.imports])
    return inside if frame.toplevel else (*frame.edges.values(), *inside)


def _together(some: Conditions, others: Conditions) -> Conditions:
    return tuple(dict.fromkeys((*some, *others)))
