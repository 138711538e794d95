"""Functions that a library makes of others, as `jax.jit` and `jax.grad` do: how they are made, and called."""

from __future__ import annotations

from coldfork.source.evaluation.calls import known_effects
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.values.kinds import UNKNOWN, External, Keywords, Partial, Value
from coldfork.source.values.wrapped import Wrapped


def made(ev: Interpreter, symbol: str, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """The callable that a call makes, if calling that one does something; None where nothing is known."""
    waiting = known_effects.waiting(ev, symbol, positional, keywords)
    return waiting or _wrapped(ev, symbol, positional, keywords)


def _wrapped(ev: Interpreter, symbol: str, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """The function that calling `symbol` makes; None where the knowledge base names no such maker.

    Without a function to wrap the call makes a decorator: `jax.jit(static_argnums=0)`.
    """
    known = ev.catalogue.wraps.get(symbol)
    if known is None:
        return None
    function = positional[0] if positional else keywords.get(known.function)
    return Partial(External(symbol), (), keywords) if function is None else Wrapped(symbol, function)


def call_wrapped(
    ev: Interpreter, frame: Frame, callee: Wrapped, positional: tuple[Value, ...], keywords: Keywords
) -> Value:
    """Call such a function: it does what is known of it, and runs the one that it was made of."""
    known_effects.record_result_call(ev, frame, callee.symbol)
    value = ev.call(frame, callee.function, positional, keywords)
    return value if ev.catalogue.wraps[callee.maker].keeps_value else UNKNOWN
