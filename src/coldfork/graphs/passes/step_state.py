"""The state of the forward pass that is running, for code that runs anew in each step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from coldfork.graphs.errors import GraphError

_STATE: ContextVar[tuple[Any] | None] = ContextVar("coldfork_step_state", default=None)


def current_state() -> Any:
    """The state of the pass that runs here.

    In a warm-up and in a capture it is the one that `create_forward` made. In a replay in pieces it is the
    one given as `replay(..., state=)`: what runs between the pieces sees this step's metadata.
    """
    running = _STATE.get()
    if running is None:
        raise GraphError("no forward pass of a graph manager is running here, so there is no state")
    return running[0]


@contextmanager
def running_with(state: Any) -> Iterator[None]:
    """Let a pass run with a state."""
    token = _STATE.set((state,))
    try:
        yield
    finally:
        _STATE.reset(token)
