"""Caches from before the check; fresh runs clear them if the program computes their contents again."""

from __future__ import annotations

import functools
import gc
import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import torch

from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.leaks.reachable_values import own_of, spots
from coldfork.graphs.trials.beginning import CACHED, Beginning, Question
from coldfork.graphs.trials.copies import Answer
from coldfork.graphs.trials.results import Found, WhatIsKept
from coldfork.virtual.capturing.records import Places, Record, Use

_DEPTH = 3
"""How many levels of holders are followed from a tensor."""
_MOST = 96
"""The most places that are tried for one batch."""
_NOTHING = object()
_CONTENTS = object()
_OURS = "coldfork."
_EMPTIED = list, deque, set
"""Containers that are cleared as a whole."""
_OF_MODULES = "_parameters", "_buffers"
_KEPT_AS_MADE = list, tuple, FunctionType, MethodType, functools.partial
"""Holders of numbers that `forget` clears as a whole or not at all."""
_LONGEST = 4096
"""How many elements of an array are compared with the numbers of a graph."""
_KEPT = "what was kept from before the check"
_CHANGED = "it was changed in place before the check, and may hold an earlier batch"
_HIDDEN = "it is from before the check, and its holder, such as a generator's frame, was not found"
_BY_THREADS = "another thread computes it again, whose operators are not seen"


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a program holds an object: an entry, an attribute, an array, or a cache."""

    holder: Any
    key: Any = _NOTHING
    """The key or name in the holder; unset for a cached function; `_CONTENTS` for the whole container."""
    empty: bool = False
    """Whether `forget` sets it to None instead of deleting it, and the elements of an array to 0."""
    memory: int = 0
    """The key of the memory that is held there; 0 if it is none."""

    def forget(self) -> None:
        """Clear the place: delete the entry, set it to None, or clear the cache or container."""
        if self.key is _NOTHING:
            self.holder.cache_clear()
        elif self.key is _CONTENTS:
            if _is_array(self.holder):
                self.holder.fill(0 if self.empty else math.nan)
            else:
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
        else:
            found = self._content()
        values = (spot.value for spot in spots({"": [found]}))
        return [one for one in values if is_readable(one) and not beginning.holds(key_of(one))]

    def is_filled(self) -> bool:
        """Return whether a cached function has a result in its cache, or another place holds a number."""
        if self.key is _NOTHING:
            return bool(self.holder.cache_info().currsize > 0)
        return self.key is _CONTENTS or type(self._content()) is float

    def _content(self) -> Any:
        if isinstance(self.holder, dict):
            return self.holder.get(self.key)
        return getattr(self.holder, self.key, None)

    @property
    def hits(self) -> float:
        """The number of a cached function's cache hits; NaN for other places."""
        return self.holder.cache_info().hits if self.key is _NOTHING else math.nan


def places_of(asked: WhatIsKept, make: Any, beginning: Beginning, first: int) -> tuple[list[Place], Found]:
    """Return the places that may be cleared, first those near the tensors, then those of numbers.

    Their numbers begin at `first`. `make` makes forward functions, and can reach what the program keeps.
    """
    with _unfrozen():
        places, changed, hidden = _holding_memory(asked.keys, beginning)
        places += _holding_numbers(asked.numbers, make)
    known = {id(place.holder) for place in places}
    cached = [Place(one) for one in _cached_functions(beginning) if id(one) not in known]
    most = places[:_MOST]
    end = first + len(most)
    memory = tuple(place.memory for place in most)
    complete = len(places) == len(most)
    found = Found(range(first, end), memory, changed, hidden, complete, range(end, end + len(cached)))
    return [*most, *cached], found


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


def _holding_memory(
    keys: Iterable[int], beginning: Beginning
) -> tuple[list[Place], dict[int, str], dict[int, str]]:
    """Return the places that hold some memory, and the memory that was changed, or has no place."""
    found: dict[tuple[int, Any], Place] = {}
    changed, hidden = dict[int, str](), dict[int, str]()
    for key in sorted(keys):
        tensors = beginning.objects(key)
        if not tensors or any(map(_is_of_model, tensors)):
            continue
        of_key = [place for tensor in tensors for place in _holding(tensor, {id(found), id(tensors)})]
        names = (place.key for place in of_key if isinstance(place.key, str))
        name = next(names, f"a tensor {tuple(tensors[0].shape)} of {tensors[0].dtype}")
        if any(map(_is_written_by_graph, tensors)):
            pass  # replays of that graph keep it up to date
        elif not of_key:
            hidden[key] = name
        elif any(map(_was_changed, tensors)):
            changed[key] = name
        for place in of_key:
            found.setdefault((id(place.holder), place.key), replace(place, memory=key))
    return list(_ways(found.values())), changed, hidden


def _ways(places: Iterable[Place]) -> Iterator[Place]:
    for place in places:
        yield place
        if place.key is not _NOTHING and (place.key is not _CONTENTS or _is_array(place.holder)):
            yield replace(place, empty=True)


def _holding_numbers(numbers: frozenset[float], make: Any) -> list[Place]:
    """Return the places of numbers, and of arrays with one, that the program can reach by its names."""
    function = getattr(make, "func", make)
    function = getattr(function, "__func__", function)
    roots = {"": make, "globals": getattr(function, "__globals__", {})} if numbers else {}
    found: dict[tuple[int, Any], Place] = {}
    for spot in spots(roots):
        if type(spot.value) is float and spot.value in numbers and not isinstance(spot.holder, _KEPT_AS_MADE):
            found[id(spot.holder), spot.key] = Place(spot.holder, spot.key)
        elif _is_array(spot.value) and not numbers.isdisjoint(spot.value.reshape(-1)[:_LONGEST].tolist()):
            found[id(spot.value), _CONTENTS] = Place(spot.value, _CONTENTS)
    return list(_ways(found.values()))


def _is_array(value: Any) -> bool:
    """Return whether a value is an array of numpy, with floating-point numbers that may change."""
    numpy = sys.modules.get("numpy")
    return (
        numpy is not None
        and type(value) is numpy.ndarray
        and value.dtype.kind == "f"
        and value.flags.writeable
    )


def _is_of_model(tensor: Any) -> bool:
    """Return whether a tensor is a parameter, or a buffer of a module."""
    if isinstance(tensor, torch.nn.Parameter):
        return True
    return any(isinstance(one, dict) and _is_of_module(one) for one in gc.get_referrers(tensor))


def _is_written_by_graph(tensor: Any) -> bool:
    """Return whether a graph that was captured before the check writes this tensor."""
    uses = [one for one in gc.get_referrers(tensor) if type(one) is Use]
    lists = [one for use in uses for one in gc.get_referrers(use) if type(one) is list and one is not uses]
    records = [one for each in lists for one in gc.get_referrers(each) if type(one) is Record]
    return any(record.wrote is each for record in records for each in lists)


def _was_changed(tensor: Any) -> bool:
    try:
        return int(tensor._version) > 0
    except RuntimeError:  # inference tensors have no version
        return False


def _cached_functions(beginning: Beginning) -> Iterator[Any]:
    """Yield the program's cached functions whose caches are not empty."""
    places = Places()
    for one in beginning.others(CACHED):
        if type(one) is CACHED and one.cache_info().currsize:
            code = getattr(one.__wrapped__, "__code__", None)
            if code is not None and places.is_programs(code):
                yield one


def _holding(tensor: Any, seen: set[int]) -> Iterator[Place]:
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
                if type(holder) is CACHED:
                    yield Place(holder)
                elif isinstance(holder, list | tuple | deque | set | frozenset):
                    above.append(holder)
                elif isinstance(holder, dict) and (owner := _class_of(holder)) is not None:
                    # Not deleted from the dictionary, which would leave Python's attribute cache stale.
                    yield from _places_in(owner, holder.items(), value)
                else:
                    places = _places_in(holder, _parts_of(holder), value)
                    yield from places
                    if places and isinstance(value, _EMPTIED):
                        yield Place(value, _CONTENTS)
                    is_more = places or own_of(holder) is value
                    if is_more and not isinstance(holder, type | FunctionType | ModuleType):
                        above.append(holder)
        level = above


def _places_in(holder: Any, parts: Iterable[tuple[Any, Any]], value: Any) -> list[Place]:
    # Not in the search itself, whose variables would then be in cells, and these hold the value too.
    return [Place(holder, name) for name, one in parts if one is value]


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


def made_anew(
    question: Question, places: Answer, as_it_is: Answer, run: Callable[[Question], Answer]
) -> tuple[frozenset[int], list[tuple[str, str]]]:
    """Return the numbers of the places that the program fills again from a batch after they were cleared.

    `as_it_is` is the answer with their contents, which also says what decided on the host. Contents that the
    program cannot compute again, or computes without reading a batch, are part of its model. Also return what
    cannot be told apart from the model, by name, with the reason.
    """
    if not places.given:
        return frozenset(), [(_KEPT, places.trouble or places.error)]
    kept: Found = places.value
    unknown = [] if kept.complete else [(_KEPT, f"more than {_MOST} places may hold it")]
    asked = replace(question, deciding=True)
    needed = kept.places or kept.cached or kept.changed
    as_it_is = as_it_is if needed else Answer(error="nothing is kept")
    found = frozenset[int]()
    # Cached functions are cleared together: a program may have hundreds that have nothing to do with this.
    groups = [range(number, number + 1) for number in kept.places] + [kept.cached]
    while groups and as_it_is.given:
        group = groups.pop(0)
        cleared = frozenset(group) - as_it_is.value.passed
        if not cleared:
            continue
        tried = run(replace(asked, forgotten=found | cleared))
        more = tried.given and tried.value.decisions.reads > as_it_is.value.decisions.reads
        if len(group) > 1:
            if not tried.given or more or cleared & (tried.value.remade | tried.value.unseen):
                middle = len(group) // 2
                groups[:0] = [group[:middle], group[middle:]]
            continue
        if tried.trouble:
            unknown.append((_KEPT, tried.trouble))
        if not tried.given:
            continue
        if cleared & tried.value.remade or (cleared & tried.value.refilled and more):
            found |= cleared
        elif cleared & tried.value.unseen:
            unknown.append((_KEPT, _BY_THREADS))
    if as_it_is.trouble:
        unknown.append((_KEPT, as_it_is.trouble))
    known = {view.key for view in question.inputs} | {
        kept.memory[one - kept.places.start] for one in found if one in kept.places
    }
    if as_it_is.given:
        known |= as_it_is.value.wrote.keys()
    unknown += [(name, _CHANGED) for key, name in kept.changed.items() if key not in known]
    unknown += [(name, _HIDDEN) for key, name in kept.hidden.items() if key not in known]
    return found, unknown
