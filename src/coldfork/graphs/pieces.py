"""Piecewise capture: parts of a forward pass in graphs of their own, with eager work between them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import update_wrapper
from typing import Any

import torch
from torch.utils import _pytree as pytree

from coldfork.graphs.engines import Engine, Graph
from coldfork.graphs.errors import GraphError, InputError
from coldfork.graphs.leaks.reachable_values import is_tensor

CURRENT: ContextVar[CapturingPass | ReplayingPass | None] = ContextVar(
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


class CapturedPiece:
    """One call of a piece in a pass, as it was captured."""

    __slots__ = ("_constants", "_layout", "_tensors", "graph", "output", "piece")

    def __init__(self, piece: Piece, graph: Graph, leaves: list[Any], layout: Any, output: Any) -> None:
        self.piece: Piece = piece
        self.graph: Graph = graph
        self._layout = layout
        self._tensors = [leaf if is_tensor(leaf) else None for leaf in leaves]
        self._constants = [None if is_tensor(leaf) else leaf for leaf in leaves]
        self.output: Any = output

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
        self.graph.replay()
        return self.output

    def hold_weakly(self, engine: Engine) -> None:
        """Let other graphs of the pool use the memory of its outputs."""
        graph, output = self.graph, self.output
        self.output = pytree.tree_map_only(torch.Tensor, lambda one: engine.weakly(graph, one), output)

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
        self,
        capture: Callable[[Any], AbstractContextManager[Graph]],
        pool: Any,
        seen: Callable[[Graph], None],
    ) -> None:
        self._capture = capture
        self.pool: Any = pool
        """Of the first piece, where none was given."""
        self._seen = seen
        self.pieces: list[CapturedPiece] = []

    def run(self, piece: Piece, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture one call."""
        leaves, layout = pytree.tree_flatten((args, kwargs))
        with self._capture(self.pool) as graph:
            # A piece may call another one, which is then simply part of it.
            token = CURRENT.set(None)
            try:
                output = piece.function(*args, **kwargs)
            finally:
                CURRENT.reset(token)
        self.pool = getattr(graph, "pool", None) if self.pool is None else self.pool
        self._seen(graph)
        graph.replay()
        self.pieces.append(CapturedPiece(piece, graph, leaves, layout, output))
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
