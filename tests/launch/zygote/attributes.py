"""The attributes of a process, by the names of the table in docs/how-to/warm-workers.md."""

from __future__ import annotations

import locale
import multiprocessing
import os
import random
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def status(*fields: str) -> list[str]:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return [line for line in lines if line.startswith(fields)]


def ignored() -> list[int]:
    """Without 32 and 33, which belong to the C library, and which its `posix_spawn` leaves ignored."""
    (line,) = status("SigIgn")
    bits = int(line.split()[1], 16)
    return [number for number in range(1, 65) if bits >> (number - 1) & 1 and number not in (32, 33)]


def handlers() -> list[int]:
    """The signals that a function of this program handles, SIGINT left out, which Python handles itself."""
    return [int(one) for one in signal.valid_signals() if one != 2 and callable(signal.getsignal(one))]


def opened() -> list[str]:
    """The files that are open, the standard streams left out, and what `sys.stdin` reads instead."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            if int(link.name) > 2:
                found.append(str(link.readlink()))
        except OSError:
            continue
    return sorted(one for one in found if one.startswith("/") and "/proc/" not in one and one != os.devnull)


def streams() -> list[Any]:
    kept = [(stream.encoding, stream.errors, stream.line_buffering) for stream in (sys.stdout, sys.stderr)]
    return [kept, [os.fstat(number).st_ino for number in (1, 2)]]


def group() -> list[int]:
    return [os.getpgrp(), os.getsid(0)]


READ: dict[str, Callable[[], Any]] = {
    "environment": lambda: {n: v for n, v in os.environ.items() if n != "COLDFORK_ZYGOTE"},
    "working directory": os.getcwd,
    "`sys.path`, `sys.argv`": lambda: [sys.path, sys.argv],
    "standard streams": streams,
    "processors": lambda: sorted(os.sched_getaffinity(0)),
    "umask": lambda: status("Umask"),
    "resource limits": lambda: [resource.getrlimit(kind) for kind in LIMITS],
    "niceness": lambda: os.getpriority(os.PRIO_PROCESS, 0),
    "signals held back": lambda: sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
    "signals ignored": ignored,
    "signal handlers": handlers,
    "locale": lambda: [locale.setlocale(locale.LC_ALL), locale.localeconv()["decimal_point"]],
    "parent": os.getppid,
    "process group, session": group,
    "user, groups, capabilities": lambda: status("Uid", "Gid", "Groups", "CapEff", "NoNewPrivs"),
    "control groups": lambda: Path("/proc/self/cgroup").read_text(encoding="utf-8"),
    "open files": opened,
    "threads": threading.active_count,
    "random numbers": random.random,
    "imported modules": lambda: "http.client" in sys.modules,
    "hash seed": lambda: hash("a text"),
    "key of `multiprocessing`": lambda: bytes(multiprocessing.current_process().authkey),
    "start method of `multiprocessing`": lambda: multiprocessing.get_start_method(allow_none=True),
    "scheduling policy": lambda: [os.sched_getscheduler(0), Path("/proc/self/oom_score_adj").read_text()],
}


def tell(answers: Any, names: list[str]) -> None:
    """In a worker: say what it has."""
    answers.send({name: READ[name]() for name in names})
