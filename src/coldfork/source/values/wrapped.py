"""Functions that libraries make of other ones, as `jax.jit` does."""

from __future__ import annotations

from coldfork.source.values.kinds import Bound, ClassMethod, Function, Partial, StaticMethod, Value


class Wrapped(Value):
    """A function that a library made of another one, as `jax.jit` does.

    `maker` is the library's function, and `symbol` the name under which the knowledge base has its results.
    """

    __slots__ = ("function", "maker")

    def __init__(self, maker: str, function: Value) -> None:
        self.maker = maker
        self.function = function

    @property
    def symbol(self) -> str:
        """Its name in the knowledge base."""
        return f"{self.maker}()"


#: Values that are called, and nothing else.
FUNCTIONS = (Function, Bound, Partial, Wrapped, StaticMethod, ClassMethod)
