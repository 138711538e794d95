"""A replacement for `multiprocessing.get_context`: it picks a start method that is safe here, or a zygote."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from coldfork.model.decisions import METHODS
from coldfork.model.errors import UsageError
from coldfork.start import contexts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from coldfork.launch.server.zygote.processes import ZygoteContext
    from coldfork.start.static_reach.answers import Reach

    C = TypeVar("C")

ZYGOTE = "zygote"


def get_context(
    method: str | None = None,
    *,
    preload: Sequence[str] | os.PathLike[str] | None = None,
    on_error: str = "fail",
    apply_env: bool = False,
    strict: bool = False,
    target: object = None,
    reach: Reach | None = None,
) -> contexts.Context | ZygoteContext:
    """Return a `multiprocessing` context whose start method is safe here, and log the reason in one line.

    A start method that you name is used, with a warning if something speaks against it. `apply_env` sets the
    environment variables from which vLLM and others choose a start method, so that they choose the same one.
    `target` and `strict` are passed to `decide`. With `"zygote"`, workers are forked from a server that has
    already imported the modules of `preload`: see `zygote`. Without `preload`, the last server that was made
    is used, if there is one.
    """
    if method != ZYGOTE:
        if method is not None and method not in METHODS:
            known = ", ".join((*METHODS, ZYGOTE))
            raise UsageError(f"there is no start method {method!r}; choose {known}")
        if preload is not None:
            raise UsageError('only the method "zygote" takes preload')
        context = contexts.get_context(
            method, apply_env=apply_env, strict=strict, target=target, reach=reach, levels=4
        )
        return _suited(context)
    if apply_env:
        # These variables have no value for a zygote; spawn is as safe, so they get that value.
        contexts.apply("spawn", os.environ)
    return _suited(_of_a_zygote(preload, on_error))


def _suited(context: C) -> C:
    """Return the context, or its by-value version if no other process can import the main module."""
    if hasattr(sys.modules["__main__"], "__file__"):
        return context
    from coldfork.launch.mainless import taking_by_value

    made: C = taking_by_value(context)
    return made


def _of_a_zygote(preload: Sequence[str] | os.PathLike[str] | None, on_error: str) -> ZygoteContext:
    from coldfork.launch.server.zygote.handle import zygote
    from coldfork.launch.server.zygote.processes import registered

    known = registered()
    if known is not None and not known.zygote.closed:
        behind = known.zygote
        if preload is None or (_named(preload), on_error) == (behind.preload, behind.on_error):
            return known
    return zygote(preload or (), on_error=on_error).context


def _named(preload: Sequence[str] | os.PathLike[str]) -> tuple[str, ...]:
    """Return the modules to preload, as named in `preload` or in the file that `preload` points to."""
    from coldfork.launch.server.zygote.requests import terms

    return tuple(terms(preload, "fail")["preload"])
