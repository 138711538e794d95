"""Finds interpreters and asks them questions; leaves none of them running, whatever interrupts the asking."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TypeVar

from coldfork.model.errors import UsageError

LOOK_SECONDS = 0.05
"""How long nobody looks whether there was an interruption."""
_Result = TypeVar("_Result")


def find_interpreter(named: str | None) -> str:
    """The interpreter named, by path or as the shell finds it, else our own."""
    wanted = sys.executable if named is None else named
    if not wanted:
        raise UsageError("this process does not know its own Python interpreter; name one")
    found = shutil.which(wanted)
    if found is not None:
        # A virtual environment is found through the link, so it stays one.
        return str(Path(found).absolute())
    if Path(wanted).exists():
        raise UsageError(f"cannot start the Python interpreter {wanted!r}: Permission denied")
    raise UsageError(f"there is no Python interpreter {wanted!r}")


def apart(work: Callable[[Callable[[], bool]], _Result]) -> _Result:
    """Do work that starts processes on a thread of its own, and wait for it; `work` is told when to stop.

    Ctrl-C comes on the main thread only. There it could come when a process has started and nobody knows it.
    """
    stopped = Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            future = pool.submit(work, stopped.is_set)
            # A signal that comes just before a wait is not seen during it: so no wait may be long.
            while not wait((future,), LOOK_SECONDS).done:
                pass
            return future.result()
        except BaseException:
            stopped.set()
            raise


def ask(
    command: Sequence[str], seconds: float, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What a command answers within some seconds."""
    return apart(lambda stop: _answered(command, seconds, variables, stop))


def _answered(
    command: Sequence[str],
    seconds: float,
    variables: Mapping[str, str] | None,
    stop: Callable[[], bool],
) -> subprocess.CompletedProcess[bytes]:
    deadline = monotonic() + seconds
    with subprocess.Popen(
        list(command),
        env=None if variables is None else dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while True:
            try:
                said, complaint = process.communicate(timeout=LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                if stop() or monotonic() > deadline:
                    process.kill()
                    raise subprocess.TimeoutExpired(list(command), seconds) from None
            else:
                return subprocess.CompletedProcess(process.args, process.returncode, said, complaint)
