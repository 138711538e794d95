"""Choices that captured code makes otherwise than the run before it, because of what that run has changed.

A test, a look-up or a cached function goes one way in the warm-up and computes something that is kept. If it
goes another way in the capture, since the warm-up has changed what it looks at, the work is missing from the
graph. It matters where the capture reads what the work left.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from coldfork.model.captures import CaptureKind
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Env, First, Object, Value, Work
from coldfork.source.capture.state import MAYBE, Choice, Leftover, Missing, Read, contradictory
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.syntax.walk import walk
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Const

_Outcome = TypeVar("_Outcome")


class Site(NamedTuple):
    """Where code chooses, and how the source writes what it looks at."""

    module: str
    line: int
    text: str


# -- what is looked at ----------------------------------------------------------------------------------


def note(f: Following, owner: Object | Env, key: str, value: Value | None) -> None:
    """Something asks what a place holds."""
    for reader in f.run.readers:
        reader.append(Read(owner, key, value))


def note_contents(f: Following, value: Value) -> None:
    """Something asks how much a container holds."""
    if f.run.readers and type(value) is Object and value.kind:
        note(f, value, "[]", Const((len(value.keys) if value.keys is not None else None, value.added)))


@contextmanager
def reading(f: Following, asking: int = 1) -> Iterator[list[Read]]:
    """What is looked at inside; to ask in a test is not to use."""
    found: list[Read] = []
    f.run.readers.append(found)
    f.run.asking += asking
    try:
        yield found
    finally:
        f.run.asking -= asking
        f.run.readers.pop()


def subject_of(test: Node) -> str:
    """How the source writes what a test asks about."""
    for part in walk((test,)):
        match part:
            case (nodes.ATTR | nodes.INDEX, *_):
                return text_of(part)
            case (nodes.NAME, name, _) if not hasattr(builtins, name):
                return text_of(part)
    return text_of(test)


def here(f: Following, text: str) -> Site:
    """The present line."""
    return Site(f.frame.func.module.name, f.frame.line, text)


# -- ways -----------------------------------------------------------------------------------------------


def go(
    f: Following,
    site: Site,
    way: object,
    reads: list[Read],
    follow: Callable[[], _Outcome],
    condition: Condition | None = None,
) -> _Outcome:
    """Follow one way: note what it keeps, or what a capture leaves out of the way that was gone before.

    Where it is not known which way is gone, each is followed on a condition of its own.
    """
    if f.run.region is not None:
        for choice in f.run.choices.get(site[:2], ()):
            changed = _changed(choice, reads) if choice.way != way else None
            if changed is not None:
                leave_out(f, site, choice, changed, condition)
        return follow()
    _leave_over(f, site, way, reads)
    heard: list[Work] = []
    f.run.listeners.append(heard)
    conditions = f.run.conditions()
    try:
        outcome = follow()
    finally:
        f.run.listeners.pop()
    owners = [read.owner for read in reads if type(read.owner) is Object]
    if isinstance(outcome, Object):
        owners.append(outcome)  # whoever asked for it may keep it
        if outcome.data[0] >= MAYBE:
            heard.append(Work(*outcome.data, outcome, outcome))
    works = lasting(f, heard, owners)
    if works:
        choice = Choice(way, tuple(reads), works, conditions, f.run.runs)
        f.run.choices.setdefault(site[:2], []).append(choice)
    return outcome


def _leave_over(f: Following, site: Site, way: object, reads: list[Read]) -> None:
    """What an earlier call built is found by a later one: a capture that follows may use it."""
    for choice in f.run.choices.get(site[:2], ()):
        if choice.way != way and choice.runs < f.run.runs and _changed(choice, reads) is not None:
            most = max(choice.works, key=lambda work: work.level)
            first = First(
                *site[:2], most.level, most.text, choice.runs, False, choice.conditions, choice.works
            )
            envs = tuple(frame.env for frame in f.run.stack)
            f.run.leftovers.append(Leftover(most.value, first, f.run.steps(), site.text, envs))


def lasting(f: Following, heard: list[Work], owners: list[Object]) -> tuple[Work, ...]:
    """Of what was done, that which depends on the batch and is kept by something that outlives it."""
    around: list[Value] = list(owners)
    for frame in f.run.stack:
        around.append(f.names.globals_of(frame.func.module))
        around += [value for env in frame.env.outwards() for value in env.names.values()]
    return tuple(work for work in device_work.kept(heard, around) if work.level >= MAYBE)


def _changed(choice: Choice, reads: list[Read]) -> Object | Env | None:
    """The owner of a place that holds something else than it did when the other way was gone."""
    for then in choice.reads:
        for now in reads:
            if _is(now.owner, then.owner) and then.key == now.key and not _same(then.value, now.value):
                return now.owner
    return None


def _is(owner: Object | Env, other: Object | Env) -> bool:
    """True for the same object, and for a copy of it."""
    if owner is other:
        return True
    return type(owner) is Object and owner.origin is not None and _is(owner.origin, other)


def _same(first: Value | None, second: Value | None) -> bool:
    return first is second or (first is not None and first == second)


def leave_out(
    f: Following, site: Site, choice: Choice, owner: Object | Env, condition: Condition | None = None
) -> None:
    """The captured code leaves out what a run before it did."""
    region = f.run.region
    outer = region.conditions if region is not None else ()
    if contradictory((*choice.conditions, *outer)):
        return
    most = max(choice.works, key=lambda work: work.level)
    handed = type(owner) is Object and is_handed(f, owner)
    f.run.missing.append(
        Missing(
            CaptureKind.REUSES_STATE if handed else CaptureKind.INITIALISES_LAZILY,
            site.text,
            tuple(one for work in choice.works for one in (work.value, work.target)[: 1 + bool(condition)]),
            (
                *f.run.conditions(),
                *([condition] if condition else []),
                *choice.conditions,
                *of_data(most.level, most.text),
            ),
            (site.module, site.line),
            f.run.steps(),
        )
    )


def of_data(level: int, work: str) -> tuple[Condition, ...]:
    """What has to hold of the data for work to be missed."""
    return (Condition(words=f"what {work} computes differs between batches"),) if level == MAYBE else ()


def is_handed(f: Following, owner: Object) -> bool:
    """True when captured code was given the object, rather than being a part of its own."""
    region = f.run.region
    frames = f.run.stack[region.depth :] if region is not None else []
    owners = [frame.env.own for frame in frames]
    for frame in frames:
        around = [value for env in frame.func.around() for value in env.names.values()]
        for value in (*frame.arguments, *around):
            if type(value) is Object and not any(value is own for own in owners) and value.holds(owner):
                return True
    return False


# -- the end of a capture ---------------------------------------------------------------------------------


def settle(f: Following) -> None:
    """Report the missing work whose outcome the captured code reads, unless it computed it anew before."""
    run = f.run
    for one in run.missing:
        if any(_is_used(f, value) for value in one.values):
            run.observe(
                one.kind,
                one.text,
                f"{one.text}, set on the first run only",
                one.conditions,
                earlier=one.earlier,
                steps=one.steps,
            )
    run.missing.clear()


def _is_used(f: Following, value: Object) -> bool:
    run = f.run
    if run.is_renewed(value):
        return False
    return id(value) in run.touched or any(one.holds(value) for one in run.handed)
