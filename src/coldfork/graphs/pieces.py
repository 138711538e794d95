"""Piecewise capture: parts of a forward pass in graphs of their own, with eager work between them."""

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
"""Captures what its block does into a pool."""

CURRENT: ContextVar[CapturingPass | ReplayingPass | Segments | None] = ContextVar(
    "coldfork_piecewise_pass", default=None
)
"""The pass that is running here, where one is being captured or replayed."""


class Piece:
    """A function that is captured by itself where its batch is captured in pieces; elsewhere it just runs."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, capture it or replay its graph, as the pass wants."""
        running = CURRENT.get()
        return self.function(*args, **kwargs) if running is None else running.run(self, args, kwargs)


def piece(function: Callable[..., Any]) -> Piece:
    """Mark a part of a forward pass that can be captured by itself."""
    return Piece(function)


class EagerPart:
    """A function that stays outside of the graph where the piece that calls it is captured."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else EagerPart(MethodType(self.function, instance))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, between two graphs where the capture of a piece is under way."""
        running = CURRENT.get()
        if isinstance(running, Segments):
            return running.run_outside(self, args, kwargs)
        return self.function(*args, **kwargs)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run it with nothing captured or replayed: pieces that it calls are then simply part of it."""
        token = CURRENT.set(None)
        try:
            return self.function(*args, **kwargs)
        finally:
            CURRENT.reset(token)


def eager(function: Callable[..., Any]) -> EagerPart:
    """Mark a part of a piece that runs eagerly, between the graphs of what comes before and after it.

    In each replay it is given the tensors and the values that it was captured with, and what it needs to know
    of the step it asks of `current_state()`. In a full graph it is captured like all else.
    """
    return EagerPart(function)


class EagerCall:
    """One call of an eager part, as it was when its piece was captured."""

    __slots__ = ("_args", "_kwargs", "_name", "_output", "_part")

    def __init__(self, part: EagerPart, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self._part = part
        self._args, self._kwargs = args, kwargs
        self._output = output
        self._name = f"the eager part {getattr(part.function, '__qualname__', part.function)}"

    def replay(self) -> None:
        """Run it, and put what it gives where the graph after it reads that."""
        leaves, layout = pytree.tree_flatten(self._part.run(self._args, self._kwargs))
        kept, known = pytree.tree_flatten(self._output)
        if layout != known:
            raise InputError(f"{self._name} gave {known} when it was captured, and gives {layout}")
        for given, before in zip(leaves, kept, strict=True):
            if given is before:
                continue
            if not is_tensor(given) or not is_tensor(before):
                if given != before:
                    raise InputError(
                        f"{self._name} gave {before!r} when it was captured, and gives {given!r}"
                    )
            elif (given.shape, given.dtype, given.device) != (before.shape, before.dtype, before.device):
                raise InputError(
                    f"{self._name} gave {tuple(before.shape)} of {before.dtype} when it was captured, and "
                    f"gives {tuple(given.shape)} of {given.dtype}"
                )
            else:
                before.copy_(given)


class Segments:
    """The graphs of one call of a piece, and what runs eagerly between them."""

    def __init__(self, engine: Engine, capture: Capture, pool: Any, seen: Callable[[Graph], None]) -> None:
        self._engine = engine
        self._capture = capture
        self.pool: Any = pool
        """Of the first graph, where none was given."""
        self._seen = seen
        self.steps: list[Graph | EagerCall] = []
        self._crossing: list[Any] = []
        self._under_way = ExitStack()

    @property
    def graphs(self) -> list[Graph]:
        """Without what runs between them."""
        return [step for step in self.steps if not isinstance(step, EagerCall)]

    def run_captured(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture a call, and run it at once, so that what follows has real values."""
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
        """A piece may call another one, which is then simply part of it."""
        return piece.function(*args, **kwargs)

    def run_outside(self, part: EagerPart, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """End the graph, run a part, and begin the next graph."""
        self._under_way.close()
        self._end()
        output = part.run(args, kwargs)
        # The graphs own the memory that they gave it; held on to, it would be lost for all others.
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
            # On a device memory of the pool stays as it is while nothing is captured; here it is let go of.
            self._crossing += [
                use.tensor.detach() for record in getattr(graph, "records", ()) for use in record.read
            ]
        self._seen(graph)
        graph.replay()
        self.steps.append(graph)


class CapturedPiece:
    """One call of a piece in a pass, as it was captured."""

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
        """One, or one more than it calls eager parts."""
        return self._segments.graphs

    def replay(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give it these arguments, and run its graph."""
        leaves, layout = pytree.tree_flatten((args, kwargs))
        if layout != self._layout:
            raise InputError(f"{_name(self.piece)} is called with other arguments than it was captured with")
        for given, tensor, constant in zip(leaves, self._tensors, self._constants, strict=True):
            if tensor is None:
                if given is not constant and given != constant:
                    raise InputError(
                        f"{_name(self.piece)} was captured with {constant!r}, and is given {given!r}"
                    )
            elif given is not tensor:
                self._copy(given, tensor)
        for step in self._segments.steps:
            step.replay()
        return self.output

    def hold_weakly(self, engine: Engine) -> None:
        """Let other graphs of the pool use the memory of its outputs."""
        for graph in self.graphs:
            lent = partial(engine.weakly, graph)
            self.output = pytree.tree_map_only(torch.Tensor, lent, self.output)

    def _copy(self, given: Any, buffer: Any) -> None:
        if given.shape != buffer.shape or given.dtype != buffer.dtype or given.device != buffer.device:
            raise InputError(
                f"{_name(self.piece)} was captured with {tuple(buffer.shape)} of {buffer.dtype}, "
                f"and is given {tuple(given.shape)} of {given.dtype}"
            )
        if given.data_ptr() != buffer.data_ptr():
            buffer.copy_(given)


class CapturingPass:
    """Captures each piece where it is called, and runs it at once, so that what follows has real values."""

    def __init__(
        self, engine: Engine, pool: Any, seen: Callable[[Graph], None], capture: Capture | None = None
    ) -> None:
        self._engine = engine
        self._capture = engine.capture if capture is None else capture
        self.pool: Any = pool
        """Of the first piece, where none was given."""
        self._seen = seen
        self.pieces: list[CapturedPiece] = []

    def run(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture one call."""
        leaves, layout = pytree.tree_flatten((args, kwargs))
        segments = Segments(self._engine, self._capture, self.pool, self._seen)
        output = segments.run_captured(piece, args, kwargs)
        self.pool = segments.pool
        self.pieces.append(CapturedPiece(piece, segments, leaves, layout, output))
        return output


class ReplayingPass:
    """Replays the pieces in the order in which they were captured."""

    __slots__ = ("_next", "_pieces")

    def __init__(self, pieces: list[CapturedPiece]) -> None:
        self._pieces = pieces
        self._next = 0

    def run(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay one call."""
        if self._next >= len(self._pieces) or self._pieces[self._next].piece is not piece:
            raise GraphError(
                f"{_name(piece)} is called where it was not when this batch was captured; a forward pass has "
                "to call its pieces in the same order each time"
            )
        captured = self._pieces[self._next]
        self._next += 1
        return captured.replay(args, kwargs)


def _name(piece: Piece) -> str:
    return f"the piece {getattr(piece.function, '__qualname__', piece.function)}"
