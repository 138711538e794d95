"""Runs tests on request, each time in a fork of itself, so that what is heavy to import is there already.

Started as a program by the python of a copy of the repository. A line of JSON comes in for every run and says
which tests; lines of JSON go out, one when a test starts and one when it ends. Needs pytest and the standard
library.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import mmap
import os
import re
import signal
import sys
import time
from collections.abc import Generator
from typing import IO, Any

import pytest

#: What tests import that is not ours: it need not be imported for each run.
HEAVY = (
    "click",
    "hypothesis",
    "inline_snapshot",
    "jsonschema",
    "msgspec",
    "packaging",
    "pathspec",
    "rich.console",
)
#: Asserts stay plain, because pytest would load our own modules its own way, too, to rewrite them.
QUIET = (
    "-q",
    "--assert=plain",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--hypothesis-seed=0",
)


class Listener:
    """A plugin of pytest that picks the tests of a run and writes down how they went."""

    def __init__(self, out: IO[str], wanted: dict[str, int] | None, hits: mmap.mmap | None) -> None:
        self._out = out
        self._wanted = wanted
        self._hits = hits
        self._outcome = "passed"

    def _say(self, **message: object) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected has failed."""
        if report.failed:
            self._say(end=f"collecting {report.nodeid}", outcome="failed", seconds=0.0, hits=[])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are wanted, in their order."""
        wanted = self._wanted
        if wanted is not None:
            items[:] = sorted(
                (item for item in items if item.nodeid in wanted), key=lambda item: wanted[item.nodeid]
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Time a test, and see which lines it runs."""
        if self._hits is not None:
            self._hits[:] = bytes(len(self._hits))
        self._outcome = "passed"
        self._say(start=item.nodeid)
        began = time.perf_counter()
        answer = yield
        seconds = time.perf_counter() - began
        ran = [] if self._hits is None else [found.start() for found in re.finditer(b"\x01", self._hits)]
        self._say(end=item.nodeid, outcome=self._outcome, seconds=round(seconds, 4), hits=ran)
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear how a test went."""
        if report.failed or (report.skipped and self._outcome == "passed"):
            self._outcome = report.outcome


def run(request: dict[str, Any], out: IO[str]) -> None:
    """Run tests in this process, which does nothing else afterwards."""
    sys.path.insert(0, request["root"])
    os.chdir(request["root"])
    hits = None
    if request.get("hits"):
        os.environ["COLDFORK_MUTANTS_HITS"] = request["hits"]
        with open(request["hits"], "r+b") as file:  # noqa: PTH123
            hits = mmap.mmap(file.fileno(), 0)
    if request.get("frozen"):
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
    ids = request.get("ids")
    wanted = None if ids is None else {one: index for index, one in enumerate(ids)}
    stop = ["-x"] if request.get("stop") else []
    listener = Listener(out, wanted, hits)
    warnings = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    pytest.main(
        [*QUIET, *stop, *warnings, f"--basetemp={request['temporary']}", *request["files"]], [listener]
    )


def fork(request: dict[str, Any]) -> None:
    """Run tests in a fork, in a session of its own, and pass on what it says, as long as it is in time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        with contextlib.suppress(BaseException), os.fdopen(writing, "w", encoding="utf-8") as out:
            run(request, out)
        os._exit(0)
    os.close(writing)
    print(json.dumps({"child": child}), flush=True)
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            sys.stdout.write(line)
            sys.stdout.flush()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(json.dumps({"over": True}), flush=True)


def main() -> None:
    """Wait for requests until there are no more."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        fork(json.loads(line))


if __name__ == "__main__":
    main()
