"""Copies of objects: another object, with the same attributes and items."""

from __future__ import annotations

from coldfork.source.capture.objects import Object, Value


def copied(given: Object) -> Object:
    """What `copy.copy` gives."""
    if given.tensor is not None:
        return given
    made = Object(given.name, False, given.cls, given.made_by)
    made.kind, made.keys, made.under = given.kind, given.keys, given.under
    made.typed, made.present, made.data = given.typed, given.present, given.data
    made.parts, made.done = dict(given.parts), dict(given.done)
    made.spared = dict(given.spared)
    made.given, made.gone = set(given.given), set(given.gone)
    made.origin = given
    if given.before:
        made.before = True  # what nobody has looked at yet is as old as it was
    return made


def deeply_copied(given: Object, seen: dict[int, Object] | None = None) -> Object:
    """What `copy.deepcopy` gives; a tensor of it holds what the other one did."""
    seen = seen if seen is not None else {}
    known = seen.get(id(given))
    if known is not None:
        return known
    made = seen[id(given)] = copied(given)
    if given.tensor is not None:
        return made
    for key, part in made.parts.items():
        made.parts[key] = _part(part, seen)
    return made


def _part(part: Value, seen: dict[int, Object]) -> Value:
    return deeply_copied(part, seen) if type(part) is Object else part
