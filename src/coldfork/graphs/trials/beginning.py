"""The state before a capture: the older memory, the sources of random numbers, executors and caches."""

from __future__ import annotations

import functools
import gc
import random
import sys
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, compress, repeat
from operator import is_, is_not
from types import FunctionType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from coldfork.graphs.leaks.memory import is_readable, key_of
from coldfork.graphs.trials.large_memory import is_large

CAREFUL = 4
"""The least boldness: only floating-point numbers vary; integers stay, because they may be indices."""
_AT_ONCE = 1000
"""How many objects are looked at together."""
_PLAIN = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter))
CACHED = type(functools.cache(len))
"""The type of cached functions."""


@dataclass(frozen=True, slots=True)
class View:
    """A part of some memory, given by numbers that are also valid in copies of the process."""

    key: int
    dtype: Any
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    def on(self, storage: Any) -> Any:
        """Return this part of a storage, as a tensor without autograd history."""
        return torch.empty(0, dtype=self.dtype).set_(storage, self.offset, self.shape, self.stride)


def view_of(tensor: Any) -> View:
    """Return the part of its memory that a tensor covers."""
    return View(
        key_of(tensor), tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
    )


def distinct_part_of(tensor: Any) -> View:
    """Return the same part with each element only once: elements of expanded tensors share memory."""
    view = view_of(tensor)
    shape = tuple(1 if not step else size for size, step in zip(view.shape, view.stride, strict=True))
    reach = 1 + sum((size - 1) * step for size, step in zip(shape, view.stride, strict=True) if size)
    steps = sorted((step, size) for size, step in zip(shape, view.stride, strict=True) if size > 1)
    inner = 1
    for step, size in steps:
        if step < inner:  # windows overlap, so each element is kept once
            return replace(view, shape=(reach,), stride=(1,))
        inner = step * (size - 1) + inner
    return replace(view, shape=shape)


def bytes_of(storage: Any) -> Any:
    """Return a storage's contents as a tensor of bytes."""
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def plainly(tensor: Any) -> Any:
    """Return a readable tensor as an ordinary one, without the methods that its subclass overrides."""
    if type(tensor) in _PLAIN:
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


def known_objects() -> list[Any]:
    """Return all objects that the garbage collector knows, including those that an engine has frozen."""
    if not gc.get_freeze_count():
        return gc.get_objects()
    gc.unfreeze()
    try:
        return gc.get_objects()
    finally:
        gc.freeze()


def _chosen_from(objects: list[Any], kinds: Iterable[type]) -> list[Any]:
    """Return the objects of some types, and all generators of torch, which the collector does not know.

    No Python code runs for each of a million objects, and a few at a time stay in the processor's cache.
    """
    found: dict[int, Any] = {}
    # By ids of types, because `isinstance` and hashes of types may run code of the program.
    chosen = set(map(id, kinds))
    for start in range(0, len(objects), _AT_ONCE):
        some = objects[start : start + _AT_ONCE]
        of_kinds = compress(some, map(chosen.__contains__, map(id, map(type, some))))
        # Functions refer to most, and to no generator but through another object.
        holders = compress(some, map(is_not, map(type, some), repeat(FunctionType)))
        held = gc.get_referents(*holders)
        of_torch = compress(held, map(is_, map(type, held), repeat(torch.Generator)))
        found.update((id(one), one) for one in chain(of_kinds, of_torch))
    return list(found.values())


def _kinds_of_generators() -> tuple[type, ...]:
    numpy = sys.modules.get("numpy.random")
    return (random.Random,) if numpy is None else (random.Random, numpy.Generator, numpy.RandomState)


def generators_now() -> list[Any]:
    """Return the program's own sources of random numbers."""
    return _chosen_from(known_objects(), _kinds_of_generators())


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    below: list[type] = type.__subclasses__(kind)
    for one in below:
        yield from _with_subclasses(one)


class Beginning:
    """A record of the older memory, that of all tensors that exist when the record is made.

    It also knows the other objects that runs in copies of the process need. They are found before there are
    copies, because each object that a copy looks at has to be copied for it.
    """

    def __init__(self) -> None:
        self._tensors: dict[int, list[weakref.ref[Any]]] = {}
        # Weak references keep the addresses of storages from being reused, but do not keep their memory.
        self._places: list[StorageWeakRef] = []
        self._others: list[weakref.ref[Any]] = []
        self.generators: list[Any] = []
        """The program's own sources of random numbers."""
        kinds = *_with_subclasses(torch.Tensor), *_with_subclasses(ThreadPoolExecutor), CACHED
        for one in _chosen_from(known_objects(), (*kinds, *_kinds_of_generators())):
            if issubclass(type(one), torch.Tensor):
                if is_readable(one):
                    self._add(one)
            elif issubclass(type(one), (ThreadPoolExecutor, CACHED)):
                self._others.append(weakref.ref(one))
            else:
                self.generators.append(one)

    def others(self, kind: type) -> list[Any]:
        """Return the executors of threads, or the cached functions, that still exist."""
        alive = (each() for each in self._others)
        return [one for one in alive if issubclass(type(one), kind)]

    def _add(self, tensor: Any) -> None:
        plain = plainly(tensor)
        key = key_of(plain)
        if key not in self._tensors:
            self._places.append(StorageWeakRef(plain.untyped_storage()))
        self._tensors.setdefault(key, []).append(weakref.ref(tensor))

    def holds(self, key: int) -> bool:
        """Return whether the memory with this key is older memory."""
        return key in self._tensors

    def objects(self, key: int) -> list[Any]:
        """Return the program's tensors in the memory with this key."""
        return [tensor for one in self._tensors.get(key, ()) if (tensor := one()) is not None]

    def largest(self, key: int) -> Any:
        """Return the largest tensor in the memory with this key; None if the memory has been freed."""
        alive = map(plainly, self.objects(key))
        return max(alive, key=lambda tensor: tensor.numel(), default=None)

    def storage(self, key: int) -> Any:
        """Return the storage with this key; None if it has been freed."""
        tensor = self.largest(key)
        return None if tensor is None else tensor.untyped_storage()

    def contents(self, keys: Iterable[int]) -> dict[int, Any]:
        """Return the present contents of the storages with these keys, except freed and large ones."""
        found = ((key, self.storage(key)) for key in keys)
        return {
            key: bytes_of(storage).clone()
            for key, storage in found
            if storage is not None and not is_large(storage)
        }


class Draws:
    """All sources of random numbers in this process."""

    def __init__(self, private: Iterable[Any]) -> None:
        self._private = list(private)

    def reseed(self, seed: int) -> None:
        """Seed all sources of random numbers."""
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


@dataclass(frozen=True, slots=True)
class Level:
    """A value to try for some inputs, because the host may compare them with a number near it."""

    value: int | float
    inputs: frozenset[int]
    """The numbers of the inputs."""
    everywhere: bool = True
    """Whether all elements get the value, or only one."""


class Role(StrEnum):
    """How an input changes when sequences of a batch get longer or shorter."""

    SAME = "same"
    """One number for each sequence, which changes by as much as its length."""
    OFFSETS = "offsets"
    """The start of each sequence, and the end of the last one."""
    STARTS = "starts"
    """The start of each sequence."""
    TOTAL = "total"
    """One number for all sequences."""


@dataclass(frozen=True, slots=True)
class Group:
    """The numbers of inputs whose values have to change together."""

    members: tuple[tuple[int, Role], ...]
    size: int
    """The number of sequences."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to run one batch from the state before any capture."""

    number: int
    """The number of the batch."""
    inputs: tuple[View, ...]
    """The memory that gets new values in each step."""
    boldness: tuple[int, ...]
    """How much the values of each input may vary."""
    seed: int
    kept: frozenset[int]
    """Memory that the program updates for each batch."""
    written: frozenset[int]
    """Older memory to which the graph writes."""
    filling: float = 0.0
    """The value with which newly allocated memory is filled."""
    compiled: bool = False
    """Whether the program's compiled functions run in compiled form."""
    traced: bool = False
    """Whether to record each operator."""
    deciding: bool = False
    """Whether to record host reads, and the numbers with which the program compares values."""
    level: Level | None = None
    """The value that is tried for some inputs, if any."""
    attempt: int = 0
    """The number of the attempt with this seed; each attempt uses other values."""
    groups: tuple[Group, ...] = ()
    """The inputs that vary together."""
    forgotten: frozenset[int] = frozenset()
    """The numbers of the places whose older contents are cleared, so that the program fills them again."""
    prepared: bool = False
    """Whether the program fills its inputs itself, from the seed."""
    chosen: bool = False
    """Whether the inputs get the values that the caller chose."""

    @property
    def varying(self) -> frozenset[int]:
        """The numbers of the inputs whose values vary freely."""
        return frozenset(number for number, one in enumerate(self.boldness) if one != CAREFUL)
