"""Everything that is measured, in one list."""

from __future__ import annotations

from coldfork.launch.figures.figure import Kind, Measure

SCRIPT_RUNS = Measure(
    "coldfork.script.runs", Kind.COUNTER, "{run}", "Isolated scripts that have ended, by how they ended."
)
SCRIPT_SECONDS = Measure(
    "coldfork.script.duration", Kind.HISTOGRAM, "s", "How long isolated scripts have run."
)
POOL_TASKS = Measure(
    "coldfork.pool.tasks", Kind.COUNTER, "{task}", "Tasks of a pool that have ended, by how they ended."
)
POOL_RETRIES = Measure(
    "coldfork.pool.retries", Kind.COUNTER, "{task}", "Tasks done again because their worker had died."
)
POOL_TASK_SECONDS = Measure(
    "coldfork.pool.task.duration", Kind.HISTOGRAM, "s", "How long tasks have run on their workers."
)
POOL_WAIT_SECONDS = Measure(
    "coldfork.pool.task.wait", Kind.HISTOGRAM, "s", "How long tasks have waited until a worker had them."
)
POOL_STARTS = Measure(
    "coldfork.pool.worker.starts", Kind.COUNTER, "{worker}", "Starts of workers, by whether they got ready."
)
POOL_START_SECONDS = Measure(
    "coldfork.pool.worker.start.duration", Kind.HISTOGRAM, "s", "How long workers took to become ready."
)
POOL_ENDS = Measure(
    "coldfork.pool.worker.ends", Kind.COUNTER, "{worker}", "Workers that have ended, by the reason."
)
POOL_WORKERS = Measure(
    "coldfork.pool.workers", Kind.GAUGE, "{worker}", "Workers that there are, by what they are at."
)
POOL_QUEUE = Measure(
    "coldfork.pool.queue.length", Kind.GAUGE, "{task}", "Tasks that no worker has begun with."
)

SCRIPTS = (SCRIPT_RUNS, SCRIPT_SECONDS)
POOLS = (
    POOL_TASKS,
    POOL_RETRIES,
    POOL_TASK_SECONDS,
    POOL_WAIT_SECONDS,
    POOL_STARTS,
    POOL_START_SECONDS,
    POOL_ENDS,
    POOL_WORKERS,
    POOL_QUEUE,
)
