"""Ask another program a question and wait a limited time for its answer; it is never left running."""

from __future__ import annotations

import os
import signal
from time import monotonic

from coldfork.observe.installation import ROOT
from coldfork.observe.late_imports import LATE
from coldfork.observe.processes.programs import OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

LOOK_SECONDS = 0.05
"""The longest time for which an interruption may go unnoticed."""
_KEPT_VARIABLES = ("COLDFORK_CACHE_DIR",)
_NO_FOLDER_OF_OURS = os.path.abspath(os.sep)
"""A folder that will not be removed meanwhile."""


def ask(
    command: Sequence[str],
    question: str,
    seconds: float,
    variables: Mapping[str, str] | None = None,
    stop: Callable[[], bool] | None = None,
    folder: str | None = None,
) -> subprocess.CompletedProcess[bytes] | None:
    """Return a command's answer to a question; None if it took too long, or `stop` returned True."""
    LATE.load("subprocess")
    import subprocess

    until = monotonic() + seconds
    with subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=None if variables is None else dict(variables),
        start_new_session=True,
    ) as process:
        told: bytes | None = question.encode()
        while True:
            left = max(0.0, until - monotonic())
            try:
                said, complaint = process.communicate(told, left if stop is None else min(left, LOOK_SECONDS))
            except subprocess.TimeoutExpired:
                told = None  # already passed: `communicate` refuses the input a second time
                if monotonic() >= until or (stop is not None and stop()):
                    _end(process)
                    return None
            except BaseException:
                _end(process)
                raise
            else:
                return subprocess.CompletedProcess(process.args, process.returncode, said, complaint)


def ask_our_own(
    command: Sequence[str], question: str, seconds: float
) -> subprocess.CompletedProcess[bytes] | None:
    """Ask one of coldfork's own programs; this is not reported as a process of the user's program."""
    return ask(command, question, seconds, environment(), folder=_NO_FOLDER_OF_OURS)


def last_line(said: bytes) -> str:
    """Return the last line that a program printed; empty if it printed nothing."""
    return (said.decode("utf-8", "replace").strip().splitlines() or [""])[-1]


def environment() -> dict[str, str]:
    """Return this process's environment without watch and guard, for coldfork's own processes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COLDFORK_") or name in _KEPT_VARIABLES
    }
    name, _, value = OWN.partition("=")
    kept[name] = value
    before = kept.get("PYTHONPATH")
    kept["PYTHONPATH"] = f"{ROOT}{os.pathsep}{before}" if before else ROOT
    return kept


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its helper processes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()
