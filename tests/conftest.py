"""Rules of every test run: no promise of the project is waved through, and no test hangs for ever."""

from __future__ import annotations

import faulthandler
import gc
import os
import re
import signal
import threading
import tomllib
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none
from packaging.requirements import Requirement

from tests.amounts import LONG, examples

MARKER = "must_hold"
OPTION = "--must-hold-strict"

INSTALLED = "COLDFORK_RUNTIMES"
"""The variable by which `./dev` says that it has installed the dependency group below."""
GROUP = "runtimes"
PATIENCE = "COLDFORK_TEST_PATIENCE"
"""After how many seconds a test hangs, its fixtures included; the slowest takes a tenth of the usual 300."""
AGAIN = 30
"""Seconds that what still hangs afterwards is given, such as the end of a fixture, before it is ended too."""
_NOT_THERE = re.compile(r"could not import '([\w-]+)")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the switch that continuous integration uses."""
    parser.addoption(
        OPTION,
        action="store_true",
        help=f"fail a test marked {MARKER} that is skipped or expected to fail",
    )


def pytest_configure() -> None:
    """Hear signals again, watch for tests that hang, and settle what generated tests draw."""
    _hear_signals()
    _heed_the_alarm()
    settings.register_profile("usual", max_examples=examples(100), derandomize=not LONG, deadline=None)
    settings.load_profile("usual")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all workers: the virtual driver is compiled and what is installed is read once."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def compiled_code(cache: Path) -> Path:
    """Where torch's compiler keeps what it makes in this run, and what it found out about the processor."""
    return cache / "inductor"


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was collected, in this process and in all that it forks.

    The modules and the tests of the whole suite are a million objects, and what looks at every object, as the
    check for leaks of graphs does in each of its copies, is to see those of its test.
    """
    # Hypothesis asks the collector who holds its random numbers, when a test first draws some.
    settings(database=None, max_examples=1)(given(none())(lambda _: None))()
    gc.collect()
    gc.freeze()


def _hear_signals() -> None:
    """Heed those that a shell or `nohup` lets what it starts in the background ignore."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (getattr(signal, "SIGQUIT", signal.SIGINT), signal.SIG_DFL),
        (getattr(signal, "SIGHUP", signal.SIGINT), signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def _heed_the_alarm() -> None:
    """Fail what the main thread runs when the alarm rings, and show where every thread then stands.

    It needs no thread that watches, beside which tests could not fork. A main thread that is stuck in native
    code only shows where it stands: `.ci/run` ends such a run after a while.
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, _hangs)
        # A copy, because pytest captures what is written to the original while a test runs.
        faulthandler.register(signal.SIGALRM, file=os.dup(2), chain=True)


def _hangs(_number: int, _frame: FrameType | None) -> NoReturn:
    pytest.fail("it hangs; the error output of the run shows where every thread stood")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Set the alarm for a test with all its fixtures."""
    if signal.getsignal(signal.SIGALRM) is not _hangs:
        return (yield)
    signal.setitimer(signal.ITIMER_REAL, float(os.environ.get(PATIENCE, "300")), AGAIN)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a promise into a failure; an expected failure counts as a skip here."""
    report = yield
    if report.skipped and (missing := _missing_runtime(report, item.config)):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs {missing}, which ./dev should have installed"
        return report
    if report.skipped and item.config.getoption(OPTION) and item.get_closest_marker(MARKER):
        was = getattr(report, "wasxfail", None)
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else f"expected to fail: {was}"
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} must hold and was not run to its end: {reason}"
        if was is not None:
            del report.wasxfail
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for a module that is skipped as a whole and names the marker."""
    report = yield
    if report.skipped and (missing := _missing_runtime(report, collector.config)):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} needs {missing}, which ./dev should have installed"
        return report
    strict = report.skipped and collector.config.getoption(OPTION) and isinstance(collector, pytest.Module)
    if strict and MARKER in collector.path.read_text(encoding="utf-8"):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} holds tests that must hold and was skipped as a whole"
    return report


def _missing_runtime(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> str | None:
    """The runtime for want of which a test was skipped, if it is one that this Python was given."""
    if not os.environ.get(INSTALLED) or not isinstance(report.longrepr, tuple):
        return None
    named = _NOT_THERE.search(report.longrepr[2])
    return named[1] if named is not None and named[1] in _runtimes(config) else None


def _runtimes(config: pytest.Config) -> set[str]:
    """The packages that the dependency group names for this Python; each is imported by its own name."""
    project = config.rootpath / "pyproject.toml"
    if not project.exists():
        return set()
    with project.open("rb") as file:
        groups = tomllib.load(file)["dependency-groups"]
    listed = map(Requirement, _listed(groups, GROUP))
    return {wanted.name for wanted in listed if wanted.marker is None or wanted.marker.evaluate()}


def _listed(groups: Mapping[str, list[Any]], name: str) -> Iterator[str]:
    """The requirements of a group and of the groups that it includes."""
    for entry in groups[name]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from _listed(groups, entry["include-group"])
