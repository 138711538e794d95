"""Methods that put something into a container, look it up, or take it out."""

from __future__ import annotations

from coldfork.source.capture.calls import memoised
from coldfork.source.capture.contents.containers import appended
from coldfork.source.capture.contents.copies import copied
from coldfork.source.capture.contents.stores import clear, holds_item, raise_absent, store, take_away
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import key_of
from coldfork.source.capture.objects import ANY, Arguments, Object, Value
from coldfork.source.values.kinds import Const

#: The place of what a context variable holds.
_HELD = "value"
_FILLING = frozenset({"append", "add", "extend", "insert"})


def call(f: Following, receiver: Object, method: str, given: Arguments, text: str) -> Value | None:
    """A method that puts something into a container or takes it out; None for every other."""
    arguments, keywords = given.positional, given.keywords
    if receiver.tensor is not None:
        return None
    if receiver.made_by == "contextvars.ContextVar":
        return _of_context(f, receiver, method, arguments)
    if not arguments and not keywords and method in ("clear", "copy") and receiver.cls is None:
        return _whole(f, receiver, method)
    if method == "setdefault" and arguments:
        value = arguments[1] if len(arguments) > 1 else Const(None)
        return memoised.set_default(f, receiver, key_of(f, arguments[0]), value, text)
    if method == "register_buffer" and len(arguments) > 1 and isinstance(arguments[0], Const):
        store(f, receiver, str(arguments[0].value), arguments[1])
        return Const(None)
    if method == "update" and _updated(f, receiver, arguments, keywords):
        return Const(None)
    if method == "add" and len(arguments) == 1:
        store(f, receiver, key_of(f, arguments[0]), Const(True))
    if method in ("discard", "remove") and receiver.kind == "set" and arguments:
        take_away(f, receiver, key_of(f, arguments[0]))
        return Const(None)
    if method in _FILLING and arguments:
        appended(f, receiver, _added(method, arguments[-1]))
        if receiver.keys is None:
            receiver.parts[ANY] = arguments[-1]
        device_work.stored(f, receiver, arguments[-1])
        return Const(None)
    if method == "items" and not arguments:
        return _pairs(f, receiver)
    if receiver.cls is None and method == "values":
        return receiver
    if receiver.cls is None and method in ("get", "pop") and arguments:
        return _taken_out(f, receiver, method, arguments)
    return None


def _updated(f: Following, receiver: Object, arguments: list[Value], keywords: dict[str, Value]) -> bool:
    """`container.update(...)`; False where it is not known what that brings."""
    entries = dict(keywords)
    for one in arguments:
        known = one.entries() if type(one) is Object else None
        if known is None:
            return False
        entries |= known
    for key, value in entries.items():
        store(f, receiver, f"[{key!r}]", value)
    return True


def _whole(f: Following, receiver: Object, method: str) -> Value:
    """What is done to a whole dictionary."""
    if method == "copy":
        return copied(receiver)
    clear(f, receiver)
    return Const(None)


def _of_context(f: Following, variable: Object, method: str, arguments: list[Value]) -> Value | None:
    """A method of a context variable, which holds one thing."""
    if method == "set" and arguments:
        store(f, variable, _HELD, arguments[0])
        return f.fresh("token")
    if method != "get":
        return None
    choices.note(f, variable, _HELD, variable.parts.get(_HELD))
    if _HELD not in variable.given:
        raise_absent(f, None, "*", "LookupError")
    value = variable.part(_HELD)
    f.run.touch(value)
    return value


def _added(method: str, given: Value) -> list[Value] | None:
    """What a method adds to the end of a list, if that is known."""
    if method == "append":
        return [given]
    return given.elements() if method == "extend" and type(given) is Object else None


def _taken_out(f: Following, receiver: Object, method: str, arguments: list[Value]) -> Value:
    key = key_of(f, arguments[0])
    there = holds_item(f, receiver, key)
    choices.note(f, receiver, key, receiver.parts[key] if there else None)
    if there is False:
        return arguments[1] if len(arguments) > 1 else Const(None)
    part = receiver.part(key)
    f.run.touch(part)
    if method == "pop":
        take_away(f, receiver, key)
    return part


def _pairs(f: Following, receiver: Object) -> Value:
    made = f.fresh("items")
    for index, item in enumerate(receiver.items() or [receiver.part(ANY)]):
        pair = f.fresh("pair")
        pair.parts |= {"[0]": f.fresh("key"), "[1]": item}
        made.parts[f"[{index}]"] = pair
    made.before = receiver.before or not receiver.items()
    return made
