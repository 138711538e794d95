"""Figures of pools: real workers that work, fail, hang, are killed and replaced."""

from __future__ import annotations

import gc
import signal
import sys
import weakref
from time import sleep
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("a pool needs Linux", allow_module_level=True)

from coldfork.launch.distribution import Histogram
from coldfork.launch.figures import POOLS, SCRIPTS, Figures, Kind
from coldfork.launch.pool.errors import TaskTimeoutError, WorkerDiedError
from coldfork.launch.pool.pool import WorkerPool
from coldfork.model.errors import UsageError
from tests.launch.figures.test_scripts import collected
from tests.launch.pool import targets

pytestmark = pytest.mark.once

LIMIT = 60.0


def read(figures: Figures) -> dict[str, dict[tuple[str, ...], Any]]:
    """Return the figures, by measure and by the values of its labels."""
    found: dict[str, dict[tuple[str, ...], Any]] = {}
    for sample in figures.snapshot():
        labels = tuple(value for _, value in sample.labels)
        value = sample.value.count if isinstance(sample.value, Histogram) else sample.value
        found.setdefault(sample.measure.name.removeprefix("coldfork."), {})[labels] = value
    return found


def test_every_end_of_a_task_and_of_a_worker_is_counted_once() -> None:
    figures = Figures()
    with WorkerPool(2) as made:
        pool = figures.watch("ocr", made)
        pool.wait(timeout=LIMIT)
        assert [pool.submit(targets.square, n).result(LIMIT) for n in range(10)][-1] == 81
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result(LIMIT)
        with pytest.raises(WorkerDiedError):
            pool.submit(targets.die_of, signal.SIGKILL).result(LIMIT)
        with pytest.raises(TaskTimeoutError):
            pool.submit(sleep, 600, timeout=0.05).result(LIMIT)
        pool.wait(timeout=LIMIT)
        found = read(figures)
        assert found["pool.workers"] == {("ocr", "idle"): 2, ("ocr", "busy"): 0, ("ocr", "starting"): 0}
        assert found["pool.queue.length"] == {("ocr",): 0}
    found = read(figures)
    tasks = {outcome: count for (_, outcome), count in found["pool.tasks"].items() if count}
    assert tasks == {"done": 10, "raised": 1, "worker-died": 1, "timed-out": 1}
    ends = {reason: count for (_, reason), count in found["pool.worker.ends"].items() if count}
    assert ends == {"died": 1, "timed-out": 1, "shutdown": 2}
    assert found["pool.worker.starts"] == {("ocr", "ready"): 4, ("ocr", "failed"): 0}
    assert found["pool.task.duration"] == {("ocr",): 11}
    assert found["pool.task.wait"] == {("ocr",): 13}
    assert found["pool.retries"] == {("ocr",): 0}
    assert 2 <= found["pool.worker.start.duration"][("ocr",)] <= 4


def test_workers_that_are_replaced_after_so_many_tasks_are_told_from_others() -> None:
    figures = Figures()
    with WorkerPool(1, max_tasks=2) as pool:
        figures.watch("short", pool)
        for number in range(4):
            pool.submit(targets.square, number).result(LIMIT)
    ends = {reason: count for (_, reason), count in read(figures)["pool.worker.ends"].items() if count}
    assert ends.pop("max-tasks") == 2
    assert set(ends) <= {"shutdown"}


def test_what_waits_and_who_works_can_be_seen() -> None:
    figures = Figures()
    with WorkerPool(1) as pool:
        figures.watch("one", pool)
        first = pool.submit(sleep, 600)
        waits = [pool.submit(sleep, 600) for _ in range(3)]
        pool.wait(timeout=LIMIT)
        found = read(figures)
        assert found["pool.workers"][("one", "busy")] == 1
        assert found["pool.queue.length"][("one",)] == len(waits)
        assert not first.done()
        pool.kill()
    assert read(figures)["pool.tasks"][("one", "killed")] == 1


def test_a_name_is_given_to_one_pool_at_a_time_and_the_pool_is_not_kept() -> None:
    figures = Figures()
    with WorkerPool(1) as pool:
        figures.watch("a", pool)
        with WorkerPool(1) as other:
            with pytest.raises(UsageError, match="a pool is already watched as 'a'"):
                figures.watch("a", other)
            figures.watch("b", other)
        assert pool.submit(targets.square, 2).result(LIMIT) == 4
    gone = weakref.ref(pool)
    del pool, other
    gc.collect()
    assert gone() is None
    found = read(figures)
    assert found["pool.tasks"][("a", "done")] == 1
    assert found["pool.workers"][("a", "idle")] == 0
    with WorkerPool(1) as pool:
        figures.watch("a", pool)
    assert read(figures)["pool.tasks"][("a", "done")] == 0


def test_prometheus_reads_the_figures_of_two_pools_under_one_heading() -> None:
    pytest.importorskip("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families

    figures = Figures()
    with WorkerPool(1) as one, WorkerPool(1) as two:
        figures.watch("one", one)
        figures.watch('t"w\\o', two)
        one.submit(targets.square, 2).result(LIMIT)
        text = figures.prometheus_text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(families) == len(SCRIPTS) + len(POOLS)
    assert text.count("# HELP ") == len(families)
    done = {
        one.labels["pool"]: one.value
        for one in families["coldfork_pool_tasks"].samples
        if one.labels["outcome"] == "done"
    }
    assert done == {"one": 1.0, 't"w\\o': 0.0}
    assert families["coldfork_pool_task_duration_seconds"].type == "histogram"


def test_opentelemetry_collects_while_tasks_run() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    figures, reader = Figures(), InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    figures.observe_with(provider.get_meter("service"))
    with WorkerPool(2) as pool:
        figures.watch("ocr", pool)
        futures = [pool.submit(targets.square, number) for number in range(2000)]
        while not all(future.done() for future in futures):
            collected(reader)
        found = collected(reader)
    provider.shutdown()
    assert set(found) == {one.name for one in (*SCRIPTS, *POOLS) if one.name != "coldfork.script.duration"}
    done = [
        p.value for p in found["coldfork.pool.tasks"].data.data_points if p.attributes["outcome"] == "done"
    ]
    assert done == [2000]
    for name in ("coldfork.pool.task.duration", "coldfork.pool.task.wait"):
        (point,) = found[name].data.data_points
        assert (point.count, dict(point.attributes)) == (2000, {"pool": "ocr"})
    workers = {p.attributes["state"]: p.value for p in found["coldfork.pool.workers"].data.data_points}
    assert sum(workers.values()) == 2
    assert all(one.kind in Kind for one in POOLS)


def test_a_meter_that_fails_harms_no_task() -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            return lambda *words, **named: self

        def record(self, *words: Any) -> None:
            raise RuntimeError

    pytest.importorskip("opentelemetry")
    figures = Figures()
    with WorkerPool(1) as pool:
        figures.watch("ocr", pool)
        figures.observe_with(Broken())
        assert pool.submit(targets.square, 3).result(LIMIT) == 9
