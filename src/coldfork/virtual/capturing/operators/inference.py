"""Find the form of an operator's results without computing them, once for each shape of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.virtual.capturing.operators.compiler import KeptOut
from coldfork.virtual.capturing.operators.schemas import (
    Constant,
    Fresh,
    Operator,
    Result,
    ResultPlan,
    Same,
    mapped,
    tensors_in,
)

_LIMIT = 65536
"""How many shapes are remembered; if a program needs more, some are found again."""


_OTHERWISE_ON_META = frozenset(
    (
        "aten::native_batch_norm",
        "aten::_native_batch_norm_legit",
        "aten::_native_batch_norm_legit.no_stats",
        "aten::_native_batch_norm_legit_functional",
        "aten::_native_batch_norm_legit_no_training",
        "aten::_batch_norm_with_update",
        "aten::_embedding_bag",
        "aten::_embedding_bag_forward_only",
        "aten::_fft_r2c",
        "aten::_fft_c2r",
        "aten::convolution",
        "aten::nonzero_static",
        "aten::max_unpool2d",
        "aten::max_unpool3d",
        "aten::linalg_eig",
        "aten::_linalg_svd",
        "aten::multilabel_margin_loss_forward",
    )
)
"""Operators whose meta kernels imitate other devices: on the CPU some results differ in size or stride."""


_QUANTIZED = frozenset((torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4))
_INTERNAL = ("INTERNAL ASSERT FAILED", "Internal error")
"""Phrases in torch's internal errors; errors of the program instead say what is wrong with its arguments."""


class UnknownShape(Exception):
    """Torch cannot tell the form of the results without computing them."""

    def __init__(self, message: str, waits: bool = False) -> None:
        super().__init__(message)
        self.waits = waits
        """True if a device also has to compute the results, and the host waits for them."""


def key_of(value: Any) -> Any:
    """Return a key made of everything on which the form of results depends; a tensor's elements do
    not count.
    """
    if isinstance(value, torch.Tensor):
        try:
            laid_out = value.stride()
        except RuntimeError:
            laid_out = value.layout
        return value.shape, laid_out, value.dtype, value.device, value.is_neg(), value.is_conj()
    kind = type(value)
    if kind is list or kind is tuple:
        return (kind, *[key_of(one) for one in value])
    if kind is torch.Generator:
        return id(value)
    return kind, value


class Shapes:
    """The known forms of results."""

    def __init__(self) -> None:
        self._plans: dict[Any, ResultPlan] = {}
        self._without_compiler = KeptOut()
        self.computing: bool = False
        """True while torch finds a form; the operators that run meanwhile are not the program's."""

    def plan(self, operator: Operator, args: Any, kwargs: Any) -> ResultPlan:
        """Return the form of this call's results, without computing them."""
        key = (
            operator,
            torch.get_default_dtype(),
            *[key_of(one) for one in args],
            *[(name, key_of(one)) for name, one in kwargs.items()],
        )
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _LIMIT:
                self._plans.clear()
            self.computing = True
            try:
                with self._without_compiler:
                    plan = self._plans[key] = infer(operator, args, kwargs)
            finally:
                self.computing = False
        return plan


def infer(operator: Operator, args: Any, kwargs: Any) -> ResultPlan:
    """Return the form of an operator's results, by its meta kernel or by a run on scratch memory."""
    for tensor in tensors_in((args, kwargs)):
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
            raise UnknownShape(
                f"its argument is {tensor.layout} on {tensor.device}, but only plain CPU tensors are "
                "simulated"
            )
    for one in pytree.tree_leaves((args, kwargs)):
        if isinstance(one, torch.dtype) and one in _QUANTIZED:
            raise UnknownShape("its result is quantized, but only plain tensors are simulated")
        if isinstance(one, torch.device) and one.type == "meta":
            raise UnknownShape("its result is on meta, where there is nothing to compute")
    if operator.is_kernel:
        return ResultPlan((), (None,) * len(operator.outs))
    if operator.short.startswith(("index_put", "_index_put")) and _selects(*args[1:3]):
        raise UnknownShape("a mask selects the elements that several values go to", waits=True)
    args = tuple(_without_generator(one) for one in args)
    kwargs = {name: _without_generator(one) for name, one in kwargs.items()}
    if operator.name in _OTHERWISE_ON_META:
        return _on_scratch(operator, args, kwargs)
    try:
        plan = _on_meta(operator, args, kwargs)
    except NotImplementedError as error:
        if operator.refusable or not operator.name.startswith("aten::"):
            raise UnknownShape(str(error).splitlines()[0], waits=operator.refusable) from None
        return _on_scratch(operator, args, kwargs)
    if not operator.single and any(isinstance(one, Fresh) and 0 in one.size for one in plan.results):
        # If torch returns nothing at all, meta kernels return an empty tensor.
        return _on_scratch(operator, args, kwargs)
    if any(plan.outs):
        # The meta kernels lay out tensors that grow in another way.
        return _on_scratch(operator, args, kwargs)
    return plan


def _without_generator(value: Any) -> Any:
    """Return arguments without the generator, which some meta kernels refuse and on which no shape
    depends.
    """
    return None if isinstance(value, torch.Generator) else value


def _on_meta(operator: Operator, args: Any, kwargs: Any) -> ResultPlan:
    twins = Twins(_stand_in)
    mine, by_name = twins.of(args), twins.of(kwargs)
    return _plan(operator, _called(operator, mine, by_name), twins, args, kwargs, (mine, by_name))


def _on_scratch(operator: Operator, args: Any, kwargs: Any) -> ResultPlan:
    """Return the form of results after one run on meaningless numbers; random states are restored."""
    twins = Twins(scratch)
    mine, by_name = twins.of(args), twins.of(kwargs)
    state = torch.default_generator.get_state()
    try:
        results = _called(operator, mine, by_name)
    except Exception as error:
        raise UnknownShape(f"torch does not know its results without computing them ({error})") from None
    finally:
        torch.default_generator.set_state(state)
    for one in tensors_in(results):
        if one.layout is not torch.strided or one.is_nested or one.is_quantized:
            kind = "nested" if one.is_nested else "quantized" if one.is_quantized else one.layout
            raise UnknownShape(f"its result is {kind}, but only plain tensors are simulated")
    return _plan(operator, results, twins, args, kwargs, (mine, by_name))


class Twins:
    """Makes one stand-in, a twin, for each given tensor, even if the tensor occurs several times."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self.known: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """Return the same arguments with a twin in place of each tensor."""
        return mapped(value, self._twin)

    def _twin(self, value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("meta") if self._make is _stand_in else value
        known = self.known.get(id(value))
        if known is None:
            known = self.known[id(value)] = self._make(value)
        return known


def _plan(operator: Operator, results: Any, twins: Twins, args: Any, kwargs: Any, mine: Any) -> ResultPlan:
    given = [id(one) for one in tensors_in(mine)]
    listed = (results,) if operator.single else tuple(results or ())
    outs = tuple(_grown(one, args, kwargs, twins.known) for one in operator.outs)
    return ResultPlan(tuple([_described(one, given) for one in listed]), outs)


def _stand_in(tensor: Any) -> Any:
    stand_in = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return _seen_alike(tensor, stand_in)


def _described(value: Any, given: list[int]) -> Result:
    if isinstance(value, torch.Tensor):
        return Same(given.index(id(value))) if id(value) in given else Fresh(value)
    if isinstance(value, list | tuple):
        return [_described(one, given) for one in value]
    return Constant(value)


def _selects(indices: Any, values: Any) -> bool:
    """Return whether the number of values must match a mask; a single value always matches."""
    return values.numel() != 1 and any(one.dtype in (torch.bool, torch.uint8) for one in tensors_in(indices))


def _called(operator: Operator, args: Any, kwargs: Any) -> Any:
    with torch.no_grad():
        try:
            return operator.func(*args, **kwargs)
        except RuntimeError as error:
            if operator.refusable and "meta" in str(error):
                raise UnknownShape(str(error), waits=True) from None
            if any(one in str(error) for one in _INTERNAL):
                raise UnknownShape(
                    f"torch itself fails where it is asked for the result's size ({error})"
                ) from None
            raise


def scratch(tensor: Any) -> Any:
    """Return a tensor of the same form, filled with ones, or with zeros if they may be indices."""
    scratch = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    flat = torch.empty(0, dtype=tensor.dtype).set_(scratch.untyped_storage())
    flat.fill_(1 if tensor.is_floating_point() or tensor.is_complex() else 0)
    return _seen_alike(tensor, scratch)


def _seen_alike(tensor: Any, other: Any) -> Any:
    """Return the other tensor with the same conjugate and negative bits as this one."""
    if tensor.is_conj():
        other = torch._conj(other)
    return torch._neg_view(other) if tensor.is_neg() else other


def _grown(out: Any, args: Any, kwargs: Any, stand_ins: dict[int, Any]) -> Fresh | None:
    """Return the form that an `out=` tensor gets, if its size differs from the present one."""
    tensor = out.of(args, kwargs)
    if not isinstance(tensor, torch.Tensor):
        return None
    after = stand_ins[id(tensor)]
    return Fresh(after) if after.shape != tensor.shape else None
