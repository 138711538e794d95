"""Loops of captured code: the rounds that are followed, and what comes when they are left."""

from __future__ import annotations

from coldfork.source.capture.calls.known_functions import GENERATOR
from coldfork.source.capture.calls.recording import ask_truth
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import numbered
from coldfork.source.capture.objects import ANY, Object
from coldfork.source.capture.statements.binding import assign
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, called, is_name
from coldfork.source.values.conditions import Condition

_MOST_ITEMS = 8


def for_(f: Following, node: Node) -> bool:
    """A `for` loop, with its `else`; True when nothing behind it is reached."""
    _, line, target, iterable, body, orelse = node
    value = f.evaluate(iterable)
    level = f.level(iterable)
    known = value.elements() if type(value) is Object else None
    if known == []:
        return f.execute(orelse)
    items = known or (value.items() if type(value) is Object else [])
    exact = bool(items) and type(value) is Object and not value.before and value.made_by != GENERATOR
    if _counts(iterable):
        exact = True
    if iterable[0] == nodes.CALL and is_name(called(iterable), "range"):
        items = [numbered(f, "i", "range", f.frame.func.module.name, str(line))]
    if not items and type(value) is Object:
        items = [value.part(ANY)]
    frame = f.frame
    outer = frame.conditions
    if not exact:
        words = f"the loop at line {line} of {frame.func.module.name} runs"
        frame.conditions = (*outer, Condition(words=words))
    partly = known is None or len(known) > _MOST_ITEMS
    left = False
    for item in items[:_MOST_ITEMS] or [f.fresh("item")]:
        assign(f, target, item, level)
        left = _round(f, body, line, partly)
        if left:
            break
    frame.conditions = outer
    return _behind_loop(f, orelse, left, exact)


def _behind_loop(f: Following, orelse: Block, left: bool, exact: bool) -> bool:
    """What comes when a loop is over, which was left, or was not; True when nothing does."""
    broken, f.frame.broken = f.frame.broken, False
    if left and exact:
        return not broken
    return f.execute(orelse) and not broken


def _round(f: Following, body: Block, line: int, partly: bool) -> bool:
    """Follow one round of a loop; True when there is no further one."""
    f.run.rounds += [line] if partly else []
    f.frame.broken = False
    left = f.execute(body) and not f.frame.continued
    f.frame.continued = False
    if partly:
        f.run.rounds.pop()
    return left


def _counts(iterable: Node) -> bool:
    """True for `range(3)`."""
    match iterable:
        case (nodes.CALL, (nodes.NAME, "range", _), (*_, (nodes.CONST, int(last))), *_):
            return last > 0
    return False


def while_(f: Following, node: Node) -> bool:
    """A `while` loop, followed for one round, with its `else`; True when nothing behind it is reached."""
    _, line, test, body, orelse, span = node
    with choices.reading(f) as reads:
        value = ask_truth(f, test)
    site = choices.Site(f.frame.func.module.name, line, choices.subject_of(test))
    frame = f.frame
    outer = frame.conditions

    unsure = f.condition(span) if value is None else None

    def follow() -> bool:
        frame.conditions = (*outer, unsure) if unsure is not None else outer
        return value is not False and _round(f, body, line, True)

    left = choices.go(f, site, value is not False, reads, follow, unsure)
    frame.conditions = outer
    return _behind_loop(f, orelse, left, value is True)
