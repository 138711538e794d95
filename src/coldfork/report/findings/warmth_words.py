"""Sentences on the modules that a cause wakes: their number, some names, and the shortest way in."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.model.causes import Cause, Way
from coldfork.model.effects import Verdict
from coldfork.report.shared.quantities import plural

_MOST_NAMED = 3
_VERBS = {Verdict.CERTAIN: "wakes", Verdict.CONDITIONAL: "can wake", Verdict.POSSIBLE: "may wake"}
_MOST_PLACES = 4

#: Formats a path and a line in a form that editors can open.
Place = Callable[[str, int | None], str]


def warmth_sentence(cause: Cause, module: str) -> str:
    """Return `wakes 125 modules, among them fla and fla.layers`, without `module`, which is already named."""
    sentence = f"{_VERBS[cause.verdict]} {plural(cause.warms, 'module')}"
    doubtful = sum(not way.sure for way in cause.ways)
    if doubtful and cause.verdict is Verdict.CERTAIN:
        sentence += f", {cause.warms - doubtful} for certain and {doubtful} only on a condition"
    elif doubtful:
        sentence += f", {doubtful} of them only on a further condition"
    outermost = [way.module for way in cause.outermost]
    if len(outermost) == 1 and cause.warms > 1:
        return f"{sentence}: all of {outermost[0]}"
    if len(outermost) == cause.warms <= _MOST_NAMED:
        return f"{sentence}: {_joined(outermost)}"
    names = [name for name in outermost if name != module]
    return f"{sentence}, among them {_joined(names[:_MOST_NAMED])}"


def spared_sentence(cause: Cause) -> str:
    """Return what mending only this import would achieve; empty for causes of other kinds."""
    if not cause.spares:
        return ""
    names = sorted(cause.spares, key=lambda name: (name.count("."), name))[:_MOST_NAMED]
    left = len(cause.spares) - len(names)
    named = f"{', '.join(names)} and {left} more" if left else _joined(names)
    keeps = f"mending this module alone keeps {plural(len(cause.spares), 'module')} cold"
    return f"{keeps}, more than mending any one of the files behind it: {named}"


def warmth_of(cause: Cause, module: str) -> str:
    """Return a sentence on the modules that a cause wakes; empty if it wakes only its own."""
    if cause.accepted:
        return "a new way to an old cause, which the baseline accepts"
    return warmth_sentence(cause, module) if cause.warms > 1 else ""


def short_warmth(cause: Cause) -> str:
    """Return `wakes 125 modules` or `a new way to an old cause`; empty if only the cause's own
    module wakes.
    """
    if cause.accepted:
        return "a new way to an old cause"
    if cause.warms < 2:
        return ""
    doubtful = cause.warms - cause.warms_certainly if cause.verdict is Verdict.CERTAIN else 0
    behind = f", {doubtful} only on a condition" if doubtful else ""
    return f"{_VERBS[cause.verdict]} {plural(cause.warms, 'module')}{behind}"


def way_in(cause: Cause, place: Place) -> str:
    """Return the shortest way from the outermost importing module to the cause; empty if none imports it."""
    start = next((way for way in cause.outermost if way.following is not None), None)
    if start is None:
        return ""
    places = [place(way.path, way.line) for way in _followed(cause, start) if way.path is not None]
    if len(places) > _MOST_PLACES:
        places[2:-1] = [f"({len(places) - 3} more)"]
    return f"shortest way in from {start.module}: {' -> '.join(places)}"


def named_ways(cause: Cause, place: Place) -> list[tuple[str, str]]:
    """Return every woken module with the place of the next step towards the cause."""
    return [(way.module, _next_step(way, place)) for way in cause.ways]


def _next_step(way: Way, place: Place) -> str:
    if way.path is None:
        return f"inside {way.following}"
    step = place(way.path, way.line) + (f" imports {way.following}" if way.following else "")
    return step if way.sure else f"{step}, on a condition"


def _followed(cause: Cause, way: Way) -> list[Way]:
    by_module = {one.module: one for one in cause.ways}
    followed = [way]
    while (following := by_module.get(followed[-1].following or "")) is not None:
        followed.append(following)
    return followed


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
