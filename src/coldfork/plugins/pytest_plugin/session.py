"""A test run with `--coldfork`: judges what woke and what forked, and fails the tests that did it."""

from __future__ import annotations

from collections.abc import Collection, Generator
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.launch.probe.comparison import device_before
from coldfork.model.errors import ColdforkError
from coldfork.plugins.pytest_plugin import virtual_device as surroundings
from coldfork.plugins.pytest_plugin.messages import Message, Words
from coldfork.plugins.pytest_plugin.sightings import SeenFork, SeenWake
from coldfork.plugins.pytest_plugin.summary import Summary
from coldfork.plugins.pytest_plugin.watch import Exact, Since, Watching

NAME = "coldfork-session"


def begin(
    config: pytest.Config, virtual: str | None, marker: str | None, *, exact: bool, strict: bool
) -> None:
    """Install the virtual device; begin to watch if there is a marker for tests that may wake one."""
    if virtual is not None:
        try:
            surroundings.install(virtual)
        except ColdforkError as error:
            raise pytest.UsageError(f"--coldfork-virtual {virtual}: {error}") from None
        config.add_cleanup(surroundings.offer_to_children(virtual))
    if marker is not None:
        run = Session(config, device_before(virtual), marker, exact=exact, strict=strict)
        config.pluginmanager.register(run, NAME)
        config.add_cleanup(run.watching.stop)
        if exact:
            config.pluginmanager.register(Exact(run.watching), f"{NAME}-exact")


class Session:
    """The hooks that check each step of the run for wakes and forks."""

    def __init__(self, config: pytest.Config, device: str, marker: str, *, exact: bool, strict: bool) -> None:
        options = config.known_args_namespace
        # Under pytest-forked, tests run in forked children, which have to be watched.
        follow = bool(getattr(options, "forked", False))
        self.watching: Watching = Watching(exact=exact, follow=follow, strict=strict)
        self._config = config
        self._marker = marker
        self._words = Words(config.invocation_params.dir, device, _is_test)
        self._summary = Summary(device, forked=follow)
        self._woken: dict[str, str] = {}
        self._blamed: dict[tuple[str, str], list[Message]] = {}
        """The messages with which each phase of a test failed; if it is run again, the device is already
        awake.
        """
        self._later_threads: frozenset[str] = frozenset()
        self._at_start: list[tuple[str, Message]] = []
        self._reported: set[str] = set()
        for accelerator in self.watching.awake_before:
            self._note_awake_before(accelerator)

    def pytest_report_header(self) -> str:
        """Return a line for the report's header: the run is watched."""
        return f"coldfork: watching, device: {self._summary.device}"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, object, object]:
        """Report wakes and forks in plugins and in the first conftest files, before the collection."""
        since = self.watching.since()
        file = self._words.first_conftest(since.wakes)
        messages = self._of_loading(f"loading {file}" if file else "starting the test run", since)
        self._at_start += [(file or NOT_A_FILE, message) for message in messages]
        if not self._distributes():
            self._report_start()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Report wakes and forks while a file is collected as an error of that collection."""
        report = yield
        what = f"collecting {collector.nodeid or collector.config.rootpath.name}"
        for message in self._of_loading(what, self.watching.since()):
            collector.ihook.pytest_collectreport(report=collect_report(collector.nodeid or ".", message))
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin a test; first handle earlier wakes and forks, for which this test is not to blame."""
        self._of_nobody("between two tests", self.watching.since())
        self._later_threads = self.watching.later_threads()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail a test that woke a device without permission, or forked while one was awake."""
        since = self.watching.since()
        report = yield
        for message in self._of_test(item, call.when, since):
            fail(report, item, message)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """If workers run the tests, report the wakes and forks of this process before the workers started."""
        result = yield
        if self._distributes():
            self._report_start()
        return result

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember failed collections, because the workers report them, too."""
        if report.failed:
            self._reported.add(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run because of events that no single test caused, and send all results to the
        controller.
        """
        self._of_nobody("after the last test", self.watching.since())
        self._summary.end(self.watching)
        forget_no_test(self._config)
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["coldfork"] = self._summary.as_output()
        passed = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self._summary.unowned and session.exitstatus in passed:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Add the results of a worker of pytest-xdist."""
        name = str(node.gateway.id)
        self._summary.take(name, getattr(node, "workeroutput", {}).get("coldfork"))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary."""
        lines = self._summary.lines()
        if terminalreporter.verbosity < 0 and self._summary.is_cold:
            return
        terminalreporter.section("coldfork")
        for line in lines:
            terminalreporter.write_line(line)

    def _of_loading(self, what: str, since: Since) -> list[Message]:
        """Return the messages about wakes and forks during the loading of files, in order."""
        messages = []
        for wake in map(self._with_line, since.wakes):
            messages.append(self._words.wake(wake, f"{what} woke {wake.accelerator}", in_test=False))
            self._remember(wake, what, marked=False)
        messages += [self._forked(fork, what, None) for fork in since.forks]
        return messages

    def _of_test(self, item: pytest.Item, when: str, since: Since) -> list[Message]:
        """Return the messages that make a test fail; events of other threads make the run fail instead."""
        marker = item.get_closest_marker(self._marker)
        own = Since(
            tuple(wake for wake in since.wakes if self._is_own(wake.waker.thread)),
            tuple(fork for fork in since.forks if self._is_own(fork.thread)),
        )
        phase = "" if when == "call" else f" in its {when}"
        messages = list(self._blamed.get((item.nodeid, when), ()))
        for wake in map(self._with_line, own.wakes):
            self._remember(wake, item.nodeid, marked=marker is not None)
            if marker is None:
                headline = f"this test woke {wake.accelerator}{phase}"
                messages.append(self._words.wake(wake, headline, in_test=True, test=item.reportinfo()))
        self._blamed[item.nodeid, when] = list(messages)
        # Only after the wakes: a message about a fork names the waker, which may be this test.
        if marker is None or not marker.kwargs.get("forks"):
            messages += [self._forked(fork, "this test", item.nodeid) for fork in own.forks[:1]]
        self._of_nobody(
            f"while {item.nodeid} ran",
            Since(_without(since.wakes, own.wakes), _without(since.forks, own.forks)),
        )
        return messages

    def _of_nobody(self, when: str, since: Since) -> None:
        """Record wakes and forks that no single test caused, for the end of the run."""
        for wake in map(self._with_line, since.wakes):
            headline = f"{wake.accelerator} was woken {when}"
            self._remember(wake, when, marked=False)
            self._summary.unowned.append(str(self._words.wake(wake, headline, in_test=False)))
        self._summary.unowned += [
            str(self._forked(fork, f"a process, {when},", None)) for fork in since.forks
        ]

    def _forked(self, fork: SeenFork, who: str, nodeid: str | None) -> Message:
        devices = " and ".join(fork.awake)
        verb = "were" if len(fork.awake) > 1 else "was"
        headline = f"{who} forked while {devices} {verb} awake"
        if fork.touched is not None:
            headline += f", and the child touched {fork.touched}"
        woken = [self._woken.get(name, f"the line that woke {name} was not seen") for name in fork.awake]
        return self._words.fork(fork, headline, woken, nodeid)

    def _is_own(self, thread: str) -> bool:
        """Return whether the running test caused a wake or fork; not so if an older thread did."""
        if thread == "MainThread" or not self._later_threads:
            return True
        return not thread.startswith("unknown: ") and thread not in self._later_threads

    def _with_line(self, wake: SeenWake) -> SeenWake:
        from coldfork.plugins.pytest_plugin.cold_import import SECONDS, probe_setup, with_line

        return with_line(wake, lambda: probe_setup(self._config, None, SECONDS))

    def _remember(self, wake: SeenWake, who: str, *, marked: bool) -> None:
        place = self._words.in_short(wake)
        self._woken.setdefault(wake.accelerator, f"{wake.accelerator} was woken by {who} ({place})")
        self._summary.woken(wake.accelerator, who, place, marked=marked)

    def _note_awake_before(self, accelerator: str) -> None:
        sentence = f"{accelerator} was awake before the watch began"
        reason = (
            "woken by the site module, by a plugin given with -p or PYTEST_PLUGINS, or by one that "
            "pytest loaded earlier"
        )
        self._woken[accelerator] = sentence
        command = "next: find it with coldfork run -m pytest"
        self._at_start.append((NOT_A_FILE, Message(sentence, (f"   = {reason}", f"   = {command}"))))
        self._summary.woken(accelerator, "", "", marked=False)

    def _report_start(self) -> None:
        for nodeid, message in self._at_start:
            if str(message) not in self._reported:
                self._config.hook.pytest_collectreport(report=collect_report(nodeid, message))
        self._at_start.clear()

    def _distributes(self) -> bool:
        """Return whether the tests run in workers of pytest-xdist."""
        return bool(self._config.pluginmanager.hasplugin("dsession"))


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py")


def _without(all_of_them: tuple[Any, ...], some: Collection[Any]) -> tuple[Any, ...]:
    return tuple(one for one in all_of_them if one not in some)


NOT_A_FILE = "coldfork"
"""The name that pytest shows as being collected if no file woke a device."""


class Account:
    """A failure in pytest's form: the text, and its first sentence for the short summary."""

    def __init__(self, message: Message) -> None:
        self._text = str(message)
        self.reprcrash: SimpleNamespace = SimpleNamespace(message=message.headline)

    def toterminal(self, tw: Any) -> None:
        """Write the failure to pytest's terminal."""
        for line in self._text.splitlines():
            tw.line(line, red=not line.startswith(" "))

    def __str__(self) -> str:
        return self._text


def collect_report(nodeid: str, message: Message) -> pytest.CollectReport:
    """Report an error of the collection, and keep the collected tests."""
    return pytest.CollectReport(nodeid, "failed", Account(message), [])  # type: ignore[arg-type]


def forget_no_test(config: pytest.Config) -> None:
    """Remove entries that are not tests from those that `--lf` runs again, or they would stay for ever."""
    failed = getattr(config.pluginmanager.getplugin("lfplugin"), "lastfailed", None)
    if isinstance(failed, dict):
        # In most versions of pytest ids are strings; in the newest they are objects that contain a text.
        for nodeid in [one for one in failed if str(one) == NOT_A_FILE or str(one).endswith("conftest.py")]:
            del failed[nodeid]


def fail(report: pytest.TestReport, item: pytest.Item, message: Message) -> None:
    """Turn a test's report into a failure; if the test has already failed, add this message."""
    if report.failed:
        report.sections.append(("coldfork", str(message)))
        return
    report.outcome = "failed"
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    try:
        pytest.fail(str(message), pytrace=False)
    except pytest.fail.Exception as failure:
        # The report gets pytest's own form, which pytest-xdist can send to its controller.
        report.longrepr = item.repr_failure(pytest.ExceptionInfo.from_exception(failure))
