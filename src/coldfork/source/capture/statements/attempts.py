"""`try` in code around and inside a capture: what is attempted, and what makes up for what is missing."""

from __future__ import annotations

from coldfork.source.capture.contents.stores import Absent
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.state import Trying
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Handler, Node, last_name
from coldfork.source.syntax.quoting import text_of
from coldfork.source.syntax.walk import walk
from coldfork.source.values.conditions import Condition

_FOR_MISSING = frozenset({"KeyError", "AttributeError", "LookupError", "NameError", "IndexError"})


def try_(f: Following, node: Node) -> bool:
    """Follow a `try`; True when nothing behind it is reached."""
    _, line, body, handlers, orelse, final = node
    outer, region = f.frame.conditions, f.run.region
    with choices.reading(f, 0) as reads:
        left = _attempt(f, body, handlers)
    site = choices.Site(f.frame.func.module.name, line, _wanted(body))
    missing = [one for one in handlers if _catches(one) & _FOR_MISSING or "" in _catches(one)]
    if left is None:
        f.frame.conditions = outer
        left = choices.go(f, site, "missing", reads, lambda: _handle(f, missing[0]))
        return f.execute(final) or left
    if not left:
        left = choices.go(f, site, "there", reads, lambda: f.execute(orelse))
    else:
        choices.go(f, site, "there", reads, lambda: True)
    was_missing = any(one.way == "missing" for one in f.run.choices.get(site[:2], ()))
    for handler in handlers:
        if was_missing and handler in missing:
            continue
        words = f"the try above line {handler[3]} of {f.frame.func.module.name} fails"
        f.frame.conditions = (*outer, Condition(words=words))
        f.run.region = region
        left = _handle(f, handler) and left
    f.run.region = region
    f.frame.conditions = outer
    return f.execute(final) or left


def _attempt(f: Following, body: Block, handlers: tuple[Handler, ...]) -> bool | None:
    """What is attempted; None where it ends at something that is missing."""
    caught = frozenset().union(*map(_catches, handlers)) if handlers else frozenset()
    f.run.trying.append(Trying(f.frame, caught, frozenset().union(*map(_assigned, handlers))))
    lazily = len(f.run.lazily)
    try:
        return f.execute(body)
    except Absent:
        del f.run.lazily[lazily:]
        return None
    finally:
        f.run.trying.pop()


def _handle(f: Following, handler: Handler) -> bool:
    _, name, block, _ = handler
    if name:
        f.frame.env.names[name] = f.fresh(name)
    return f.execute(block)


def _catches(handler: Handler) -> frozenset[str]:
    """The names of the errors that a handler is for; an empty one where it is for all."""
    match handler[0]:
        case None:
            return frozenset({""})
        case (nodes.SEQUENCE, _, elements):
            return frozenset(last_name(one) or "?" for one in elements)
        case error:
            return frozenset({last_name(error) or "?"})


def _assigned(handler: Handler) -> frozenset[str]:
    """What a handler assigns to: containers and attributes; `*` for what functions do that it calls."""
    found = set()
    for part in walk(handler[2]):
        match part:
            case (nodes.TO_INDEX, owner, _, _):
                found.add(text_of(owner))
            case (nodes.TO_ATTR, owner, name, _):
                found.add(f"{text_of(owner)}.{name}")
            case (nodes.CALL, *_):
                found.add("*")
            case (nodes.RAISE, *_):
                return frozenset()
    return frozenset(found)


def _wanted(body: Block) -> str:
    """How the source writes what is asked for first."""
    return next((text_of(part) for part in walk(body) if part[0] in (nodes.INDEX, nodes.ATTR)), "the try")
