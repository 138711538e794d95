"""The facts of this machine."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.diagnose.doctor.facts.facts import Facts, Limit, System
from coldfork.diagnose.doctor.facts.files import FileTree
from coldfork.diagnose.doctor.facts.interpreter import ExaminedPython, others
from coldfork.launch.devices import management
from coldfork.launch.state_folder import state_folder

if TYPE_CHECKING:
    from coldfork.diagnose.doctor.facts.packages import Waking
    from coldfork.model.observations import Progress
    from coldfork.model.running import Census

_LARGEST_RECORDING = 1 << 20
"""A megabyte takes a tenth of a second to read, and a long run records hundreds."""
_LIMITS = ("NOFILE", "NPROC", "MEMLOCK", "CORE")


def facts(
    python: ExaminedPython,
    *,
    touch: bool,
    packages: bool,
    progress: Progress | None = None,
    variables: Mapping[str, str] = os.environ,
) -> Facts:
    """Return the facts about this machine; wake devices and read packages only if requested."""
    system = System(sys.platform, platform.machine(), platform.release(), _processors(), _limits())
    return Facts(
        python,
        FileTree(),
        system,
        variables,
        ask_driver=partial(management.management, variables),
        touch=partial(management.touched, variables) if touch else None,
        census=_census if system.is_linux else None,
        waking=_waking(python, progress) if packages else None,
        state=state_folder(variables, sys.platform),
        folder=Path.cwd(),
        pythons=partial(others, variables),
        now=time.time(),
    )


def _processors() -> int:
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _limits() -> dict[str, Limit]:
    try:
        import resource
    except ImportError:
        return {}
    found = {}
    for name in _LIMITS:
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            soft, hard = (None if v == resource.RLIM_INFINITY else v for v in resource.getrlimit(number))
            found[name] = (soft, hard)
    return found


def _census() -> Census:
    from coldfork.launch.outside.census import census
    from coldfork.launch.outside.kernel import Kernel

    return census(Kernel(), leave_out=(os.getpid(),), largest_recording=_LARGEST_RECORDING)


def _waking(python: ExaminedPython, progress: Progress | None) -> Callable[[], Waking]:
    from coldfork.diagnose.doctor.facts.packages import waking

    return lambda: waking(python.folders, python.version, progress)
