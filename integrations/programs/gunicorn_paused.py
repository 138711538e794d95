"""gunicorn's configuration with a guard, and with libgomp's threads given back before each fork."""

from __future__ import annotations

import ctypes
from pathlib import Path

import coldfork

coldfork.guard("strict")

HARD = 2  # omp_pause_hard: the threads end, and come back when they are needed


def pre_fork(server: object, worker: object) -> None:
    """Give the threads back, in the thread that forks: the pool is that of the thread."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    for path in {line.split()[-1] for line in lines if "/libgomp" in line}:
        ctypes.CDLL(path).omp_pause_resource_all(HARD)
