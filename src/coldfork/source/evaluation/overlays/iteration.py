"""Models of functions that make, transform or consume sequences and mappings."""

from __future__ import annotations

from contextlib import suppress

from coldfork.source.evaluation.flow.truth_tests import Test, test_of
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.objects.protocols import call_key, iterate, unpack
from coldfork.source.semantics.constants import UNORDERED
from coldfork.source.values.kinds import (
    FALSE,
    TRUTHY,
    UNKNOWN,
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
from coldfork.source.values.unions import truth, union


def _map(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `map`, which is lazy: its function runs when the result is iterated."""
    return Lazy("generator", (External("builtins.map"), positional, {})) if len(positional) > 1 else UNKNOWN


def _consumed(kind: str) -> Model:
    def model(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
        if not positional:
            return Sequence(kind, ())
        items, exact = iterate(ev, frame, positional[0])
        shuffled = isinstance(positional[0], Sequence) and positional[0].kind in ("set", UNORDERED)
        made = UNORDERED if shuffled and kind != "set" else kind
        return Sequence(made, items, exact, not exact and not truth(positional[0]))

    return model


def _sorted(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    given = _consumed("list")(ev, frame, positional, {})
    assert isinstance(given, Sequence)
    call_key(ev, frame, given.items, keywords)
    constants = [item for item in given.items if isinstance(item, Const)]
    backwards = keywords.get("reverse", FALSE)
    given.kind = UNORDERED
    if "key" not in keywords and len(constants) == len(given.items) and isinstance(backwards, Const):
        with suppress(TypeError):
            constants.sort(key=lambda constant: constant.value, reverse=bool(backwards.value))
            given.kind, given.items = "list", tuple(constants)
    return given


def _reversed(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    given = _consumed("list")(ev, frame, positional, {})
    assert isinstance(given, Sequence)
    given.items = given.items[::-1]
    return given


def _iter(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `iter`; if there is a sentinel, the function is called once, when the iterator is made."""
    if len(positional) == 2:
        return Sequence("list", (ev.call(frame, positional[0], ()),), exact=False)
    return _consumed("list")(ev, frame, positional, keywords)


def _chosen(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `max` and `min`: the result is one of the items."""
    items, _ = iterate(ev, frame, positional[0]) if len(positional) == 1 else (positional, True)
    call_key(ev, frame, items, keywords)
    return union(items) if items else UNKNOWN


def _sum(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if not positional:
        return UNKNOWN
    items, exact = iterate(ev, frame, positional[0])
    total = positional[1] if len(positional) > 1 else keywords.get("start", Const(0))
    for item in items:
        total = ev.operate(frame, "add", total, item)
    return total if exact else UNKNOWN


def _next(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if not positional:
        return UNKNOWN
    if isinstance(positional[0], Instance):
        return ev.call(frame, ev.attribute(frame, positional[0], "__next__"))
    ev.first_yield_only = isinstance(positional[0], Lazy)
    try:
        items, exact = iterate(ev, frame, positional[0])
    finally:
        ev.first_yield_only = False
    if items and exact:
        return items[0]
    return union([*items, *positional[1:]]) if items else UNKNOWN


def _decided(tests: list[Test], exact: bool, wanted: bool) -> Value:
    """Return `wanted` if a test has that outcome, with the condition for the opposite result."""
    deciding = [test for test in tests if test.nominal is wanted]
    if not deciding and (not exact or any(test.nominal is None for test in tests)):
        return UNKNOWN
    if deciding:
        turning = [test.when_false if wanted else test.when_true for test in deciding]
        nominal, known = Const(wanted), None not in turning
    else:
        turning = [test.when_true if wanted else test.when_false for test in tests]
        nominal, known = Const(not wanted), True
    other = next((condition for condition in turning if condition is not None), None)
    if other is None or not known:
        return nominal
    return Union(((nominal, None), (Const(not nominal.value), other)))


def _any(wanted: bool) -> Model:
    def model(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
        items, exact = iterate(ev, frame, positional[0]) if positional else ((), True)
        return _decided([test_of(item) for item in items], exact, wanted)

    return model


def _dict(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    items: dict[Value, Value] = {}
    exact = None not in keywords
    if positional:
        if isinstance(positional[0], Mapping):
            items.update(positional[0].items)
            exact = exact and positional[0].exact
        else:
            pairs, whole = iterate(ev, frame, positional[0])
            exact = exact and whole
            for pair in pairs:
                parts, _ = unpack(ev, frame, pair)
                if len(parts) == 2:
                    items[parts[0]] = parts[1]
                else:
                    exact = False
    items.update({Const(name): value for name, value in keywords.items() if name is not None})
    filled = any(keywords) or exact or (positional and truth(positional[0]))
    return Mapping(items, exact, not filled)


def _zip(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    columns = [iterate(ev, frame, value) for value in positional]
    rows = [Sequence("tuple", row) for row in zip(*[items for items, _ in columns], strict=False)]
    return Sequence("list", tuple(rows), all(exact for _, exact in columns))


def _enumerate(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    items, exact = iterate(ev, frame, positional[0]) if positional else ((), True)
    place = positional[1] if len(positional) > 1 else keywords.get("start", Const(0))
    rows = []
    for item in items:
        rows.append(Sequence("tuple", (place, item)))
        place = ev.operate(frame, "add", place, Const(1))
    return Sequence("list", tuple(rows), exact)


def _range(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if not positional:
        return UNKNOWN
    numbers = [one.value for one in positional if isinstance(one, Const) and isinstance(one.value, int)]
    if numbers and len(numbers) == len(positional) <= 3:
        try:
            made = range(*numbers)
        except ValueError:
            return UNKNOWN
        shown = made[:64]
        return Sequence("list", tuple(Const(n) for n in shown), not made[64:], not shown)
    ends = positional[1] if len(positional) == 2 and positional[0] == Const(0) else positional[0]
    filled = len(positional) <= 2 and ends is TRUTHY  # a number other than zero
    return Sequence("list", (UNKNOWN,), exact=False, doubtful=not filled)


def _filter(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `filter`, which is lazy like `map`."""
    return (
        Lazy("generator", (External("builtins.filter"), positional, {})) if len(positional) == 2 else UNKNOWN
    )


def _chain(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    parts = [iterate(ev, frame, value) for value in positional]
    return Sequence("list", tuple(i for items, _ in parts for i in items), all(exact for _, exact in parts))


def _reduce(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) < 2:
        return UNKNOWN
    items, _ = iterate(ev, frame, positional[1])
    if items:
        return ev.call(frame, positional[0], (items[0], items[-1]))
    return UNKNOWN


ITERATION: dict[str, Model] = {
    "functools.reduce": _reduce,
    "builtins.map": _map,
    "builtins.list": _consumed("list"),
    "builtins.tuple": _consumed("tuple"),
    "builtins.set": _consumed("set"),
    "builtins.frozenset": _consumed("set"),
    "builtins.sorted": _sorted,
    "builtins.reversed": _reversed,
    "builtins.iter": _iter,
    "collections.deque": _consumed("list"),
    "builtins.max": _chosen,
    "builtins.min": _chosen,
    "builtins.sum": _sum,
    "builtins.next": _next,
    "builtins.any": _any(True),
    "builtins.all": _any(False),
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "types.MappingProxyType": _dict,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.range": _range,
    "builtins.filter": _filter,
    "itertools.chain": _chain,
}
