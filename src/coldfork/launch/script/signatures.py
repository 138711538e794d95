"""Gives a function of a request the signature of what the request is made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def taking(request: Callable[P, R]) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Have a function of a request take what the request is made of, each option under its name."""
    options = signature(request)

    def decorate(run: Callable[[R], T]) -> Callable[P, T]:
        @wraps(run)
        def taken(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                options.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{run.__name__}() {error}") from None
            return run(request(*args, **kwargs))

        shown: Any = taken
        shown.__signature__ = options.replace(return_annotation=run.__annotations__["return"])
        del shown.__wrapped__
        return taken

    return decorate
