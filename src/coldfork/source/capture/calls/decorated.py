"""Functions under decorators of the checked code: what the decorators make of them."""

from __future__ import annotations

from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Arguments, Func, Object, Value
from coldfork.source.capture.state import FIXED
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, called
from coldfork.source.values.kinds import Const

#: The place of what decorators made, once that has been followed.
_MADE = "@"


def made_of(f: Following, target: Object) -> Func | None:
    """The function that decorators have made; None where that is not to be known."""
    if _MADE not in target.parts and id(target) in f.names.decorated:
        made = _decorate(f, target)
        target.parts[_MADE] = made if made is not None else Const(None)
    found = target.parts.get(_MADE)
    return found if isinstance(found, Func) else None


def _decorate(f: Following, target: Object) -> Value | None:
    _, module, node, owner = f.names.decorated[id(target)]
    _, _, _, decorators, *_ = node
    value: Value | None = f.names.function(module, node, None, owner, bare=True)
    region, f.run.region = f.run.region, None  # that was when the module was imported
    for decorator, _ in reversed(decorators):
        if value is not None and not f.names.transparent(module, decorator):
            meaning = f.names.static(module, called(decorator))
            value = _applied(f, meaning, decorator, value) if isinstance(meaning, Func) else None
    f.run.region = region
    return value


def _applied(f: Following, decorator: Func, node: Node, function: Value) -> Value | None:
    """What a decorator gives, which may be made by a call of its own."""
    if node[0] == nodes.CALL:
        _, _, positional, keywords, *_ = node
        arguments = [_constant(one) for one in positional]
        named = {str(name): _constant(value) for name, value in keywords}
        given = Arguments(
            [one for one in arguments if one is not None],
            {name: value for name, value in named.items() if value is not None},
            [FIXED] * len(arguments),
        )
        if len(given.values) < len(arguments) + len(named):
            return None
        made = f.call(decorator, given)
        if not isinstance(made, Func):
            return None
        decorator = made
    return f.call(decorator, Arguments([function], {}, [FIXED]))


def _constant(node: Node) -> Value | None:
    match node:
        case (nodes.CONST, value):
            return Const(value)
    return None
