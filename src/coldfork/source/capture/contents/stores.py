"""What attributes and items hold: put there, looked up, and taken away where it can be seen."""

from __future__ import annotations

from coldfork.source.capture.contents.containers import put
from coldfork.source.capture.contents.weak import is_alive
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import is_known, key_of
from coldfork.source.capture.objects import ANY, Object, Spared, Value
from coldfork.source.values.conditions import negated


class Absent(Exception):
    """Code asked for what is not there: `KeyError` or `AttributeError`, in a `try` that catches it."""


def store(f: Following, owner: Object, key: str, value: Value) -> None:
    """Assign an attribute or item: outside a lazy initialisation this makes it as new."""
    anew = not any(o is owner and k == key for o, k in f.run.lazily)
    if anew:
        _forget_first(f, owner, key)
    if key.startswith("["):
        put(f, owner, key)
        if not is_known(key):
            owner.parts[ANY] = value  # of which key this is an item may not be told
    owner.parts[key] = value
    owner.given.add(key)
    owner.gone.discard(key)
    device_work.stored(f, owner, value)


def _forget_first(f: Following, owner: Object, key: str) -> None:
    """Something is as new; where an `if` that may not hold stands before that, it may as well not be."""
    first = owner.done.pop(key, None)
    before = owner.spared.pop(key, None)
    if f.run.region is not None or (first is None and before is None):
        return
    known = first if first is not None else before.first if before is not None else None
    assert known is not None
    unless = tuple(one for one in f.run.conditions() if not one.words and one not in known.conditions)
    if not unless or (before is not None and tuple(map(negated, unless)) == before.unless):
        return
    owner.spared[key] = Spared(known, owner.parts.get(key) if before is None else before.value, unless)


def item(f: Following, owner: Object, index: Value, text: str = "") -> Value:
    """An item that is asked for by `container[key]`."""
    key = key_of(f, index)
    there = holds_item(f, owner, key)
    choices.note(f, owner, key, owner.parts[key] if there else None)
    if not there and owner.kind not in ("list", "tuple"):
        raise_absent(f, there, text if owner.kind != "dict" else text or "*", "KeyError", "LookupError")
    part = owner.part(key)
    f.run.touch(part)
    return part


def holds_item(f: Following, owner: Object, key: str) -> bool | None:
    """Whether there is an item under a key, if that is known."""
    if owner.made_by == "weakref.WeakValueDictionary" and key in owner.parts:
        if not is_alive(f, owner.parts[key]):
            take_away(f, owner, key)
    if key in owner.given and key in owner.parts:
        return True
    if key in owner.gone:
        return False
    if owner.keys == ():
        return False
    if owner.keys is not None and owner.kind == "dict":
        known = is_known(key) and all(map(is_known, owner.keys))
        return True if key in owner.keys else False if known else None
    return None


def is_in(f: Following, index: Value, owner: Object) -> bool | None:
    """Whether `index in owner`, if that is known of a dictionary or set."""
    if owner.tensor is not None or owner.kind in ("list", "tuple"):
        return None
    key = key_of(f, index)
    there = holds_item(f, owner, key)
    choices.note(f, owner, key, owner.parts[key] if there else None)
    return there


def take_away(f: Following, owner: Object, key: str) -> None:
    """Delete an attribute or item."""
    _forget_first(f, owner, key)
    owner.parts.pop(key, None)
    owner.parts.pop(ANY, None)
    owner.given.discard(key)
    owner.gone.add(key)
    if owner.keys is not None:
        owner.keys = tuple(one for one in owner.keys if one != key)


def clear(f: Following, owner: Object) -> None:
    """Delete all items."""
    for key in [key for key in owner.done if key.startswith("[")]:
        _forget_first(f, owner, key)
    for key in [key for key in owner.parts if key.startswith("[")]:
        del owner.parts[key]
    owner.given = {key for key in owner.given if not key.startswith("[")}
    owner.keys = () if owner.kind != "tuple" else owner.keys


def raise_absent(f: Following, there: bool | None, text: str, *errors: str) -> None:
    """Go on in the handler of the present function that is for what is missing, if it has one.

    Where nobody knows whether it is missing, a handler that makes up for it is for the first run.
    """
    if f.run.trying and f.run.trying[-1].frame is f.frame:
        _, caught, fills = f.run.trying[-1]
        if not caught.isdisjoint((*errors, "Exception", "")) and (text in fills or there is False):
            raise Absent
