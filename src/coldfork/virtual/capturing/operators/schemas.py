"""Read from an operator's schema, once, what it does to its arguments, and the form of its results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import torch

from coldfork.virtual.capturing.memory import poison_value

_UNINITIALISED = frozenset(
    ("empty", "empty_strided", "empty_like", "empty_permuted", "new_empty", "new_empty_strided")
)
_VIEWS_WITHOUT_SAYING = frozenset(("_unsafe_view",))
"""Operators that are declared to return something new, but return a view of their argument on every
device.
"""

OVERWRITES = frozenset(
    ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "cauchy_", "log_normal_")
)
"""In-place operators that do not read the previous content."""

_OUT_IN_ITS_OWN_WAY = frozenset(("binary_cross_entropy", "max_unpool2d", "max_unpool3d"))
"""Operators whose `out=` overload uses the tensor's previous content, or temporarily needs a larger
tensor.
"""

KERNELS = "inductor_kernels"
"""The namespace in which the kernels that torch's compiler wrote are registered as operators."""

_HOST = ("aten::_local_scalar_dense", "aten::item", "aten::equal", "aten::is_nonzero")
_PASSED = ("profiler::", "prim::", "_c10d_functional::wait")


class Way(IntEnum):
    """The way in which a capture treats an operator."""

    COMPUTE = 0
    """It is recorded, not executed."""
    VIEW = 1
    """It is executed: it only makes another tensor for the same memory."""
    RESHAPE = 2
    """It is executed: it changes in place how a tensor uses its memory."""
    EMPTY = 3
    """It allocates memory and writes nothing."""
    LIFT = 4
    """It turns a value that the host knows into a tensor."""
    HOST = 5
    """It asks the device for a value."""
    DECOMPOSE = 6
    """It consists of other operators, which are captured one by one."""
    PASS = 7
    """It does nothing on the device."""


@dataclass(slots=True, eq=False)
class Argument:
    """The position of an operator's argument in a call."""

    index: int | None
    name: str

    def of(self, args: Any, kwargs: Any) -> Any:
        """Return the argument's value in a call, or None."""
        if self.index is not None and self.index < len(args):
            return args[self.index]
        return kwargs.get(self.name)


class Operator:
    """One overload of a torch operator, and how a capture treats it."""

    __slots__ = (
        "aliases",
        "blind",
        "call",
        "func",
        "is_kernel",
        "name",
        "outs",
        "random",
        "refusable",
        "short",
        "single",
        "way",
        "written",
    )

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.func: Any = func
        self.name: str = f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)
        arguments = [
            Argument(None if one.kwarg_only else index, one.name)
            for index, one in enumerate(schema.arguments)
        ]
        pairs = list(zip(arguments, schema.arguments, strict=True))
        self.written: tuple[Argument, ...] = tuple(
            mine for mine, one in pairs if one.alias_info and one.alias_info.is_write
        )
        """The arguments that it writes to."""
        self.outs: tuple[Argument, ...] = tuple(mine for mine, one in pairs if one.is_out)
        """The arguments that its results are written to, and that are resized if they do not fit."""
        self.aliases: tuple[Argument | None, ...] = tuple(_alias(one, pairs) for one in schema.returns)
        """For each result, the argument that it is the same as; None for something new."""
        room, _, short = str(schema.name).partition("::")
        self.short: str = short
        self.is_kernel: bool = room == KERNELS
        """Whether torch's compiler wrote it, so that only a trial run can show what it overwrites."""
        self.blind: tuple[Argument, ...] | tuple[()] = self.outs or (
            self.written if self.short in OVERWRITES else ()
        )
        """The arguments that it writes without reading their previous content."""
        self.single: bool = len(schema.returns) == 1
        tags = func.tags
        self.random: bool = torch.Tag.nondeterministic_seeded in tags
        self.refusable: bool = (
            torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags
        )
        self.way: Way = _way(func, schema, self)
        self.call: Any = func._op
        """The operator, called without the overhead of its Python wrapper."""


def _alias(result: Any, pairs: list[tuple[Argument, Any]]) -> Argument | None:
    info = result.alias_info
    if info is None or not info.is_write:
        return None
    known = ((mine, one.alias_info) for mine, one in pairs if one.alias_info is not None)
    return next((mine for mine, other in known if other.before_set & info.before_set), None)


def _way(func: Any, schema: Any, operator: Operator) -> Way:
    name = str(schema.name)
    tags = func.tags
    if name.startswith(_PASSED):
        return Way.PASS
    if name in ("aten::lift_fresh", "aten::lift"):
        return Way.LIFT
    if name in _HOST or torch.Tag.data_dependent_output in tags:
        return Way.HOST
    if torch.Tag.inplace_view in tags:
        return Way.RESHAPE
    if _is_composite(func):
        return Way.DECOMPOSE
    short = name.removeprefix("aten::")
    if short in _UNINITIALISED and not operator.outs:
        return Way.EMPTY
    if short in _VIEWS_WITHOUT_SAYING:
        return Way.VIEW
    shares = any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns)
    return Way.VIEW if shares and not operator.written else Way.COMPUTE


def _is_composite(func: Any) -> bool:
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = func.name()
    return bool(has(name, "CompositeImplicitAutograd")) and not has(name, "CPU")


class Operators:
    """The operators seen so far."""

    def __init__(self) -> None:
        self._known: dict[Any, Operator] = {}

    def of(self, func: Any) -> Operator:
        """Return the description of an overload."""
        known = self._known.get(func)
        if known is None:
            known = self._known[func] = Operator(func)
        return known


def out_variant(operator: Operator) -> tuple[Any, tuple[str, ...]] | None:
    """Return the overload that writes the results to given tensors, and the names of these arguments."""
    if operator.written or not operator.name.startswith("aten::") or operator.short in _OUT_IN_ITS_OWN_WAY:
        return None
    schema = operator.func._schema
    wanted = [(one.name, str(one.type)) for one in schema.arguments]
    packet = operator.func.overloadpacket
    for name in packet.overloads():
        other = getattr(packet, name)
        arguments = other._schema.arguments
        outs = tuple(one.name for one in arguments if one.is_out)
        if len(outs) != len(schema.returns) or any(str(r.type) != "Tensor" for r in schema.returns):
            continue
        if [(one.name, str(one.type)) for one in arguments if not one.is_out] == wanted:
            return other._op, outs
    return None


class Fresh:
    """A new tensor."""

    __slots__ = ("dtype", "nbytes", "poison", "size", "stride")

    def __init__(self, tensor: Any) -> None:
        self.size: tuple[Any, ...] = tuple(tensor.shape)
        self.stride: Any = tensor.stride()
        self.dtype: Any = tensor.dtype
        reach = [step * (size - 1) for size, step in zip(self.size, self.stride, strict=True)]
        self.poison: Any | None = poison_value(self.dtype) if 0 not in self.stride else None
        """The value that fills it until it is computed; None if its storage must be filled byte by byte."""
        self.nbytes = (sum(reach) + 1) * self.dtype.itemsize if tensor.numel() else 0


@dataclass(slots=True)
class Constant:
    """A result that is not a tensor, or None."""

    value: Any


@dataclass(slots=True)
class Same:
    """A result that is one of the arguments, identified by its number among all given tensors."""

    number: int


Result = Fresh | Constant | Same | list[Any]


@dataclass(slots=True, eq=False)
class ResultPlan:
    """The form of an operator's results, and the sizes that its `out=` arguments will have."""

    results: tuple[Result, ...]
    outs: tuple[Fresh | None, ...]


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield all tensors of a call's arguments, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def mapped(value: Any, change: Any) -> Any:
    """Return a call's arguments with each tensor and device changed."""
    if isinstance(value, torch.Tensor | torch.device):
        return change(value)
    if type(value) is list:
        return [mapped(one, change) for one in value]
    if type(value) is tuple:
        return tuple([mapped(one, change) for one in value])
    if type(value) is dict:
        return {name: mapped(one, change) for name, one in value.items()}
    return value


def fresh_in(results: Any, operator: Operator) -> Iterator[Fresh]:
    """Yield the new tensors among the results of an operator, in order."""
    for alias, result in zip(operator.aliases, results, strict=False):
        if alias is None:
            for one in result if isinstance(result, list) else (result,):
                if isinstance(one, Fresh):
                    yield one
