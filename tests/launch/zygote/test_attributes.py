"""Each row of the table in docs/how-to/warm-workers.md: whence a worker has what it has."""

from __future__ import annotations

import locale
import multiprocessing
import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.server.zygote.handle import Zygote
from coldfork.launch.server.zygote.processes import ZygoteContext
from tests.launch.zygote import targets
from tests.launch.zygote.attributes import READ, tell
from tests.launch.zygote.conftest import LIMIT

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "warm-workers.md"
ROW = re.compile(r"^\| ([^|]+) \| (the caller's|its own|the server's|none)\b[^|]*\|", re.MULTILINE)


def table() -> dict[str, str]:
    """Return the table of the page, row by row."""
    text = PAGE.read_text(encoding="utf-8").partition("## Whence a worker has what it has")[2]
    return dict(ROW.findall(text.partition("\n## ")[0]))


def of_worker(context: ZygoteContext, names: list[str]) -> dict[str, Any]:
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=tell, args=(theirs, names))
    process.start()
    theirs.close()
    assert ours.poll(LIMIT)
    found: dict[str, Any] = ours.recv()
    process.join(LIMIT)
    ours.close()
    return found


def test_the_table_has_a_row_for_each_of_these() -> None:
    assert list(table()) == list(READ)


@contextmanager
def changed(tmp_path: Path) -> Iterator[None]:
    """A caller that has changed since the server was started, in all that a process can change."""
    with ExitStack() as undone:
        patch = undone.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SOME_VARIABLE", "a value")
        patch.delenv("HOME", raising=False)
        patch.chdir(tmp_path)
        patch.setattr(sys, "path", [*sys.path, str(tmp_path)])
        patch.setattr(sys, "argv", ["another", "command"])
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(processors)})
        undone.callback(os.sched_setaffinity, 0, processors)
        undone.callback(os.umask, os.umask(0o027))
        limits = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, limits[1]))
        undone.callback(resource.setrlimit, resource.RLIMIT_CORE, limits)
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        undone.callback(signal.pthread_sigmask, signal.SIG_SETMASK, held)
        undone.callback(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, lambda *_: None))
        undone.callback(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_IGN))
        undone.callback(locale.setlocale, locale.LC_ALL, locale.setlocale(locale.LC_ALL))
        locale.setlocale(locale.LC_ALL, "C.UTF-8")
        waiting = threading.Event()
        other = threading.Thread(target=waiting.wait)
        other.start()
        undone.callback(other.join)
        undone.callback(waiting.set)
        file = undone.enter_context((tmp_path / "open").open("w", encoding="utf-8"))
        assert file.fileno() > 2
        yield


EXPECTED: dict[str, Callable[[Any, Any], bool]] = {
    "the caller's": lambda caller, worker: caller == worker,
    "its own": lambda caller, worker: caller != worker,
}


def test_a_worker_has_each_whence_the_table_says(
    served: Zygote, context: ZygoteContext, tmp_path: Path
) -> None:
    rows = table()
    unchanged = of_worker(context, list(rows))
    with changed(tmp_path):
        worker = of_worker(context, list(rows))
        caller = {name: read() for name, read in READ.items()}
    caller["parent"] = os.getpid()
    for name, whence in rows.items():
        if whence in EXPECTED:
            assert EXPECTED[whence](caller[name], worker[name]), (name, caller[name], worker[name])
        elif whence == "none":
            assert worker[name] in ([], 0), (name, worker[name])
        else:
            # Of its server: the same for each of its workers, whatever the caller has become.
            assert worker[name] == unchanged[name], name
    for name in (
        "environment",
        "working directory",
        "umask",
        "signals held back",
        "signals ignored",
        "locale",
    ):
        assert worker[name] != unchanged[name], f"{name} was not changed by this test"


def test_two_workers_draw_different_numbers(context: ZygoteContext) -> None:
    drawn = [of_worker(context, ["random numbers"])["random numbers"] for _ in range(3)]
    assert len(set(drawn)) == 3


def test_the_method_can_be_made_the_default_of_multiprocessing(served: Zygote) -> None:
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("zygote", force=True)
    try:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=tell, args=(theirs, ["imported modules", "parent"]))
        process.start()
        assert ours.poll(LIMIT)
        assert ours.recv() == {"imported modules": True, "parent": os.getpid()}
        process.join(LIMIT)
    finally:
        multiprocessing.set_start_method(before, force=True)


def test_processes_of_other_methods_know_the_default_too(served: Zygote) -> None:
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("zygote", force=True)
    try:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        spawned = multiprocessing.get_context("spawn").Process(
            target=targets.start_by_default, args=(theirs,)
        )
        spawned.start()
        assert ours.poll(LIMIT)
        assert ours.recv() == ("zygote", True)
        spawned.join(LIMIT)
        assert spawned.exitcode == 0
    finally:
        multiprocessing.set_start_method(before, force=True)
