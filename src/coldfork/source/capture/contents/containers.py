"""Containers in code around and inside a capture: what they hold, as long as all of it is known."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.source.capture.following import Following
from coldfork.source.capture.history.keys import of_constant
from coldfork.source.capture.objects import ANY, SOME_CALL, Object, Value
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import Const


def collected(
    f: Following, name: str, kind: str, values: list[Value] | dict[str, Value], complete: bool
) -> Object:
    """A container of values; `complete` when these are all that it holds."""
    made = f.fresh(name)
    made.kind = kind
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    made.parts |= {f"[{key!r}]": value for key, value in pairs}
    return _completed(f, made, complete)


def sequence_display(f: Following, node: Node) -> Object:
    """What `[...]`, `(...)` or `{...}` without keys gives."""
    _, kind, elements = node
    values: list[Value] = []
    others: list[Value] = []
    for element in elements:
        value = f.evaluate(element)
        inner = value.elements() if element[0] == nodes.STAR and type(value) is Object else None
        if element[0] != nodes.STAR:
            values.append(value)
        elif inner is not None:
            values += inner
        else:
            others.append(value)
    made = collected(f, "items", kind, values, not others)
    made.made_by = SOME_CALL
    if others:
        made.parts[ANY] = others[-1]
    return made


def dictionary_display(f: Following, node: Node) -> Object:
    """What `{key: value}` gives."""
    _, keys, elements = node
    made = f.fresh("items", SOME_CALL)
    made.kind = "dict"
    complete = True
    for key, element in zip(keys, elements, strict=True):
        name = f.evaluate(key) if key is not None else None
        value = f.evaluate(element)
        inner = value if key is None and type(value) is Object and value.kind == "dict" else None
        if isinstance(name, Const):
            made.parts[f"[{of_constant(name.value)}]"] = value
        elif inner is not None and inner.keys is not None:
            made.parts |= {one: inner.parts[one] for one in inner.keys}
        else:
            complete = False
            made.parts[ANY] = value
    return _completed(f, made, complete)


def _completed(f: Following, made: Object, complete: bool) -> Object:
    if complete:
        made.keys, made.under = tuple(made.parts), _circumstances(f)
    return made


def _circumstances(f: Following) -> tuple[object, ...]:
    """What has to hold at the present line, and the loops around it of which one round stands for all."""
    conditions = [condition for frame in f.run.stack for condition in frame.conditions]
    return (*conditions, *f.run.rounds)


def put(f: Following, owner: Object, key: str) -> None:
    """Something was put into a container under a key."""
    owner.added += 1
    if owner.keys is None:
        return
    if _circumstances(f) != owner.under:
        owner.keys = None  # or it was not
    elif key not in owner.keys:
        owner.keys = (*owner.keys, key) if owner.kind == "dict" and key != ANY else None


def appended(f: Following, owner: Object, values: list[Value] | None) -> None:
    """Something was added to the end of a container; None where it is not known how much."""
    owner.added += 1
    known = owner.keys
    if known is None or values is None or owner.kind != "list" or _circumstances(f) != owner.under:
        owner.keys = None
        return
    added = {f"[{index}]": value for index, value in enumerate(values, len(known))}
    owner.parts |= added
    owner.keys = (*known, *added)


def reordered(given: Object) -> Object:
    """A container of the same items, in an order of its own."""
    made = Object(given.name, given.before, made_by=given.made_by)
    made.parts |= given.parts
    made.kind = "list"
    return made


def forget_contents(values: Iterable[Value]) -> None:
    """Code that was not followed may have changed these."""
    for value in values:
        if type(value) is Object and value.kind != "tuple":
            value.keys = None
