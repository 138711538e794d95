"""What the workers of a pool can be: processes of this machine, or actors on the nodes of a Ray cluster."""

from __future__ import annotations

import os

from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from coldfork.launch.lease.leases import DevicesWanted
    from coldfork.launch.pool.local.crew import LocalCrew
    from coldfork.launch.pool.on_ray.crew import RayCrew
    from coldfork.launch.pool.terms import PoolTerms

    Crew: TypeAlias = LocalCrew | RayCrew

LOCAL = "local"
RAY = "ray"
BACKENDS = (LOCAL, RAY)


def check(backend: str, *, max_memory: object, log_dir: object, max_device_memory: object) -> None:
    """Refuse a backend that there is none of, or that cannot keep these terms."""
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}; it is one of {', '.join(BACKENDS)}")
    if backend == RAY:
        from coldfork.launch.pool.on_ray.cluster import ray_package
        from coldfork.launch.pool.on_ray.share import refuse_what_ray_lacks

        ray_package()
        refuse_what_ray_lacks(max_memory, log_dir, max_device_memory)


def usual_workers(backend: str) -> int:
    """So many workers a pool has unless it is told: one for each processor that it may use."""
    if backend == LOCAL:
        return len(os.sched_getaffinity(0))
    from coldfork.launch.pool.on_ray.cluster import cluster

    cluster().connect()
    return cluster().processors()


def opened(backend: str, terms: PoolTerms, devices: DevicesWanted) -> Crew:
    """What starts the workers, and has begun to."""
    crew: Crew
    if backend == LOCAL:
        from coldfork.launch.pool.local.crew import LocalCrew

        crew = LocalCrew(terms)
    else:
        from coldfork.launch.pool.on_ray.crew import RayCrew
        from coldfork.launch.pool.on_ray.share import share_of

        crew = RayCrew(terms, share_of(terms, devices))
    crew.open()
    return crew
