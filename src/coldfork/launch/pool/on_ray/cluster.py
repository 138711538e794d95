"""The Ray that the pools of this process use: the caller's, or one that the first of them has started."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any

from coldfork.launch.pool.errors import PoolError
from coldfork.model.errors import UsageError


def ray_package() -> Any:
    """Ray itself; `UsageError` says how to get it where it is not installed."""
    found = find_spec("ray")
    # The folder that Ray keeps its sessions in is an empty package of this name for a script beside it.
    if found is None or found.origin is None:
        raise UsageError(
            "backend=\"ray\" needs Ray, which is not installed here: pip install 'coldfork[ray]'"
        )
    import ray

    return ray


class Connection:
    """This process's connection to Ray, which its caller may end at any time."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._which = _which(ray)

    def lasts(self) -> bool:
        """Whether it is still there. Who does not ask, and calls Ray, has Ray start a cluster."""
        return bool(self._which) and _which(self._ray) == self._which

    def kill(self, actor: Any) -> None:
        """End an actor, for good."""
        if self.lasts():
            with suppress(Exception):
                self._ray.kill(actor, no_restart=True)


def _which(ray: Any) -> str:
    """What tells a connection from one that is made after it; empty where there is none."""
    return str(ray.get_runtime_context().get_worker_id()) if ray.is_initialized() else ""


class Cluster:
    """The cluster that this process is connected to, while any of its pools needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._mine: Connection | None = None
        """The connection that a pool has made, and a pool ends."""

    def connect(self) -> None:
        """See that there is a connection. What the caller has made is left as it is.

        Where there is none, it is Ray that decides, as for every program that does not say where:
        RAY_ADDRESS, the cluster that `ray start` has begun on this machine, or one for this process alone.
        """
        ray = ray_package()
        with self._lock:
            if ray.is_initialized():
                return
            try:
                ray.init(include_dashboard=False)
            except (OSError, RuntimeError, ValueError) as error:
                raise PoolError(f"no cluster of Ray can be reached or started: {error}") from error
            self._mine = Connection(ray)

    def enter(self) -> Connection:
        """One more pool uses the connection."""
        with self._lock:
            self._users += 1
            return Connection(ray_package())

    def leave(self) -> None:
        """A pool needs it no more. The last of them ends what a pool has begun."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._mine is not None:
                if self._mine.lasts():
                    ray_package().shutdown()
                self._mine = None

    def processors(self) -> int:
        """How many processors its nodes have."""
        return max(1, int(ray_package().cluster_resources().get("CPU", 1)))


@cache
def _joined(_home: int) -> Cluster:
    return Cluster()


def cluster() -> Cluster:
    """The one of this process."""
    return _joined(os.getpid())
