"""The Ray connection that this process's pools share: the caller's, or one that the first pool made.

It also defines the resources that each worker requests, and the options that Ray does not support.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from logging import getLogger
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

from coldfork.launch.devices.choice import AUTO
from coldfork.launch.pool.errors import PoolError
from coldfork.launch.server.zygote.requests import terms as preload_terms
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from coldfork.launch.pool.terms import PoolTerms


_LOG = getLogger("coldfork")
_PATIENCE = 30.0
"""How long to wait for a cluster that is still starting."""
_MOMENT = 0.2


def ray_package() -> Any:
    """Return the package `ray`; raise `UsageError` with an install hint if it is missing."""
    found = find_spec("ray")
    # A script in the temporary folder may find Ray's folder of sessions there, and take it for an empty
    # package `ray`.
    if found is None or found.origin is None:
        raise UsageError(
            "backend=\"ray\" needs Ray, which is not installed here: pip install 'coldfork[ray]'"
        )
    import ray

    return ray


def await_answer(address: str, patience: float) -> None:
    """Wait until a cluster's address accepts connections; raise `PoolError` on timeout.

    An address without host and port is not checked, because only Ray understands it.
    """
    try:
        named = urlsplit(address if "//" in address else f"//{address}")
        host, port = named.hostname, named.port
    except ValueError:
        return
    if not host or not port:
        return
    until = monotonic() + patience
    told = False
    while True:
        try:
            socket.create_connection((host, port), max(_MOMENT, until - monotonic())).close()
        except OSError as error:
            why = error.strerror or str(error)
            if monotonic() + _MOMENT > until:
                raise PoolError(f"no cluster of Ray answers at RAY_ADDRESS={address}: {why}") from None
            if not told:
                told = True
                _LOG.warning(
                    "RAY_ADDRESS=%s does not answer yet (%s); waiting %g s more", address, why, patience
                )
            sleep(_MOMENT)
        else:
            return


class Connection:
    """This process's connection to Ray, which the caller may end at any time."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._which = _which(ray)

    def lasts(self) -> bool:
        """Return whether the connection still exists; without one, any call to Ray would start a cluster."""
        return bool(self._which) and _which(self._ray) == self._which

    def kill(self, actor: Any) -> None:
        """End an actor for good."""
        if self.lasts():
            with suppress(Exception):
                self._ray.kill(actor, no_restart=True)


def _which(ray: Any) -> str:
    """Return an identifier of the present connection; empty if there is none."""
    return str(ray.get_runtime_context().get_worker_id()) if ray.is_initialized() else ""


class Cluster:
    """The cluster to which this process is connected, as long as any of its pools needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._mine: Connection | None = None
        """The connection that a pool has made; the last pool ends it."""

    def connect(self) -> None:
        """Connect to a cluster, unless the caller has already done so.

        Ray chooses the cluster, as it does for every program that names none: the one in RAY_ADDRESS, or the
        one that `ray start` has started on this machine, or a new one for this process alone.
        """
        ray = ray_package()
        with self._lock:
            if ray.is_initialized():
                return
            # Checked first, because Ray would retry silently for ten minutes.
            await_answer(os.environ.get("RAY_ADDRESS", ""), _PATIENCE)
            try:
                ray.init(include_dashboard=False)
            except (OSError, RuntimeError, ValueError) as error:
                raise PoolError(f"cannot reach or start a Ray cluster: {error}") from error
            self._mine = Connection(ray)

    def enter(self) -> Connection:
        """Register a pool as a user of the connection, and return the connection."""
        self.connect()
        with self._lock:
            self._users += 1
            return Connection(ray_package())

    def leave(self) -> None:
        """Unregister a pool. After the last one, end a connection that a pool has made."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._mine is not None:
                if self._mine.lasts():
                    ray_package().shutdown()
                self._mine = None

    def processors(self) -> int:
        """Return the number of processors in the cluster."""
        return max(1, int(ray_package().cluster_resources().get("CPU", 1)))


@cache
def _joined(_home: int) -> Cluster:
    return Cluster()


def cluster() -> Cluster:
    """Return the cluster of this process."""
    return _joined(os.getpid())


@dataclass(frozen=True, slots=True)
class Share:
    """The resources and settings that each worker requests from Ray."""

    gpus: float = 0.0
    variables: Mapping[str, str] = field(default_factory=dict)
    preload: tuple[str, ...] = ()

    def options(self) -> dict[str, Any]:
        """Return the request as Ray's options, which forbid Ray to restart an actor or repeat its tasks.

        An actor reserves no processor, which is Ray's default. So a pool may have more workers than there are
        processors, a worker may use several processors, and the remaining nodes can take over a lost node's
        workers.
        """
        asked: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        if self.gpus:
            asked |= {"num_cpus": 0, "num_gpus": self.gpus}
        if self.variables:
            asked["runtime_env"] = {"env_vars": dict(self.variables)}
        return asked


def refuse_what_ray_lacks(max_memory: object, log_dir: object, max_device_memory: object = None) -> None:
    """Refuse options that Ray cannot provide, rather than ignore them silently."""
    if max_memory is not None:
        raise UsageError(
            'max_memory does not work with backend="ray": Ray limits the memory of whole nodes '
            "(RAY_memory_usage_threshold), not of a worker; to replace a worker that grows, set max_tasks"
        )
    if log_dir is not None:
        raise UsageError(
            'log_dir does not work with backend="ray": Ray keeps the workers\' output on their nodes, '
            "under session_latest/logs in its own folder, and shows it where the pool is, each line with "
            "its pid"
        )
    if max_device_memory is not None:
        raise UsageError(
            'max_device_memory does not work with backend="ray": Ray chooses the device, and its size '
            "is unknown here; set the framework's own limit with env"
        )


def share_of(terms: PoolTerms) -> Share:
    """Return the resources and settings that each worker of a pool with these options requests."""
    preload = tuple(preload_terms(terms.preload, "fail")["preload"])
    taken = sorted(name for name, value in terms.env.items() if value is None)
    gpus = _gpus(terms.devices, terms.workers)
    if taken:
        raise UsageError(
            f'env cannot unset {", ".join(taken)} with backend="ray": Ray\'s nodes have their own environment'
        )
    return Share(gpus, {name: value for name, value in terms.env.items() if value is not None}, preload)


def _gpus(devices: object, workers: int) -> float:
    """Return the number of devices for each worker, which may be a fraction; Ray chooses the devices."""
    if devices is None:
        return 0.0
    if isinstance(devices, str) and devices.strip() in AUTO:
        return 1.0
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        raise UsageError(
            'with backend="ray", Ray chooses the devices: devices is "auto" (one for each worker) or '
            f"a number for all workers together, not {devices!r}"
        )
    if devices > workers and devices % workers:
        raise UsageError(
            f'devices={devices} cannot be divided evenly among {workers} workers, as backend="ray" needs'
        )
    # Ray counts in ten-thousandths; rounded up, the shares could leave the last worker waiting for ever.
    return devices / workers if devices >= workers else devices * 10_000 // workers / 10_000
