"""A caller's circumstances, such as folder and limits, which workers take over as if the caller had forked
them.
"""

from __future__ import annotations

import _locale
import os
import resource
import sys
import time
from _signal import (
    SIG_BLOCK,
    SIG_DFL,
    SIG_IGN,
    SIG_SETMASK,
    getsignal,
    pthread_sigmask,
    signal,
    valid_signals,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_IDENTITY = (b"Uid:", b"Gid:", b"Groups:", b"CapEff:", b"CapBnd:", b"NoNewPrivs:", b"Seccomp:")
_LIMITS = tuple(sorted(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")))
_UNCHANGEABLE = frozenset({9, 19})
"""SIGKILL and SIGSTOP."""
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")


class Circumstances:
    """The circumstances of a caller, to be given to a worker; they are sent as a pickle."""

    def __init__(self) -> None:
        """Record the circumstances of this process and thread."""
        status = _status()
        self.environment: dict[bytes, bytes] = dict(os.environb)
        self.folder: bytes | None = working_directory()
        self.processors: set[int] = os.sched_getaffinity(0)
        self.umask: int = int(status[b"Umask:"], 8)
        self.limits: dict[Any, tuple[int, int]] = {kind: resource.getrlimit(kind) for kind in _LIMITS}
        self.niceness: int = os.getpriority(os.PRIO_PROCESS, 0)
        self.group: int = os.getpgrp()
        self.mask: set[int] = {int(number) for number in pthread_sigmask(SIG_BLOCK, ())}
        self.ignored: int = int(status[b"SigIgn:"], 16)
        self.locale: str = _locale.setlocale(_locale.LC_ALL)
        self.streams: dict[str, dict[str, object] | None] = {
            name: _manner(getattr(sys, name, None)) for name in ("stdout", "stderr")
        }

    def change_environment(self, changes: Mapping[str, str | None]) -> None:
        """Change the worker's environment: set variables, and remove those that `changes` maps to None."""
        for name, value in changes.items():
            if value is None:
                self.environment.pop(os.fsencode(name), None)
            else:
                self.environment[os.fsencode(name)] = os.fsencode(value)

    def take_over(self, mark: tuple[bytes, bytes]) -> list[str]:
        """Apply all circumstances except the signals to this process; return a sentence for each failure."""
        troubles: list[str] = []

        def attempt(what: str, do: Callable[[], object]) -> None:
            try:
                do()
            except (OSError, ValueError) as error:
                troubles.append(f"{what}: {error}")

        self._take_environment(mark)
        if os.sched_getaffinity(0) != self.processors:
            attempt("its processors", lambda: os.sched_setaffinity(0, self.processors))
        os.umask(self.umask)
        if self.folder is not None:
            folder = self.folder
            attempt("its working directory", lambda: os.chdir(folder))
        if os.getpgrp() != self.group:
            attempt("its process group", lambda: os.setpgid(0, self.group))
        if os.getpriority(os.PRIO_PROCESS, 0) != self.niceness:
            attempt("its niceness", lambda: os.setpriority(os.PRIO_PROCESS, 0, self.niceness))
        if _locale.setlocale(_locale.LC_ALL) != self.locale:
            attempt("its locale", lambda: _locale.setlocale(_locale.LC_ALL, self.locale))
        for kind, limits in self.limits.items():
            if resource.getrlimit(kind) != limits:
                attempt(f"resource limit {kind}", lambda: resource.setrlimit(kind, limits))  # noqa: B023
        self._take_streams()
        return troubles

    def _take_environment(self, mark: tuple[bytes, bytes]) -> None:
        wanted = {**self.environment, mark[0]: mark[1]}
        here = os.environb
        zone = here.get(b"TZ")
        for name in [name for name in here if name not in wanted]:
            del here[name]
        for name, value in wanted.items():
            if here.get(name) != value:
                here[name] = value
        if wanted.get(b"TZ") != zone:
            time.tzset()

    def _take_streams(self) -> None:
        for name, manner in self.streams.items():
            stream: Any = getattr(sys, name, None)
            if manner is not None and hasattr(stream, "reconfigure"):
                try:
                    stream.reconfigure(**manner)
                except OSError:
                    # Reopened, because the server's stream was made for a file, but the descriptor is now a
                    # pipe.
                    opened = open(stream.fileno(), "w", closefd=False, **_opening(manner))  # noqa: SIM115
                    setattr(sys, name, opened)

    def let_signals_in(self, interrupt: Any) -> None:
        """Ignore and block the caller's signals; if SIGINT is not ignored, `interrupt` handles it."""
        for number in valid_signals() - _UNCHANGEABLE:
            here = getsignal(number)
            if self.ignored >> (number - 1) & 1:
                if here != SIG_IGN:
                    signal(number, SIG_IGN)
            elif number == 2:
                signal(number, interrupt)
            elif here == SIG_IGN:
                signal(number, SIG_DFL)
        pthread_sigmask(SIG_SETMASK, self.mask)


def _status() -> Mapping[bytes, bytes]:
    with open("/proc/self/status", "rb") as stream:
        lines = (line.split(None, 1) for line in stream)
        return {words[0]: words[1].strip() if len(words) > 1 else b"" for words in lines if words}


def working_directory() -> bytes | None:
    """Return this process's working directory; None if it was deleted."""
    try:
        return os.getcwdb()
    except OSError:
        # Without a working directory of its own, a worker stays in its server's.
        return None


def _opening(manner: Mapping[str, object]) -> dict[str, Any]:
    """Return those settings of a stream that can be passed when it is opened."""
    buffering = 1 if manner["line_buffering"] or manner["write_through"] else -1
    return {"encoding": manner["encoding"], "errors": manner["errors"], "buffering": buffering}


def _manner(stream: Any) -> dict[str, object] | None:
    """Return the settings of a text stream; None if it has none."""
    try:
        return {
            "encoding": stream.encoding,
            "errors": stream.errors,
            "line_buffering": stream.line_buffering,
            "write_through": stream.write_through,
        }
    except (AttributeError, ValueError):
        return None


def identity() -> dict[str, str]:
    """Return the properties that a worker inherits from its server and cannot change, by name."""
    return {**inherited(), "session": str(os.getsid(0))}


def inherited() -> dict[str, str]:
    """Return the inherited properties that a script cannot change, though it begins its own session."""
    status = _status()
    return {
        "rights": repr([status.get(field) for field in _IDENTITY]),
        "control group": _content("/proc/self/cgroup"),
        **{f"{name} namespace": _link(f"/proc/self/ns/{name}") for name in _NAMESPACES},
        "root folder": _link("/proc/self/root"),
        "security label": _content("/proc/self/attr/current"),
        "priority when memory runs out": _content("/proc/self/oom_score_adj"),
        "scheduling": repr((os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)),
        "personality": _content("/proc/self/personality"),
    }


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """Return the name of the first property in which two processes differ; None if they are alike."""
    return next((name for name in ours if ours[name] != theirs.get(name)), None)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read()).strip("\0\n")
    except OSError:
        return ""
