"""Modules whose forward and backward passes are graphs, for training loops and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import torch
from torch.autograd.function import once_differentiable
from torch.utils import _pytree as pytree

from coldfork.graphs.engines import Engine, Graph, engine_for
from coldfork.graphs.errors import GraphError, InputError
from coldfork.graphs.leaks.reachable_values import is_tensor

Function = Callable[..., Any]


@overload
def make_graphed_callables(
    callables: Function,
    sample_args: tuple[Any, ...],
    *,
    device: Any = ...,
    pool: Any = ...,
    warmups: int = ...,
    allow_unused_input: bool = ...,
) -> Function: ...


@overload
def make_graphed_callables(
    callables: tuple[Function, ...],
    sample_args: Sequence[tuple[Any, ...]],
    *,
    device: Any = ...,
    pool: Any = ...,
    warmups: int = ...,
    allow_unused_input: bool = ...,
) -> tuple[Function, ...]: ...


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    *,
    device: Any = "cuda",
    pool: Any = None,
    warmups: int = 3,
    allow_unused_input: bool = False,
) -> Any:
    """Return functions and modules whose forward and backward passes replay graphs; on `"cpu"`, virtual ones.

    Give one function or module with its arguments, or a tuple of those that run one after the other in each
    step with the arguments of each. A module is changed in place: its `forward` replays as long as its
    training mode is that of the capture, and runs as before otherwise. An input that needs a gradient needs
    one in the sample too. Outputs are static, and the next call overwrites them; gradients are copies. A
    backward pass after another forward pass of the same graph is refused, because what it needs is gone.
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else tuple(sample_args)
    if len(functions) != len(samples):
        raise GraphError(f"{len(functions)} functions are given, and the arguments of {len(samples)}")
    engine = engine_for(device)
    for one in functions:
        _require_graphable(one, engine)
    passes = [_Passes(*one, allow_unused_input) for one in zip(functions, samples, strict=True)]
    with torch.enable_grad():
        for one in passes:
            one.warm_up(warmups)
        engine.synchronize()
        pool = engine.new_pool() if pool is None else pool
        for one in passes:
            pool = one.capture_forward(engine, pool)
        # In the order in which they will run, so that they can share memory.
        for one in reversed(passes):
            one.capture_backward(engine, pool)
        engine.synchronize()
    graphed = tuple(_graphed(*one) for one in zip(functions, passes, strict=True))
    return graphed[0] if single else graphed


def _require_graphable(function: Any, engine: Engine) -> None:
    if torch.is_autocast_enabled(engine.device.type) and torch.is_autocast_cache_enabled():
        raise GraphError("autocast keeps the casts of a warm-up for the capture; pass it cache_enabled=False")
    if not isinstance(function, torch.nn.Module):
        return
    hooks = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
    if any(getattr(function, name, None) for name in hooks):
        raise GraphError(f"{type(function).__name__} has hooks, which no replay calls; add them afterwards")
    if any(one.requires_grad for one in function.buffers()):
        raise GraphError(f"{type(function).__name__} has a buffer that needs a gradient; make it a parameter")


def _graphed(function: Any, passes: _Passes) -> Any:
    if not isinstance(function, torch.nn.Module):
        return passes.call
    training, eager = function.training, function.forward

    def forward(*args: Any) -> Any:
        return passes.call(*args) if function.training == training else eager(*args)

    function.forward = forward
    return function


class _Passes:
    """The two graphs of one function, and the memory that they read and write."""

    def __init__(self, function: Any, args: tuple[Any, ...], allow_unused: bool) -> None:
        self._function = function.forward if isinstance(function, torch.nn.Module) else function
        # Copies, because samples of several functions may share memory, and the graphs' inputs must not.
        args = pytree.tree_map_only(torch.Tensor, _copied, args)
        self._args = args
        self._leaves, self._layout = pytree.tree_flatten(args)
        self._inputs = [one for one in self._leaves if is_tensor(one)]
        self._parameters = tuple(function.parameters()) if isinstance(function, torch.nn.Module) else ()
        self._allow_unused = allow_unused
        self._name = getattr(function, "__qualname__", type(function).__name__)
        self._outputs: list[Any] = []
        self._gradients: list[Any] = []
        """The gradient of each input and parameter; None if it needs none, or is not used."""
        self._given: list[Any] = []
        """The gradient of each output, which the graph reads; None if it has none."""
        self._backward: Graph | None = None
        self._crossing: list[Any] = []
        self._calls = 0
        self._apply = _function_of(self)

    # --- capturing ----------------------------------------------------------------------------------------

    @property
    def _sources(self) -> list[Any]:
        return [one for one in (*self._inputs, *self._parameters) if one.requires_grad]

    def warm_up(self, times: int) -> None:
        """Run both passes eagerly."""
        for _ in range(times):
            outputs = [one for one in pytree.tree_leaves(self._function(*self._args)) if _needs(one)]
            if outputs and self._sources:
                self._differentiate(outputs, [torch.zeros_like(one) for one in outputs])

    def capture_forward(self, engine: Engine, pool: Any) -> Any:
        """Capture the forward pass; return the pool of its graph."""
        with engine.capture(pool) as graph:
            output = self._function(*self._args)
        self._forward: Graph = graph
        self._outputs, self._output_layout = pytree.tree_flatten(output)
        if not all(map(is_tensor, self._outputs)):
            raise GraphError(f"{self._name} returns something other than tensors, which a graph cannot give")
        return getattr(graph, "pool", pool) if pool is None else pool

    def capture_backward(self, engine: Engine, pool: Any) -> None:
        """Capture the backward pass, if anything needs a gradient."""
        outputs = [one for one in self._outputs if one.requires_grad]
        self._given = [torch.empty_like(one) if one.requires_grad else None for one in self._outputs]
        if not outputs or not self._sources:
            return
        with engine.capture(pool) as graph:
            found = self._differentiate(outputs, [one for one in self._given if one is not None])
        self._backward = graph
        # Only a virtual pool would take back what the forward pass has saved; a device's pool keeps it.
        self._crossing = [use.tensor.detach() for one in getattr(graph, "records", ()) for use in one.read]
        each = iter(found)
        every = (*self._inputs, *self._parameters)
        self._gradients = [next(each) if one.requires_grad else None for one in every]
        # From here on, the outputs are memory only.
        self._outputs = [one.detach() for one in self._outputs]

    def _differentiate(self, outputs: list[Any], given: list[Any]) -> tuple[Any, ...]:
        found: tuple[Any, ...] = torch.autograd.grad(
            outputs, self._sources, given, allow_unused=self._allow_unused
        )
        return found

    # --- replaying ----------------------------------------------------------------------------------------

    def call(self, *args: Any) -> Any:
        """Run the function on these arguments, by its graph."""
        leaves, layout = pytree.tree_flatten(args)
        if layout != self._layout:
            raise InputError(f"{self._name} is called with different arguments than it was captured with")
        for given, known in zip(leaves, self._leaves, strict=True):
            self._require_fit(given, known)
        tensors = [one for one in leaves if is_tensor(one)]
        outputs = self._apply(*tensors, *self._parameters)
        return pytree.tree_unflatten(outputs, self._output_layout)

    def _require_fit(self, given: Any, known: Any) -> None:
        if not is_tensor(known):
            if given is not known and given != known:
                raise InputError(f"{self._name} was captured with {known!r}, and is now given {given!r}")
        elif not is_tensor(given) or _kind(given) != _kind(known):
            told = _told(given) if is_tensor(given) else repr(given)
            raise InputError(f"{self._name} was captured with {_told(known)}, and is now given {told}")
        elif given.requires_grad and not known.requires_grad and torch.is_grad_enabled():
            raise InputError(
                f"an input of {self._name} needs a gradient, and that of the sample did not; capture with "
                "requires_grad=True"
            )

    def replay_forward(self, inputs: Sequence[Any]) -> tuple[int, list[Any]]:
        """Replay the forward pass; return the number of the call, and the outputs."""
        for given, known in zip(inputs, self._inputs, strict=False):
            known.detach().copy_(given)
        self._calls += 1
        self._forward.replay()
        return self._calls, [one.detach() for one in self._outputs]

    def replay_backward(self, number: int, given: Sequence[Any]) -> tuple[Any, ...]:
        """Replay the backward pass of one call; return the gradients of the inputs and parameters."""
        if number != self._calls:
            raise GraphError(
                f"{self._name} was called again before this backward pass, which overwrote what it needs"
            )
        if self._backward is None:
            return (None,) * (len(self._inputs) + len(self._parameters))
        for one, known in zip(given, self._given, strict=True):
            if known is not None:
                known.copy_(one)
        self._backward.replay()
        # Copies, because autograd would otherwise keep the graph's own memory as the gradient.
        return tuple(None if one is None else one.clone() for one in self._gradients)


def _function_of(passes: _Passes) -> Any:
    class Graphed(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> tuple[Any, ...]:
            ctx.number, outputs = passes.replay_forward(inputs)
            ctx.mark_non_differentiable(*[one for one in outputs if not one.is_floating_point()])
            return tuple(outputs)

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *given: Any) -> tuple[Any, ...]:
            return passes.replay_backward(ctx.number, given)

    return Graphed.apply


def _copied(sample: Any) -> Any:
    return sample.detach().clone().requires_grad_(sample.requires_grad)


def _needs(value: Any) -> bool:
    return is_tensor(value) and value.requires_grad


def _kind(tensor: Any) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype, tensor.device


def _told(tensor: Any) -> str:
    return f"{tuple(tensor.shape)} of {tensor.dtype}"
