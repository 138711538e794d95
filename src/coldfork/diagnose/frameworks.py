"""Recognises, by its stack, the framework that started a process, and how to make it use spawn."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from coldfork.diagnose.logs.records import LogFrame


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework that starts processes for programs."""

    name: str
    paths: tuple[str, ...]
    """Endings of paths of files whose functions run in the child, or start it."""
    speakers: tuple[str, ...] = ()
    """The names of its processes in a log's prefixes."""
    remedy: str | None = None
    """How to make it use another start method."""


#: The specific frameworks come first, because all of them use one of the general ones at the end.
FRAMEWORKS = (
    Framework(
        "vLLM",
        (
            "vllm/v1/engine/core.py",
            "vllm/v1/executor/multiproc_executor.py",
            "vllm/executor/multiproc_worker_utils.py",
        ),
        ("EngineCore", "VllmWorker", "Worker_TP", "Worker_DP", "Worker_PP", "Worker"),
        "vLLM: set `VLLM_WORKER_MULTIPROC_METHOD=spawn` before it is imported.",
    ),
    Framework(
        "SGLang",
        ("sglang/srt/managers/scheduler.py", "sglang/srt/managers/detokenizer_manager.py"),
        ("sglang::",),
    ),
    Framework(
        "DataLoader of PyTorch",
        ("torch/utils/data/_utils/worker.py", "torch/utils/data/dataloader.py"),
        (),
        'DataLoader: pass `multiprocessing_context="spawn"`, and let the dataset hand out tensors '
        "on the CPU.",
    ),
    Framework(
        "datasets",
        ("datasets/utils/py_utils.py", "datasets/arrow_dataset.py", "multiprocess/pool.py"),
        (),
        'datasets: `multiprocess.set_start_method("spawn")` before `map(num_proc=...)`, with a main guard.',
    ),
    Framework("accelerate's notebook_launcher", ("accelerate/launchers.py",)),
    Framework(
        "Lightning",
        ("lightning/pytorch/strategies/launchers/multiprocessing.py",),
        (),
        'Lightning: `strategy="ddp_spawn"`, or `ddp`, which starts scripts anew.',
    ),
    Framework("torch elastic", ("torch/distributed/elastic/multiprocessing/api.py",)),
    Framework(
        "torch.multiprocessing",
        ("torch/multiprocessing/spawn.py",),
        (),
        'torch.multiprocessing: `start_processes(..., start_method="spawn")`.',
    ),
    Framework(
        "Celery",
        ("celery/concurrency/prefork.py", "billiard/pool.py", "billiard/process.py"),
        ("ForkPoolWorker",),
        "Celery: `--pool=solo` or `--pool=threads`, with one worker for each device.",
    ),
    Framework(
        "gunicorn",
        ("gunicorn/arbiter.py", "gunicorn/workers/base.py"),
        (),
        "gunicorn: without `--preload`, so that each worker imports the application itself.",
    ),
    Framework("Ray", ("ray/_private/workers/default_worker.py", "ray/_private/worker.py", "ray/_raylet.pyx")),
    Framework(
        "joblib",
        ("joblib/externals/loky/process_executor.py", "joblib/parallel.py"),
        (),
        'joblib: `backend="loky"`.',
    ),
    Framework(
        "concurrent.futures",
        ("concurrent/futures/process.py",),
        (),
        'concurrent.futures: `ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))`.',
    ),
    Framework(
        "multiprocessing.Pool",
        ("multiprocessing/pool.py",),
        (),
        'multiprocessing: `multiprocessing.get_context("spawn").Pool(...)`.',
    ),
    Framework(
        "multiprocessing",
        ("multiprocessing/process.py", "multiprocessing/popen_fork.py", "multiprocessing/spawn.py"),
        (),
        'multiprocessing: `multiprocessing.get_context("spawn")`.',
    ),
)


_HOSTS = re.compile(
    r"(?:^|/)(?:torch/(?:utils/data|multiprocessing|distributed/(?:elastic|launcher|run)|_utils\.py)"
    r"|billiard|celery/(?:app|concurrency|worker|bin)|gunicorn|joblib|ray/(?:_private|_raylet)|multiprocess)\b"
)
"""Files whose functions merely run the code that they are given."""


def hosts(frame: LogFrame) -> bool:
    """Return whether this call merely runs code that it is given, as a worker's loop, a pool or a launcher
    does.
    """
    return _HOSTS.search("/".join(frame.parts)) is not None


def framework(frames: Iterable[LogFrame], speaker: str | None = None) -> Framework | None:
    """Return the framework that started the process with this stack."""
    paths = ["/".join(frame.parts) for frame in frames]
    for known in FRAMEWORKS:
        if any(path.endswith(f"/{end}") or path == end for path in paths for end in known.paths):
            return known
        if speaker is not None and speaker.startswith(known.speakers or ("\0",)):
            return known
    return None
