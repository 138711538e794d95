"""What every test run shares: a promise of the project must not be waved through."""

from __future__ import annotations

import os
import re
import signal
import tomllib
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import settings
from packaging.requirements import Requirement

MARKER = "must_hold"
OPTION = "--must-hold-strict"

INSTALLED = "COLDFORK_RUNTIMES"
"""The variable by which `./dev` says that it has installed the dependency group below."""
GROUP = "runtimes"
EXAMPLES = "COLDFORK_TEST_EXAMPLES"
"""How many examples each property is tried on, drawn anew; the same few each time, unless told."""
_NOT_THERE = re.compile(r"could not import '([\w-]+)")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the switch that continuous integration uses."""
    parser.addoption(
        OPTION,
        action="store_true",
        help=f"fail a test marked {MARKER} that is skipped or expected to fail",
    )


def pytest_configure() -> None:
    """Hear signals again, and settle what generated tests draw."""
    _hear_signals()
    if many := os.environ.get(EXAMPLES):
        settings.register_profile("many", max_examples=int(many), deadline=None)
        settings.load_profile("many")
    else:
        settings.register_profile("same", derandomize=True, deadline=None)
        settings.load_profile("same")


def _hear_signals() -> None:
    """Heed those that a shell or `nohup` lets what it starts in the background ignore."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (getattr(signal, "SIGQUIT", signal.SIGINT), signal.SIG_DFL),
        (getattr(signal, "SIGHUP", signal.SIGINT), signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


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
