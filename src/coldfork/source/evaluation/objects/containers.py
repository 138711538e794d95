"""Methods and items of Python's containers and of constants."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.classes import hook_of, metaclass
from coldfork.source.evaluation.objects.exports import module_object
from coldfork.source.evaluation.objects.mutation import extend, set_attribute, set_item, update
from coldfork.source.evaluation.objects.names import global_value
from coldfork.source.evaluation.objects.protocols import call_key, iterate
from coldfork.source.evaluation.running import being_set
from coldfork.source.evaluation.trace import Failure
from coldfork.source.semantics.constants import LONGEST, STARTED, UNORDERED, is_format_wide
from coldfork.source.semantics.text_methods import partial_text_method, text_method
from coldfork.source.values.conditions import negated
from coldfork.source.values.kinds import (
    NONE,
    SETTLED,
    UNKNOWN,
    Attributes,
    Bound,
    ClassRef,
    Const,
    External,
    Instance,
    Keywords,
    Lazy,
    Mapping,
    Sequence,
    Union,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Wrapped
from coldfork.source.values.texts import PartialText
from coldfork.source.values.unions import alternatives, union

#: Adding an item to a union costs as much as traversing this many items.
_UNION = 8
#: Methods of a dictionary that traverse all its items.
_WHOLE = frozenset({"__iter__", "copy", "items", "keys", "update", "values"})
_GROWING = frozenset({"append", "add", "insert", "appendleft", "extend", "update"})


def container_method(
    ev: Interpreter, frame: Frame, receiver: Value, name: str, positional: Values, keywords: Keywords
) -> Value:
    """Call a method of a list, dictionary, set, tuple or constant."""
    if isinstance(receiver, Mapping):
        return _mapping(ev, frame, receiver, name, positional, keywords)
    if isinstance(receiver, Attributes):
        return _attributes(ev, frame, receiver, name, positional, keywords)
    if isinstance(receiver, Sequence):
        return _sequence(ev, frame, receiver, name, positional, keywords)
    if isinstance(receiver, Const):
        return _constant(ev, receiver, name, _spread(ev, frame, name, positional), keywords)
    if isinstance(receiver, PartialText):
        return partial_text_method(receiver, name, positional, keywords)
    return UNKNOWN


def _spread(ev: Interpreter, frame: Frame, name: str, positional: Values) -> Values:
    """Return the arguments of a text's method; if `join` gets a generator, its items replace it."""
    if name != "join" or len(positional) != 1 or not isinstance(positional[0], Lazy):
        return positional
    items, exact = iterate(ev, frame, positional[0])
    return (Sequence("list", items, exact),)


def _constant(ev: Interpreter, receiver: Const, name: str, positional: Values, keywords: Keywords) -> Value:
    """Call a method of a constant; the budget is charged for its length, and a long result is not
    computed.
    """
    if not isinstance(receiver.value, str):
        return UNKNOWN
    if name in ("format", "zfill", "replace") and _is_wide(receiver.value, name, positional):
        return UNKNOWN
    ev.budget.charge(len(receiver.value))
    result = text_method(receiver, name, positional, keywords)
    if isinstance(result, Sequence):
        ev.budget.charge(len(result.items))
    elif isinstance(result, Const) and isinstance(result.value, (str, tuple)):
        ev.budget.charge(len(result.value))
        if isinstance(result.value, str) and len(result.value) > max(LONGEST, len(receiver.value)):
            return UNKNOWN
    return result


def _is_wide(text: str, name: str, positional: Values) -> bool:
    """Return True if a method would make a long text from short ones, which is not worth computing."""
    constants = [one.value for one in positional if isinstance(one, Const)]
    if name == "format":
        return is_format_wide(text)
    if name == "replace":
        found = [one for one in constants if isinstance(one, str)]
        return len(found) == 2 and (text.count(found[0]) * len(found[1]) > max(LONGEST, len(text)))
    return any(isinstance(one, int) and one > LONGEST for one in constants)


def _mapping(
    ev: Interpreter, frame: Frame, receiver: Mapping, name: str, positional: Values, keywords: Keywords
) -> Value:
    if name in _WHOLE:
        ev.budget.charge(len(receiver.items))
    if name in ("get", "setdefault", "pop") and positional:
        default = positional[1] if len(positional) > 1 else NONE
        found = _looked_up(ev, receiver, positional[0])
        if name == "setdefault" and found is None:
            set_item(ev, frame, receiver, positional[0], default)
        if found is None:
            return (
                default if receiver.exact and isinstance(positional[0], Const) else union([default, UNKNOWN])
            )
        is_there = all(single in receiver.items for single, _ in alternatives(positional[0]))
        return found if is_there else union([found, default])
    if name in ("keys", "__iter__"):
        return Sequence("list", tuple(receiver.items), receiver.exact, receiver.doubtful)
    if name == "values":
        return Sequence("list", tuple(receiver.items.values()), receiver.exact, receiver.doubtful)
    if name == "items":
        pairs = tuple(Sequence("tuple", (key, value)) for key, value in receiver.items.items())
        return Sequence("list", pairs, receiver.exact, receiver.doubtful)
    if name == "copy":
        return Mapping(dict(receiver.items), receiver.exact, receiver.doubtful)
    if name == "update":
        given: dict[Value, Value] = {Const(key): value for key, value in keywords.items() if key is not None}
        exact = not positional or (isinstance(positional[0], Mapping) and positional[0].exact)
        if positional and isinstance(positional[0], Mapping):
            given = {**positional[0].items, **given}
        update(ev, frame, receiver, given, exact)
        return NONE
    return UNKNOWN


def _attributes(
    ev: Interpreter, frame: Frame, receiver: Attributes, name: str, positional: Values, keywords: Keywords
) -> Value:
    """Call a method of an object's `__dict__`; items that the method sets become attributes of the object."""
    held = receiver.held
    before = dict(held.items)
    result = _mapping(ev, frame, held, name, positional, keywords)
    if name in ("update", "setdefault"):
        for key, value in held.items.items():
            if before.get(key) is not value and isinstance(key, Const):
                set_attribute(ev, frame, receiver.owner, str(key.value), value)
    return result


def _looked_up(ev: Interpreter, container: Mapping, key: Value) -> Value | None:
    """Return the value under `key` in a dictionary; if the key is unknown, a union of all values."""
    if key not in container.items:
        ev.budget.charge(len(container.items) * (1 if isinstance(key, SETTLED) else _UNION))
    return mapping_item(container, key)


def mapping_item(container: Mapping, key: Value) -> Value | None:
    """Return the value under `key` in a dictionary; None if the key may be missing."""
    if isinstance(key, Union):
        found = [mapping_item(container, single) for single, _ in alternatives(key)]
        known = [value for value in found if value is not None]
        return union(known) if known else None
    found_value = container.items.get(key)
    if found_value is not None:
        return found_value
    if isinstance(key, SETTLED):
        if container.exact and all(isinstance(k, SETTLED) for k in container.items):
            return None
        others = [v for k, v in container.items.items() if not isinstance(k, SETTLED)]
        return union([*others, UNKNOWN]) if others else None
    if container.exact:
        return union(container.items.values()) if container.items else None
    return union([*container.items.values(), UNKNOWN])


def _sequence(
    ev: Interpreter, frame: Frame, receiver: Sequence, name: str, positional: Values, keywords: Keywords
) -> Value:
    if name in _GROWING and positional:
        more, exact = (
            iterate(ev, frame, positional[0]) if name in ("extend", "update") else ((positional[-1],), True)
        )
        extend(ev, frame, receiver, more, exact)
        return NONE
    if name == "copy":
        return Sequence(receiver.kind, receiver.items, receiver.exact, receiver.doubtful)
    if name in ("pop", "popleft"):
        return union(receiver.items) if receiver.items else UNKNOWN
    if name == "sort" and "key" in keywords:
        call_key(ev, frame, receiver.items, keywords)
        return NONE
    if name in ("union", "intersection", "difference"):
        return Sequence(receiver.kind, receiver.items, exact=False)
    return UNKNOWN


def item(ev: Interpreter, frame: Frame, container: Value, key: Value) -> Value:
    """Return `container[key]`."""
    if isinstance(container, Union):
        return ev.for_each_alternative(frame, container, lambda single: item(ev, frame, single, key))
    if isinstance(container, Attributes):
        container = container.held
    if isinstance(container, Mapping):
        found = _looked_up(ev, container, key)
        if found is None and container.exact and not container.shared:
            raise Raised("KeyError")
        return found if found is not None else UNKNOWN
    if isinstance(container, Sequence):
        return _element(container, key)
    if isinstance(container, PartialText):
        return _letter(container, key)
    if isinstance(container, Const) and isinstance(key, Const):
        try:
            return Const(container.value[key.value])
        except Exception:  # indexing a constant may raise any exception
            return UNKNOWN
    if isinstance(container, Instance):
        getter = ev.attribute(frame, container, "__getitem__")
        if isinstance(getter, Bound):
            return ev.call(frame, getter, (key,))
        return UNKNOWN
    if isinstance(container, ClassRef):
        return _class_item(ev, frame, container, key)
    if isinstance(container, Wrapped):
        return ev.call(frame, External(f"{container.symbol}.__getitem__"), (key,))
    if isinstance(container, External):
        return _external_item(ev, frame, container, key)
    return UNKNOWN


def _letter(text: PartialText, key: Value) -> Value:
    """Return the character at an index, if it is in the known beginning of a text."""
    if isinstance(key, Const) and key.value in range(len(text.start)):
        return Const(text.start[key.value])
    return UNKNOWN


def _element(container: Sequence, key: Value) -> Value:
    items, exact = container.items, container.exact
    if isinstance(key, Const) and isinstance(key.value, int) and container.kind != UNORDERED:
        if exact:
            return items[key.value] if -len(items) <= key.value < len(items) else UNKNOWN
        if container.kind == STARTED and 0 <= key.value < len(items):
            return items[key.value]
    return union([*items, UNKNOWN] if not exact else items) if items else UNKNOWN


def _class_item(ev: Interpreter, frame: Frame, cls: ClassRef, key: Value) -> Value:
    """Return `Class[key]`: by `__class_getitem__` or the metaclass's `__getitem__`, else the class itself."""
    getter = ev.member(cls, "__class_getitem__")
    if getter is not None and isinstance(getter.holder, ClassRef):
        function = hook_of(getter.value)
        return ev.call(frame, Bound(function, cls), (key,))
    meta = metaclass(ev, cls)
    if meta is not None:
        held = ev.member(meta, "__getitem__")
        if held is not None and isinstance(held.holder, ClassRef):
            return ev.call(frame, Bound(held.value, cls), (key,))
    return cls


def _variable(ev: Interpreter, frame: Frame, name: str) -> Value:
    """Return `os.environ[name]`; if a `try` handles the error, the rest of its block presumes that the
    variable is set.
    """
    value = ev.environment.values.get(name)
    if value is not None:
        return Const(value)
    if name not in ev.environment.values and frame.tries:
        condition = being_set(name)
        ev.record_failure(Failure(negated(condition), True, "KeyError", frozenset(frame.must)))
        if condition not in frame.conditions:
            frame.conditions = (*frame.conditions, condition)
    return UNKNOWN


def _external_item(ev: Interpreter, frame: Frame, container: External, key: Value) -> Value:
    if container.name == "os.environ" and isinstance(key, Const):
        return _variable(ev, frame, str(key.value))
    if container.name == "builtins.globals()" and isinstance(key, Const):
        return global_value(ev, frame.module, str(key.value))
    if container.name == "sys.modules" and isinstance(key, Const) and isinstance(key.value, str):
        return module_object(ev, key.value)
    return pytorch.TENSOR if pytorch.is_tensor(ev, container) else UNKNOWN
