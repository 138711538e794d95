"""Piecewise capture: parts of a forward pass in separate graphs, with eager code between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar
from functools import partial, update_wrapper
from types import MethodType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs.engines import Engine, Graph
from coldfork.graphs.errors import GraphError, InputError
from coldfork.graphs.leaks.reachable_values import is_tensor

Capture = Callable[[Any], AbstractContextManager[Graph]]
"""Captures the work of its block into a pool."""

CURRENT: ContextVar[CapturingPass | ReplayingPass | Segments | None] = ContextVar(
    "coldfork_piecewise_pass", default=None
)
"""The piecewise pass that is being captured or replayed here, if there is one."""


class Piece:
    """A function that has its own graph if its batch is captured in pieces; otherwise it simply runs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, capture it, or replay its graph, depending on the forward pass that is
        running.
        """
        running = CURRENT.get()
        return self.function(*args, **kwargs) if running is None else running.run(self, args, kwargs)


def piece(function: Callable[..., Any]) -> Piece:
    """Have a function that is part of a forward pass captured in a graph of its own."""
    return Piece(function)


class EagerPart:
    """A function that runs eagerly, outside the graph of the piece that calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else EagerPart(MethodType(self.function, instance))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function; if a piece is being captured, it runs between two graphs."""
        running = CURRENT.get()
        if isinstance(running, Segments):
            return running.run_outside(self, args, kwargs)
        return self.function(*args, **kwargs)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function without capture or replay; pieces that it calls run as ordinary functions."""
        token = CURRENT.set(None)
        try:
            return self.function(*args, **kwargs)
        finally:
            CURRENT.reset(token)


def eager(function: Callable[..., Any]) -> EagerPart:
    """Mark a function that, inside a piece, runs eagerly between the graphs of the code before and after it.

    Each replay calls it with the tensors and values from the capture; it gets data of the current step from
    `current_state()`. In a full graph it is captured like any other code.
    """
    return EagerPart(function)


class EagerCall:
    """One call of an eager part, as recorded when its piece was captured."""

    __slots__ = ("_args", "_kwargs", "_name", "_output", "_part")

    def __init__(self, part: EagerPart, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self._part = part
        self._args, self._kwargs = args, kwargs
        self._output = output
        self._name = f"the eager part {getattr(part.function, '__qualname__', part.function)}"

    def replay(self) -> None:
        """Run the eager part, and copy its output to the memory from which the next graph reads it."""
        leaves, layout = pytree.tree_flatten(self._part.run(self._args, self._kwargs))
        kept, known = pytree.tree_flatten(self._output)
        if layout != known:
            raise InputError(f"{self._name} gave {known} when it was captured, and now gives {layout}")
        for given, before in zip(leaves, kept, strict=True):
            if given is before:
                continue
            if not is_tensor(given) or not is_tensor(before):
                if given != before:
                    raise InputError(
                        f"{self._name} gave {before!r} when it was captured, and now gives {given!r}"
                    )
            elif (given.shape, given.dtype, given.device) != (before.shape, before.dtype, before.device):
                raise InputError(
                    f"{self._name} gave {tuple(before.shape)} of {before.dtype} when it was captured, "
                    f"and now gives {tuple(given.shape)} of {given.dtype}"
                )
            else:
                before.copy_(given)


class Segments:
    """The graphs of one call of a piece, and the eager calls between them."""

    def __init__(self, engine: Engine, capture: Capture, pool: Any, seen: Callable[[Graph], None]) -> None:
        self._engine = engine
        self._capture = capture
        self.pool: Any = pool
        """The given pool or, if none was given, that of the first graph."""
        self._seen = seen
        self.steps: list[Graph | EagerCall] = []
        self._crossing: list[Any] = []
        self._under_way = ExitStack()

    @property
    def graphs(self) -> list[Graph]:
        """The graphs, without the eager calls between them."""
        return [step for step in self.steps if not isinstance(step, EagerCall)]

    def run_captured(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture a call and run it at once, so that later code gets real values."""
        token = CURRENT.set(self)
        try:
            with self._under_way:
                self._begin()
                output = piece.function(*args, **kwargs)
        finally:
            CURRENT.reset(token)
        self._end()
        return output

    def run(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a piece that another piece calls, as part of the calling piece."""
        return piece.function(*args, **kwargs)

    def run_outside(self, part: EagerPart, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """End the current graph, run an eager part, and start the next graph."""
        self._under_way.close()
        self._end()
        output = part.run(args, kwargs)
        # The graphs own these tensors' memory; a reference here would keep other graphs from reusing it.
        args, kwargs = pytree.tree_map_only(torch.Tensor, self._lent, (args, kwargs))
        self.steps.append(EagerCall(part, args, kwargs, output))
        self._begin()
        return output

    def _lent(self, tensor: Any) -> Any:
        lent = (self._engine.weakly(graph, tensor) for graph in self.graphs)
        return next((one for one in lent if one is not tensor), tensor)

    def _begin(self) -> None:
        self._graph = self._under_way.enter_context(self._capture(self.pool))

    def _end(self) -> None:
        graph = self._graph
        self.pool = getattr(graph, "pool", None) if self.pool is None else self.pool
        if self.steps:
            # Only a virtual pool would free this memory between two captures; a device's pool keeps it.
            self._crossing += [
                use.tensor.detach() for record in getattr(graph, "records", ()) for use in record.read
            ]
        self._seen(graph)
        graph.replay()
        self.steps.append(graph)


class CapturedPiece:
    """One captured call of a piece."""

    __slots__ = ("_constants", "_layout", "_segments", "_tensors", "output", "piece")

    def __init__(self, piece: Piece, segments: Segments, leaves: list[Any], layout: Any, output: Any) -> None:
        self.piece: Piece = piece
        self._segments = segments
        self._layout = layout
        self._tensors = [leaf if is_tensor(leaf) else None for leaf in leaves]
        self._constants = [None if is_tensor(leaf) else leaf for leaf in leaves]
        self.output: Any = output

    @property
    def graphs(self) -> list[Graph]:
        """The graphs of the piece, one more than the eager parts that it calls."""
        return self._segments.graphs

    def replay(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Copy these arguments into the piece's buffers, and run its graphs."""
        leaves, layout = pytree.tree_flatten((args, kwargs))
        if layout != self._layout:
            raise InputError(
                f"{_name(self.piece)} is called with different arguments than it was captured with"
            )
        for given, tensor, constant in zip(leaves, self._tensors, self._constants, strict=True):
            if tensor is None:
                if given is not constant and given != constant:
                    raise InputError(
                        f"{_name(self.piece)} was captured with {constant!r}, and is now given {given!r}"
                    )
            elif given is not tensor:
                self._copy(given, tensor)
        for step in self._segments.steps:
            step.replay()
        return self.output

    def hold_weakly(self, engine: Engine) -> None:
        """Let other graphs of the pool reuse the memory of the piece's outputs."""
        for graph in self.graphs:
            lent = partial(engine.weakly, graph)
            self.output = pytree.tree_map_only(torch.Tensor, lent, self.output)

    def _copy(self, given: Any, buffer: Any) -> None:
        if given.shape != buffer.shape or given.dtype != buffer.dtype or given.device != buffer.device:
            raise InputError(
                f"{_name(self.piece)} was captured with {tuple(buffer.shape)} of {buffer.dtype}, and is "
                f"now given {tuple(given.shape)} of {given.dtype}"
            )
        if given.data_ptr() != buffer.data_ptr():
            buffer.copy_(given)


class CapturingPass:
    """A forward pass that captures each piece when it is called, and runs it so that later code gets real
    values.
    """

    def __init__(
        self, engine: Engine, pool: Any, seen: Callable[[Graph], None], capture: Capture | None = None
    ) -> None:
        self._engine = engine
        self._capture = engine.capture if capture is None else capture
        self.pool: Any = pool
        """The given pool or, if none was given, that of the first piece."""
        self._seen = seen
        self.pieces: list[CapturedPiece] = []

    def run(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture one call of a piece."""
        leaves, layout = pytree.tree_flatten((args, kwargs))
        segments = Segments(self._engine, self._capture, self.pool, self._seen)
        output = segments.run_captured(piece, args, kwargs)
        self.pool = segments.pool
        self.pieces.append(CapturedPiece(piece, segments, leaves, layout, output))
        return output


class ReplayingPass:
    """A forward pass that replays its pieces in the order of their capture."""

    __slots__ = ("_next", "_pieces")

    def __init__(self, pieces: list[CapturedPiece]) -> None:
        self._pieces = pieces
        self._next = 0

    def run(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay one call of a piece."""
        if self._next >= len(self._pieces) or self._pieces[self._next].piece is not piece:
            raise GraphError(
                f"{_name(piece)} is called out of order; a forward pass has to call its pieces in the "
                "order in which this batch was captured"
            )
        captured = self._pieces[self._next]
        self._next += 1
        return captured.replay(args, kwargs)


def _name(piece: Piece) -> str:
    return f"the piece {getattr(piece.function, '__qualname__', piece.function)}"
