"""Caches from before the check; fresh runs clear them if the program computes their contents again."""

from __future__ import annotations

import functools
import gc
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import torch

from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.leaks.reachable_values import own_of, spots
from coldfork.graphs.trials.beginning import Beginning, Question
from coldfork.graphs.trials.copies import Answer
from coldfork.virtual.capturing.records import Places

_DEPTH = 3
"""How many levels of holders are followed from each tensor."""
_MOST = 24
"""The most places to try for one batch."""
_MOST_TENSORS = 64
_CACHE = type(functools.cache(len))
_NOTHING = object()
_CONTENTS = object()
_OURS = "coldfork.graphs."
_EMPTIED = list, deque, set
"""Containers that are cleared as a whole."""
_OF_MODULES = "_parameters", "_buffers"


@dataclass(frozen=True, slots=True)
class WhatIsKept:
    """A request for the places that hold the memory with these keys."""

    keys: frozenset[int]


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a program holds an object: an entry, an attribute, or a cache."""

    holder: Any
    key: Any = _NOTHING
    """The key or name in the holder; unset for a cached function; `_CONTENTS` for the whole container."""
    empty: bool = False
    """Whether `forget` sets it to None instead of deleting it."""

    def forget(self) -> None:
        """Clear the place: delete the entry, set it to None, or clear the cache or container."""
        if self.key is _NOTHING:
            self.holder.cache_clear()
        elif self.key is _CONTENTS:
            self.holder.clear()
        elif isinstance(self.holder, dict):
            if self.empty:
                self.holder[self.key] = None
            else:
                del self.holder[self.key]
        elif self.empty:
            setattr(self.holder, self.key, None)
        else:
            delattr(self.holder, self.key)

    def made(self, beginning: Beginning) -> list[Any]:
        """Return the tensors that can be reached from the place and are not in older memory."""
        if self.key is _NOTHING:
            found: Any = gc.get_referents(self.holder)
        elif self.key is _CONTENTS:
            found = list(self.holder)
        elif isinstance(self.holder, dict):
            found = self.holder.get(self.key)
        else:
            found = getattr(self.holder, self.key, None)
        values = (spot.value for spot in spots({"": [found]}))
        return [one for one in values if is_readable(one) and not beginning.holds(key_of(one))]

    def is_filled(self) -> bool:
        """Return whether the place is a cached function with a result in its cache."""
        return self.key is _NOTHING and self.holder.cache_info().currsize > 0

    @property
    def hits(self) -> float:
        """The number of a cached function's cache hits; NaN for other places."""
        return self.holder.cache_info().hits if self.key is _NOTHING else math.nan


def places_of(keys: Iterable[int], beginning: Beginning) -> list[Place]:
    """Return the places that may be cleared: first those near the tensors, then cached functions."""
    with _unfrozen():
        return _places_of(keys, beginning)


@contextmanager
def _unfrozen() -> Iterator[None]:
    """Unfreeze objects within the block, because the collector finds no referrers among frozen ones."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    try:
        yield
    finally:
        if frozen:
            gc.freeze()


def _places_of(keys: Iterable[int], beginning: Beginning) -> list[Place]:
    tensors = [one for key in sorted(keys) for one in beginning.objects(key)]
    found: dict[tuple[int, Any], Place] = {}
    for tensor in tensors[:_MOST_TENSORS]:
        for place in _holding(tensor, {id(found)}):
            found.setdefault((id(place.holder), place.key), place)
    ways = [
        one
        for place in found.values()
        for one in ((place,) if place.key in (_NOTHING, _CONTENTS) else (place, replace(place, empty=True)))
    ]
    known = {id(place.holder) for place in ways}
    return [*ways, *(Place(one) for one in _cached_functions() if id(one) not in known)][:_MOST]


def _cached_functions() -> Iterator[Any]:
    """Yield the program's cached functions whose caches are not empty."""
    places = Places()
    for one in gc.get_objects():
        if type(one) is _CACHE and one.cache_info().currsize:
            code = getattr(one.__wrapped__, "__code__", None)
            if code is not None and places.is_programs(code):
                yield one


def _holding(tensor: Any, seen: set[int]) -> Iterator[Place]:
    if isinstance(tensor, torch.nn.Parameter):
        return
    level: list[Any] = [tensor]
    for _ in range(_DEPTH):
        above: list[Any] = []
        for value in level:
            for holder in gc.get_referrers(value):
                if holder is level or holder is above or id(holder) in seen:
                    continue
                seen.add(id(holder))
                if type(holder).__module__.startswith(_OURS):
                    continue
                if type(holder) is _CACHE:
                    yield Place(holder)
                elif isinstance(holder, list | tuple | deque | set | frozenset):
                    above.append(holder)
                elif isinstance(holder, dict) and _is_of_module(holder):
                    return
                elif isinstance(holder, dict) and (owner := _class_of(holder)) is not None:
                    # Not deleted from the dictionary, because Python's attribute cache would become stale.
                    yield from (Place(owner, name) for name, one in holder.items() if one is value)
                else:
                    places = [Place(holder, name) for name, one in _parts_of(holder) if one is value]
                    yield from places
                    if places and isinstance(value, _EMPTIED):
                        yield Place(value, _CONTENTS)
                    is_more = places or own_of(holder) is value
                    if is_more and not isinstance(holder, type | FunctionType | ModuleType):
                        above.append(holder)
        level = above


def _class_of(holder: dict[Any, Any]) -> type | None:
    """Return the class whose attributes are in this dictionary."""
    owners = (one for one in gc.get_referrers(holder) if isinstance(one, type))
    return next((one for one in owners if any(each is holder for each in gc.get_referents(vars(one)))), None)


def _is_of_module(holder: dict[Any, Any]) -> bool:
    """Return whether a dictionary holds the parameters or buffers of a module."""
    return any(
        isinstance(one, dict) and any(one.get(name) is holder for name in _OF_MODULES)
        for one in gc.get_referrers(holder)
    )


def _parts_of(holder: Any) -> list[tuple[Any, Any]]:
    """Return the contents of a dictionary, an object or a closure's cell, by key or name."""
    if isinstance(holder, CellType):
        return [("cell_contents", holder.cell_contents)] if gc.get_referents(holder) else []
    return list((holder if isinstance(holder, dict) else {**_slots_of(holder), **own_of(holder)}).items())


def _slots_of(holder: Any) -> dict[str, Any]:
    """Return the filled slots of an object, without running code of the program."""
    found: dict[str, Any] = {}
    for kind in type(holder).__mro__:
        if "__slots__" not in vars(kind):
            continue
        for name, member in vars(kind).items():
            if type(member) is MemberDescriptorType:
                try:
                    found[name] = member.__get__(holder)
                except AttributeError:
                    continue
    return found


def made_anew(question: Question, places: Answer, run: Callable[[Question], Answer]) -> frozenset[int]:
    """Return the numbers of the places that the program fills again from a batch after they were cleared.

    Contents that the program cannot compute again, or computes without reading a batch, belong to its model.
    """
    asked = replace(question, deciding=True)
    as_it_is = run(asked) if places.given and places.value else Answer(error="nothing is kept")
    found = frozenset[int]()
    for number in places.value if as_it_is.given else ():
        if number in as_it_is.value.passed:
            continue
        tried = run(replace(asked, forgotten=found | {number}))
        if not tried.given:
            continue
        more = tried.value.decisions.reads > as_it_is.value.decisions.reads
        if number in tried.value.remade or (number in tried.value.refilled and more):
            found |= {number}
    return found
