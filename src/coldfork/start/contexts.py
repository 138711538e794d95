"""A replacement for `multiprocessing.get_context` that avoids forks which would break their child."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING, cast

from coldfork.model.decisions import Decision
from coldfork.start.decide import weighed

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from multiprocessing.context import ForkContext, ForkServerContext, SpawnContext

    from coldfork.start.static_reach.answers import Reach

    Context = ForkContext | ForkServerContext | SpawnContext

_LOG = logging.getLogger("coldfork")


class StartMethodWarning(UserWarning):
    """A start method that you chose is used, despite the reasons against it in the message."""


def get_context(
    method: str | None = None,
    *,
    apply_env: bool = False,
    strict: bool = False,
    target: object = None,
    reach: Reach | None = None,
    levels: int = 3,
) -> Context:
    """Return a `multiprocessing` context whose start method is safe here, and log the reason in one line.

    A method that you name is used, with a warning if something speaks against it. `apply_env` sets the
    environment variables from which vLLM and others choose a start method, so that they choose the same one.
    `target` and `strict` are passed to `decide`. The warning points `levels` frames above this function.
    """
    import multiprocessing

    decision = weighed(target, strict=strict, reach=reach, about_servers=method == "forkserver")
    chosen = decision.method if method is None else method
    context = cast("Context", multiprocessing.get_context(chosen))
    if method is None:
        _LOG.info("%s", decision.line())
    else:
        _warn(method, decision, levels)
    if apply_env:
        apply(chosen, os.environ)
        if any(reason.code == "ray-worker" for reason in decision.reasons):
            _tell_rays_address(os.environ)
    return context


def apply(method: str, environment: MutableMapping[str, str]) -> None:
    """Set the environment variables that frameworks read, so that all of them use this method.

    vLLM and PyTorch's inductor do not support forkserver, so they get spawn instead, which is as safe. By
    default the inductor starts a separate process, which is safer than a fork, so that setting is left alone.
    """
    environment["VLLM_WORKER_MULTIPROC_METHOD"] = "fork" if method == "fork" else "spawn"
    environment["MULTIPROCESSING_START_METHOD"] = method
    if method != "fork" and environment.get("TORCHINDUCTOR_WORKER_START") == "fork":
        environment["TORCHINDUCTOR_WORKER_START"] = "spawn"
    if method != "fork" and environment.get("JOBLIB_START_METHOD") == "fork":
        environment["JOBLIB_START_METHOD"] = method


def _tell_rays_address(environment: MutableMapping[str, str]) -> None:
    """Set Ray's address for a new process, as vLLM does when it chooses the method itself."""
    context = getattr(sys.modules.get("ray"), "get_runtime_context", None)
    if context is not None and "RAY_ADDRESS" not in environment:
        environment["RAY_ADDRESS"] = str(context().gcs_address)


def _warn(method: str, decision: Decision, levels: int) -> None:
    # A user who chose forkserver need not be warned that it saves nothing over spawn.
    against = [one for one in decision.against(method) if one.code != "forkserver-preloads-nothing"]
    if not against:
        _LOG.info("%s, as requested", method)
        return
    reasons = "; ".join(dict.fromkeys(one.text for one in against))
    text = f"{method} is used as requested, although {reasons}; coldfork would choose {decision.method}"
    _LOG.info("%s", text)
    warnings.warn(text, StartMethodWarning, stacklevel=levels)
