"""What the guard reads of a worker before it is started, how long that may take, and what stays unread."""

from __future__ import annotations

from coldfork.observe.forking.questions import DEADLINE

READ = (
    "the target of a process, or its run",
    "the initializer of a pool, of an executor or of joblib",
    "a data set's __getitem__, __getitems__ or __iter__, collate_fn and worker_init_fn",
    "a preexec_fn",
)
"""What a worker is certain to call, which is read while a device is awake."""

SECONDS = DEADLINE

UNREAD = (
    "the tasks that a pool gets later, and what a plain os.fork goes on to do",
    "code of installed packages, compiled code, and sources that have changed since they were loaded",
    "workers of a process in which only a runtime without a device is awake",
)
"""Where a fork is judged by what the process holds alone."""
