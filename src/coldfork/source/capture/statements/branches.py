"""Follow several ways, of which one is taken, and join what names hold behind them."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.objects import Object, Value
from coldfork.source.capture.state import Read
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block
from coldfork.source.values.conditions import Condition


class Way(NamedTuple):
    """One way: what has to hold for it, what runs, and what names hold from the start."""

    condition: Condition | None
    block: Block
    names: dict[str, Value] | None = None


def follow_ways(
    f: Following, ways: list[Way], site: choices.Site | None = None, reads: list[Read] | None = None
) -> bool:
    """Follow each of several ways, of which one is taken; True when none goes on."""
    frame = f.frame
    outer, before = frame.conditions, dict(frame.env.names)
    ends: list[tuple[dict[str, Value], Condition | None]] = []
    for condition, block, names in ways:
        frame.env.names = {**before, **(names or {})}
        frame.conditions = outer

        def follow(block: Block = block, condition: Condition | None = condition) -> bool:
            frame.conditions = (*outer, condition) if condition is not None else outer
            return f.execute(block)

        way = condition is None or not condition.negated
        left = choices.go(f, site, way, reads or [], follow, condition) if site is not None else follow()
        if not left:
            ends.append((frame.env.names, condition))
    frame.conditions = outer
    if not ends:
        frame.env.names = before
        return True
    (first_names, first_condition), *others = ends
    frame.env.names = first_names
    for names, _ in others:
        for name in names.keys() | frame.env.names.keys():
            first, second = frame.env.names.get(name), names.get(name)
            if first is not second and first != second:
                frame.env.names[name] = either(f, name, [one for one in (first, second) if one is not None])
    only = first_condition if len(ways) > 1 and not others else None
    if only is not None and not _refuses(ways, only):
        frame.conditions = (*outer, only)
    return False


def either(f: Following, name: str, values: list[Value]) -> Value:
    """A name that holds one thing or another: nothing is known of it but its name."""
    if all(one is values[0] for one in values):
        return values[0]
    merged = f.fresh(name)
    merged.among = tuple(one for one in values if type(one) is Object)
    merged.before = any(type(one) is Object and one.before for one in values)
    tensors = [one.tensor for one in values if type(one) is Object]
    if len(tensors) == len(values) and all(one == tensors[0] for one in tensors):
        merged.tensor = tensors[0]
    return merged


def _refuses(ways: list[Way], taken: Condition) -> bool:
    """True when the other way only refuses what it was given: code behind a check is not conditional."""
    others = [way.block for way in ways if way.condition is not taken]
    return all(block and block[-1][0] == nodes.RAISE for block in others)
