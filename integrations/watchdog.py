"""Runs a program that may hang: shows where each of its processes stands, and leaves none behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
#: What the processes of a program that only waits may use up, in seconds of processor time for each second.
WAITING = 0.05


@dataclass(frozen=True, slots=True)
class Watched:
    """How a program ended: `status` is None where it stood still and was ended by the watchdog."""

    status: int | None
    output: str


def run(
    command: Sequence[str | Path],
    variables: Mapping[str, str],
    folder: Path,
    *,
    still: float = 20,
    seconds: float = 600,
) -> Watched:
    """Run a command until it ends, or until no process of it has worked for `still` seconds.

    A program that is to show where it stands registers faulthandler for SIGUSR1: forked children inherit
    that, and it answers in a process that waits for ever in C.
    """
    with tempfile.TemporaryFile("w+b") as output:
        process = subprocess.Popen(
            command,
            env=dict(variables),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = _until_it_stands_still(process, still, seconds)
            if status is None:
                _show_where_they_stand(process.pid)
        finally:
            _end(process)
        output.seek(0)
        return Watched(status, _own_frames(output.read().decode(errors="replace")))


def _until_it_stands_still(process: subprocess.Popen[bytes], still: float, seconds: float) -> int | None:
    started = since = time.monotonic()
    used = 0.0
    while time.monotonic() - started < seconds:
        try:
            return process.wait(0.5)
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        worked = sum(map(_processor_time, session(process.pid)))
        if abs(worked - used) > WAITING * max(now - since, 1.0):
            since, used = now, worked
        elif now - since >= still:
            return None
    return None


def session(leader: int) -> list[int]:
    """Every process of a session, those included whose parent is gone."""
    processes = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return sorted(pid for pid in processes if (fields := _status(pid)) and int(fields[3]) == leader)


def _status(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on: what stands before may hold spaces."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return None


def _processor_time(pid: int) -> float:
    fields = _status(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def _show_where_they_stand(leader: int) -> None:
    for pid in session(leader):
        if _answers(pid):
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.5)  # so that one text does not run into another


def _answers(pid: int) -> bool:
    """Whether a process has a handler for the signal, which would end it otherwise."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1)


def _own_frames(text: str) -> str:
    """The text, where the stack of a process forked by multiprocessing ends with what it was forked for."""
    beginning = r'(^  File ".*/multiprocessing/process\.py", line \d+ in _bootstrap\n)'
    parents = r'(?:  File ".*", line \d+ in .*\n)+'
    return re.sub(beginning + parents, r"\1  (and the frames of its parent)\n", text, flags=re.MULTILINE)


def _end(process: subprocess.Popen[bytes]) -> None:
    for pid in session(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()
