"""What every test run shares: a promise of the project must not be waved through."""

from __future__ import annotations

from collections.abc import Generator

import pytest

MARKER = "must_hold"
OPTION = "--must-hold-strict"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the switch that continuous integration uses."""
    parser.addoption(
        OPTION,
        action="store_true",
        help=f"fail a test marked {MARKER} that is skipped or expected to fail",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a promise into a failure; an expected failure counts as a skip here."""
    report = yield
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
    strict = report.skipped and collector.config.getoption(OPTION) and isinstance(collector, pytest.Module)
    if strict and MARKER in collector.path.read_text(encoding="utf-8"):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} holds tests that must hold and was skipped as a whole"
    return report
