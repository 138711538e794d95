"""What each worker asks of a cluster, and which terms of a pool no cluster can keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldfork.launch.lease.wishes import AUTO
from coldfork.launch.server.zygote.requests import terms as preload_terms
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldfork.launch.lease.leases import DevicesWanted
    from coldfork.launch.pool.terms import PoolTerms


@dataclass(frozen=True, slots=True)
class Share:
    """What a worker asks for, and what it is told before its first task."""

    gpus: float = 0.0
    variables: Mapping[str, str] = field(default_factory=dict)
    preload: tuple[str, ...] = ()

    def options(self) -> dict[str, Any]:
        """As Ray has them. Neither an actor nor a task of one is ever begun again by Ray.

        An actor takes no processor from Ray's count, which is Ray's own way: a pool may have more workers
        than there are processors, one may use another, and after the loss of a node the others take its
        workers.
        """
        asked: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        if self.gpus:
            asked |= {"num_cpus": 0, "num_gpus": self.gpus}
        if self.variables:
            asked["runtime_env"] = {"env_vars": dict(self.variables)}
        return asked


def refuse_what_ray_lacks(max_memory: object, log_dir: object, max_device_memory: object = None) -> None:
    """Say what cannot be had on Ray, rather than do without it in silence."""
    if max_memory is not None:
        raise UsageError(
            'max_memory is not for backend="ray": Ray watches the memory of whole nodes '
            "(RAY_memory_usage_threshold) and not that of a worker; max_tasks replaces a worker that grows"
        )
    if log_dir is not None:
        raise UsageError(
            'log_dir is not for backend="ray": Ray keeps the workers\' output on their nodes, under '
            "session_latest/logs in its own folder, and shows it where the pool is, each line with its pid"
        )
    if max_device_memory is not None:
        raise UsageError(
            'max_device_memory is not for backend="ray": it is a share of the device that Ray will choose, '
            "whose size is not known here; set the framework's own limit with env"
        )


def share_of(terms: PoolTerms, devices: DevicesWanted) -> Share:
    """What each worker of a pool on these terms asks for."""
    preload = tuple(preload_terms(terms.preload, "fail")["preload"])
    return Share(_gpus(devices, terms.workers), _variables(terms.env), preload)


def _gpus(devices: DevicesWanted, workers: int) -> float:
    """How many devices each worker gets, which Ray chooses."""
    if devices is None:
        return 0.0
    if isinstance(devices, str) and devices.strip() in AUTO:
        return 1.0
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        raise UsageError(
            'with backend="ray" it is Ray that chooses the devices: devices is "auto" for one for each '
            f"worker, or a number for all workers together, and not {devices!r}"
        )
    if devices > workers and devices % workers:
        raise UsageError(
            f'devices={devices} cannot be dealt out evenly to {workers} workers, as backend="ray" needs it'
        )
    # Ray counts in ten-thousandths: one more of them, and the last worker would wait for ever.
    return devices / workers if devices >= workers else devices * 10_000 // workers / 10_000


def _variables(env: Mapping[str, str | None]) -> dict[str, str]:
    taken = sorted(name for name, value in env.items() if value is None)
    if taken:
        raise UsageError(
            f'env takes {", ".join(taken)} away, and backend="ray" can only set variables: '
            "Ray's nodes have an environment of their own"
        )
    return {name: value for name, value in env.items() if value is not None}
