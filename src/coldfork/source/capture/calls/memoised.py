"""Functions that compute once for the same arguments: `functools.cache` and what is like it."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.capture.contents.stores import holds_item, store
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import token
from coldfork.source.capture.objects import Arguments, Func, Object, Value
from coldfork.source.capture.state import Read
from coldfork.source.values.kinds import Const


def call(f: Following, func: Func, given: Arguments, enter: Callable[[], Value]) -> Value:
    """A call of a function that remembers: what it gave before for the same, or what it gives now."""
    if given.spread or given.options:
        return enter()
    arguments = [*([func.bound] if func.bound is not None else []), *given.positional]
    texts = [token(f, one) for one in arguments]
    if len(arguments) == 1 and not given.keywords and _alone(arguments[0]):
        texts = [f"({texts[0]},)"]
    texts += [f"{name}={token(f, value)}" for name, value in sorted(given.keywords.items())]
    return remembered(f, f.names.attributes_of(func), f"[{', '.join(texts)}]", enter, func)


def _alone(value: Value) -> bool:
    """True for a number that CPython's cache tells from the equal whole number, where it is all there is."""
    return isinstance(value, Const) and isinstance(value.value, bool | float | complex)


def remembered(f: Following, holder: Object, key: str, compute: Callable[[], Value], func: Func) -> Value:
    """What is held under a key, computed if there is nothing."""
    there = holds_item(f, holder, key)
    reads = [Read(holder, key, holder.parts[key] if there else None)]
    site = choices.Site(*func.place, f"{func.symbol}(...)")

    def look_up() -> Value:
        value = holder.parts[key]
        f.run.touch(value)
        return value

    def fill() -> Value:
        value = compute()
        store(f, holder, key, value)
        return value

    return choices.go(f, site, bool(there), reads, look_up if there else fill)


def set_default(f: Following, owner: Object, key: str, value: Value, line: str) -> Value:
    """`container.setdefault(key, value)`: the value is computed each time, and kept the first time only."""
    there = holds_item(f, owner, key)
    reads = [Read(owner, key, owner.parts[key] if there else None)]

    def put() -> Value:
        if not there:
            store(f, owner, key, value)
        found = owner.part(key)
        f.run.touch(found)
        return found

    return choices.go(f, choices.here(f, line), bool(there), reads, put)
