"""The pools that are measured, each behind the same few calls."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Protocol

LIMIT = 300.0
"""In seconds. Nothing that is measured takes so long unless it hangs."""


class Contender(Protocol):
    """A pool of worker processes."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a function called in a worker."""

    def result(self, handle: Any) -> Any:
        """Wait for what came of it."""

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        """Call a function for each, with what the pool does by itself about chunks."""

    def stop(self) -> None:
        """End the workers."""


class WorkerPool:
    """coldfork's own."""

    def __init__(self, workers: int, modules: Sequence[str], **options: Any) -> None:
        import coldfork

        preload = ("benchmarks.pool.tasks", *modules)
        self.pool: Any = coldfork.WorkerPool(workers, preload=preload, **options)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool.submit(function, *arguments)

    def result(self, handle: Any) -> Any:
        return handle.result(LIMIT)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool.map(function, items)
        return results

    def stop(self) -> None:
        self.pool.shutdown()


class MultiprocessingPool:
    """`multiprocessing.Pool`, from a server that has the same modules."""

    package = "multiprocessing"

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        self.pool: Any = _context(modules).Pool(workers)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool.apply_async(function, arguments)

    def result(self, handle: Any) -> Any:
        return handle.get(LIMIT)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool.map(function, items)
        return results

    def stop(self) -> None:
        self.pool.terminate()
        self.pool.join()


class Billiard(MultiprocessingPool):
    """Celery's copy of it, whose forkserver is out of use: the workers are spawned."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        self.pool = import_module("billiard").get_context("spawn").Pool(workers)


class Futures:
    """`concurrent.futures.ProcessPoolExecutor`, from a server that has the same modules."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        futures = import_module("concurrent.futures")
        self.pool: Any = futures.ProcessPoolExecutor(workers, mp_context=_context(modules))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool.submit(function, *arguments)

    def result(self, handle: Any) -> Any:
        return handle.result(LIMIT)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool.map(function, items)
        return results

    def stop(self) -> None:
        self.pool.shutdown(cancel_futures=True)


class Loky(Futures):
    """`loky.get_reusable_executor`'s kind, one for each contender that is made."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        self.pool = import_module("loky").ProcessPoolExecutor(workers, timeout=LIMIT)

    def stop(self) -> None:
        self.pool.shutdown(kill_workers=True)


class Pebble(Futures):
    """`pebble.ProcessPool`, from a server that has the same modules."""

    def __init__(self, workers: int, modules: Sequence[str], timeout: float | None = None) -> None:
        self.pool = import_module("pebble").ProcessPool(workers, context=_context(modules))
        self.timeout = timeout

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool.schedule(function, arguments, timeout=self.timeout)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool.map(function, items).result()
        return results

    def stop(self) -> None:
        self.pool.stop()
        self.pool.join()


class Mpire:
    """`mpire.WorkerPool`, whose workers are kept."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        _context(modules)
        self.pool = import_module("mpire").WorkerPool(workers, start_method="forkserver", keep_alive=True)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool.apply_async(function, arguments)

    def result(self, handle: Any) -> Any:
        return handle.get(timeout=LIMIT)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool.map(function, items, concatenate_numpy_output=False)
        return results

    def stop(self) -> None:
        self.pool.terminate()


class Joblib:
    """`joblib.Parallel`, which has no way to submit one task; only its map is measured."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        self.joblib = import_module("joblib")
        self.pool = self.joblib.Parallel(n_jobs=workers)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool([self.joblib.delayed(function)(*arguments)])

    def result(self, handle: Any) -> Any:
        return handle[0]

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool(self.joblib.delayed(function)(item) for item in items)
        return results

    def stop(self) -> None:
        import_module("joblib.externals.loky").get_reusable_executor().shutdown(kill_workers=True)


class Ray:
    """Ray's tasks on a cluster of this machine alone."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        self.ray = import_module("ray")
        self.ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=50)
        self.call = self.ray.remote(_called)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.call.remote(function, *arguments)

    def result(self, handle: Any) -> Any:
        return self.ray.get(handle, timeout=LIMIT)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.ray.get([self.call.remote(function, item) for item in items])
        return results

    def stop(self) -> None:
        self.ray.shutdown()


class Dask(Futures):
    """Dask's tasks on a cluster of this machine alone."""

    def __init__(self, workers: int, modules: Sequence[str]) -> None:
        distributed = import_module("distributed")
        self.cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=50
        )
        self.pool = distributed.Client(self.cluster)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.pool.submit(function, *arguments, pure=False)

    def map(self, function: Callable[..., Any], items: Sequence[Any]) -> Iterable[Any]:
        results: Iterable[Any] = self.pool.gather(self.pool.map(function, items, pure=False))
        return results

    def stop(self) -> None:
        self.pool.close()
        self.cluster.close()


CONTENDERS: dict[str, Callable[..., Contender]] = {
    "coldfork": WorkerPool,
    "multiprocessing": MultiprocessingPool,
    "billiard": Billiard,
    "concurrent.futures": Futures,
    "pebble": Pebble,
    "mpire": Mpire,
    "loky": Loky,
    "joblib": Joblib,
    "ray": Ray,
    "dask": Dask,
}
MAPS_ONLY = frozenset({"joblib"})
USUAL = tuple(name for name in CONTENDERS if name not in {"ray", "dask"})


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _context(modules: Sequence[str]) -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.pool.tasks", *modules])
    return context
