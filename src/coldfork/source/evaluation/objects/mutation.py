"""The program's writes to objects, classes and containers; each one is recorded in the journal."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.journal import Journal, Mark
from coldfork.source.values.kinds import UNKNOWN, ClassRef, Instance, Mapping, Sequence, Union, Value
from coldfork.source.values.unions import union

#: Attributes that only describe a class, and are never called.
_ABOUT = frozenset({"__doc__", "__module__", "__name__", "__qualname__", "__signature__", "__annotations__"})
#: Tables with more entries are not followed entry by entry.
_LARGEST = 500


def share(value: Value) -> Value:
    """Mark a value of a module or class body, and the values inside it, as objects that all calls share."""
    waiting = [value]
    while waiting:  # not recursive, because a list may be nested thousands of levels deep
        one = waiting.pop()
        if isinstance(one, (Instance, Mapping, Sequence)) and not one.shared:
            one.shared = True
            if isinstance(one, Sequence):
                waiting.extend(one.items)
            else:
                waiting.extend((one.attributes if isinstance(one, Instance) else one.items).values())
    return value


def set_attribute(ev: Interpreter, frame: Frame, target: Instance, name: str, value: Value) -> None:
    """Set `target.name = value`; do nothing if that is off the nominal path."""
    if frame.off is not None:
        return
    known = target.attributes.get(name)
    if known is not None:
        if frame.conditions or ev.joining:
            value = union((known, value))
        if value is known or (type(value) is Union and value == known):
            ev.journal.shared += target.shared  # a result that depends on this value may not be cached
            return
    ev.journal.note_entry(target.attributes, name, target)
    target.attributes[name] = value


def set_on_class(ev: Interpreter, frame: Frame, target: ClassRef, name: str, value: Value) -> None:
    """Set `Class.name = value`, after the class body."""
    if frame.off is not None or name in _ABOUT:
        return
    if target.outside is None:
        target.outside = {}
    before = ev.member(target, name) if frame.conditions or ev.joining else None
    if before is not None:
        value = union((before.value, value))
    known = target.outside.get(name)
    if known is None or (known is not value and known != value):
        ev.journal.note_entry(target.outside, name, None)
        target.outside[name] = value


def set_item(ev: Interpreter, frame: Frame, target: Mapping, key: Value, value: Value) -> None:
    """Set `target[key] = value`."""
    if frame.off is not None:
        return
    known = target.items.get(key)
    perhaps = bool(frame.conditions or ev.joining)
    doubtful = _doubtful(target, perhaps)
    if target.doubtful is not doubtful:
        ev.journal.note(target)
        target.doubtful = doubtful
    if (known is None and len(target.items) >= _LARGEST) or (frame.conditions and target.exact):
        ev.journal.note(target)
        target.exact = False
        if known is None and len(target.items) >= _LARGEST:
            return
    ev.journal.note_entry(target.items, key, target)
    straight = known is None or not perhaps
    target.items[key] = value if straight or known is None else union((known, value))


def update(ev: Interpreter, frame: Frame, target: Mapping, items: dict[Value, Value], exact: bool) -> None:
    """Run `target.update(items)`."""
    if frame.off is not None:
        return
    ev.journal.note(target)
    if items:
        target.doubtful = _doubtful(target, bool(frame.conditions or ev.joining or not exact))
    if len(target.items) + len(items) <= 2 * _LARGEST:
        target.items.update(items)
    else:
        exact = False
    target.exact = target.exact and exact and not frame.conditions


def extend(ev: Interpreter, frame: Frame, target: Sequence, items: Iterable[Value], exact: bool) -> None:
    """Run `target.extend(items)`."""
    if frame.off is not None:
        return
    ev.journal.note(target)
    if len(target.items) >= _LARGEST:
        target.exact = False
        return
    added = tuple(items)
    if added:
        target.doubtful = _doubtful(target, bool(frame.conditions or ev.joining or not exact))
    target.items = (*target.items, *added)
    target.exact = target.exact and exact and not frame.conditions


def _doubtful(target: Sequence | Mapping, perhaps: bool) -> bool:
    """Return whether a container may still be empty after an addition that may not happen (`perhaps`)."""
    return perhaps and (target.doubtful or not target.items)


def forget(value: Value) -> None:
    """Forget the content of an object or a container, which is unknown from now on."""
    if isinstance(value, Instance):
        value.attributes.update(dict.fromkeys(value.attributes, UNKNOWN))
    elif isinstance(value, Mapping):
        value.items.update(dict.fromkeys(value.items, UNKNOWN))
        value.exact, value.doubtful = False, True
    elif isinstance(value, Sequence):
        value.items = (UNKNOWN,)
        value.exact, value.doubtful = False, True


def forget_since(journal: Journal, mark: Mark) -> bool:
    """Forget the values changed since `mark`; return whether any of them was known."""
    known = False
    for target, key in journal.changed_since(mark):
        if not isinstance(target, dict):
            known = known or target.exact
            forget(target)
        elif target.get(key, UNKNOWN) is not UNKNOWN:
            target[key] = UNKNOWN
            known = True
    return known
