"""What was there before anything of a capture ran: memory by its place, and sources of random numbers."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import compress, repeat
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.trials.large_memory import is_large

CAREFUL = 4
"""How far an input goes of which only numbers may vary: others, which may be places in a table, stay."""
_AT_ONCE = 100_000
"""Of so many objects the collector is asked at a time what they hold."""
_PLAIN = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter))


@dataclass(frozen=True, slots=True)
class View:
    """A part of some memory, by numbers that name the same part in a copy of the process."""

    key: int
    dtype: Any
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    def on(self, storage: Any) -> Any:
        """The part of this storage, as a tensor without a history."""
        return torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.shape, self.stride)


def view_of(tensor: Any) -> View:
    """Where a tensor lies."""
    return View(
        key_of(tensor), tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
    )


def distinct_part_of(tensor: Any) -> View:
    """The same, with each element once: those of an expanded tensor lie upon each other."""
    view = view_of(tensor)
    shape = tuple(1 if not step else size for size, step in zip(view.shape, view.stride, strict=True))
    reach = 1 + sum((size - 1) * step for size, step in zip(shape, view.stride, strict=True) if size)
    steps = sorted((step, size) for size, step in zip(shape, view.stride, strict=True) if size > 1)
    inner = 1
    for step, size in steps:
        if step < inner:  # windows that overlap
            return replace(view, shape=(reach,), stride=(1,))
        inner = step * (size - 1) + inner
    return replace(view, shape=shape)


def bytes_of(storage: Any) -> Any:
    """A storage's contents as they are."""
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def plainly(tensor: Any) -> Any:
    """A readable tensor, without what a class of its own makes of access to it."""
    if type(tensor) in _PLAIN:
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


def known_objects() -> list[Any]:
    """All objects that the collector knows, with those that an engine has frozen before it captures."""
    if not gc.get_freeze_count():
        return gc.get_objects()
    gc.unfreeze()
    try:
        return gc.get_objects()
    finally:
        gc.freeze()


def _tensors(objects: list[Any]) -> Iterator[Any]:
    """The tensors among a million objects, found without a line of Python for each of them."""
    # By their types: other objects may do anything when they are asked for their class.
    return compress(objects, map(type.__subclasscheck__, repeat(torch.Tensor), map(type, objects)))


class Beginning:
    """The memory of all tensors that exist now."""

    def __init__(self) -> None:
        self._tensors: dict[int, list[weakref.ref[Any]]] = {}
        # These keep a place from being given to other memory, not the memory itself.
        self._places: list[StorageWeakRef] = []
        for one in filter(is_readable, _tensors(known_objects())):
            self._add(one)

    def _add(self, tensor: Any) -> None:
        plain = plainly(tensor)
        key = key_of(plain)
        if key not in self._tensors:
            self._places.append(StorageWeakRef(plain.untyped_storage()))
        self._tensors.setdefault(key, []).append(weakref.ref(tensor))

    def holds(self, key: int) -> bool:
        """True for memory that was there."""
        return key in self._tensors

    def objects(self, key: int) -> list[Any]:
        """The tensors that see some memory, as the program holds them."""
        return [tensor for one in self._tensors.get(key, ()) if (tensor := one()) is not None]

    def largest(self, key: int) -> Any:
        """The tensor that sees most of some memory; None when the memory is gone."""
        alive = map(plainly, self.objects(key))
        return max(alive, key=lambda tensor: tensor.numel(), default=None)

    def storage(self, key: int) -> Any:
        """The memory itself, None when it is gone."""
        tensor = self.largest(key)
        return None if tensor is None else tensor.untyped_storage()

    def contents(self, keys: Iterable[int]) -> dict[int, Any]:
        """The present contents of each of these memories that is still there and not too large."""
        found = ((key, self.storage(key)) for key in keys)
        return {
            key: bytes_of(storage).clone()
            for key, storage in found
            if storage is not None and not is_large(storage)
        }


class Draws:
    """Everything in this process that random numbers are drawn from."""

    def __init__(self, private: Iterable[Any] | None = None) -> None:
        self._private = list(_private() if private is None else private)

    def reseed(self, seed: int) -> None:
        """Let all of them begin anew."""
        random.seed(seed)
        torch.default_generator.manual_seed(seed)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(seed)
        for one in self._private:
            if isinstance(one, torch.Generator):
                one.manual_seed(seed)
            elif isinstance(one, random.Random) or hasattr(one, "set_state"):
                one.seed(seed)
            else:
                bits = one.bit_generator
                bits.state = type(bits)(seed).state


def _private() -> Iterator[Any]:
    """Generators that the program made; not all of them are known to the collector, but their holders are."""
    numpy = sys.modules.get("numpy.random")
    kinds = {torch.Generator, random.Random}
    if numpy is not None:
        kinds |= {numpy.Generator, numpy.RandomState}
    seen = set[int]()
    holders = gc.get_objects()
    for start in range(0, len(holders), _AT_ONCE):
        for one in gc.get_referents(*holders[start : start + _AT_ONCE]):
            if type(one) in kinds and id(one) not in seen:
                seen.add(id(one))
                yield one


@dataclass(frozen=True, slots=True)
class Level:
    """A value at which some inputs are tried: the host may compare it with a number of the program's."""

    value: int | float
    inputs: frozenset[int]
    """By their numbers."""
    everywhere: bool = True
    """Whether all elements hold it, or one."""


class Role(StrEnum):
    """How an input follows when each sequence of a batch gets longer or shorter."""

    SAME = "same"
    """One number for each sequence, by as much."""
    OFFSETS = "offsets"
    """Where each sequence begins, and the end of the last."""
    STARTS = "starts"
    """Where each sequence begins."""
    TOTAL = "total"
    """One number for all of them."""


@dataclass(frozen=True, slots=True)
class Group:
    """Inputs, by number, that are changed by the same steps."""

    members: tuple[tuple[int, Role], ...]
    size: int
    """How many sequences there are."""


@dataclass(frozen=True, slots=True)
class Question:
    """One run of one batch from the state in which nothing of a capture had run."""

    number: int
    """Which of the batches."""
    inputs: tuple[View, ...]
    """The memory that holds another batch's values each time."""
    boldness: tuple[int, ...]
    """How far the values of each input may go."""
    seed: int
    kept: frozenset[int]
    """Memory that the program brings up to date for each batch."""
    written: frozenset[int]
    """Memory of before that the graph writes."""
    filling: float = 0.0
    """What memory holds that was only allocated."""
    compiled: bool = False
    """Whether functions that the program compiles run compiled."""
    traced: bool = False
    """Whether to tell of each operator."""
    deciding: bool = False
    """Whether to tell what came to the host, and what the program compares values with."""
    level: Level | None = None
    """Where inputs are tried beside a number of the program's."""
    attempt: int = 0
    """Counts the values that were tried with this seed."""
    groups: tuple[Group, ...] = ()
    """The inputs that are varied together."""
    forgotten: frozenset[int] = frozenset()
    """What the program had kept before, and makes anew; by the numbers of places."""
    prepared: bool = False
    """Whether the program itself fills its inputs, from the seed."""

    @property
    def varying(self) -> frozenset[int]:
        """The inputs, by number, that vary by themselves in all ways."""
        return frozenset(number for number, one in enumerate(self.boldness) if one != CAREFUL)
