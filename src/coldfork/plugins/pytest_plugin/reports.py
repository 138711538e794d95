"""Puts what was found into pytest's own reports, so that every reader of them learns of it."""

from __future__ import annotations

from typing import Any

import pytest

from coldfork.plugins.pytest_plugin.messages import Message

NOT_A_FILE = "coldfork"
"""What pytest shows as being collected where it is no file that woke a device."""


class Account:
    """A failure as pytest shows it: the text, and its first sentence for the short summary."""

    def __init__(self, message: Message) -> None:
        self._text = str(message)
        self.reprcrash = _Crash(message.headline)

    def toterminal(self, tw: Any) -> None:
        """Write it to pytest's terminal."""
        for line in self._text.splitlines():
            tw.line(line, red=not line.startswith(" "))

    def __str__(self) -> str:
        return self._text


class _Crash:
    def __init__(self, message: str) -> None:
        self.message = message


def collect_report(nodeid: str, message: Message) -> pytest.CollectReport:
    """An error of the collection; the tests that were collected stay."""
    return pytest.CollectReport(nodeid, "failed", Account(message), [])  # type: ignore[arg-type]


def forget_no_test(config: pytest.Config) -> None:
    """Keep what is no test out of those that --lf would run again: nothing would ever clear it."""
    failed = getattr(config.pluginmanager.getplugin("lfplugin"), "lastfailed", None)
    if isinstance(failed, dict):
        # Texts in most versions of pytest, objects that know theirs in the newest.
        for nodeid in [one for one in failed if str(one) == NOT_A_FILE or str(one).endswith("conftest.py")]:
            del failed[nodeid]


def fail(report: pytest.TestReport, item: pytest.Item, message: Message) -> None:
    """Make the report of a test that of a failure; one that failed already says this too."""
    if report.failed:
        report.sections.append(("coldfork", str(message)))
        return
    report.outcome = "failed"
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    try:
        pytest.fail(str(message), pytrace=False)
    except pytest.fail.Exception as failure:
        # As pytest would show it, which is what pytest-xdist can hand to its controller.
        report.longrepr = item.repr_failure(pytest.ExceptionInfo.from_exception(failure))
