"""Whoever waits for a script has a clock of his own: a supervisor that stands still holds nobody up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("scripts are isolated on Linux", allow_module_level=True)

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.script.async_call import arun_script
from coldfork.launch.script.call import ScriptResult, run_script
from coldfork.launch.script.own_clock import OwnClock
from coldfork.launch.script.result import Outcome
from coldfork.model.errors import ColdforkError
from tests.launch.scripting import SECONDS, Bench, alive, until, variables

pytestmark = pytest.mark.once
#: It starts a process that nobody finds by its environment, leaves their numbers, and does not want to end.
SCRIPT = """
    import os, signal, subprocess, sys, time
    from pathlib import Path
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("began", flush=True)
    below = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
    place = Path(sys.argv[1])
    (place / "pids.new").write_text(f"{os.getppid()} {os.getpid()} {below.pid}")
    (place / "pids.new").rename(place / "pids")
    time.sleep(600)
"""
ROUSED = "stood still, as after SIGSTOP; it was continued"
KILLED = "stood still, as after SIGSTOP, and could not be continued; it was killed with all it had started"
TIMEOUT = 3


class Stopper(threading.Thread):
    """Stops the supervisor as soon as its script has begun: once, or again as often as it goes on."""

    def __init__(self, place: Path, *, again: bool) -> None:
        super().__init__(daemon=True)
        self._place = place
        self._again = again
        self.stopped_at = 0.0
        self.start()

    def pids(self) -> list[int]:
        """The supervisor, the script and what that has started."""
        return list(map(int, (self._place / "pids").read_text().split()))

    def run(self) -> None:
        """Wait for the script, and stop its supervisor."""
        until((self._place / "pids").exists)
        supervisor = self.pids()[0]
        os.kill(supervisor, signal.SIGSTOP)
        self.stopped_at = time.monotonic()
        while self._again and alive(supervisor):
            try:
                os.kill(supervisor, signal.SIGSTOP)
            except ProcessLookupError:
                return
            time.sleep(0.001)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write(SCRIPT)
    return made


def in_sync(bench: Bench, *words: str, **how: Any) -> ScriptResult:
    return run_script(bench.folder / "script.py", [bench.folder, *words], log_dir=bench.runs, **how)


def in_async(bench: Bench, *words: str, **how: Any) -> ScriptResult:
    async def run() -> ScriptResult:
        return await arun_script(
            bench.folder / "script.py", [bench.folder, *words], log_dir=bench.runs, **how
        )

    return asyncio.run(run())


WAYS = pytest.mark.parametrize("way", [in_sync, in_async])


def none_is_left(stopper: Stopper) -> None:
    until(lambda: not any(map(alive, stopper.pids())), "the end of all of them")


@WAYS
def test_a_supervisor_that_was_stopped_goes_on_when_the_time_is_over(
    bench: Bench, way: Callable[..., ScriptResult]
) -> None:
    stopper = Stopper(bench.folder, again=False)
    result = way(bench, timeout=TIMEOUT)
    assert (result.outcome, result.signal, result.stdout) == (Outcome.TIMED_OUT, "SIGTERM", "began\n")
    assert result.notes == (
        f"when the time was up, the script's supervisor (pid {stopper.pids()[0]}) {ROUSED}",
    )
    assert result.report["state"] == "ended"
    none_is_left(stopper)


@WAYS
@pytest.mark.parametrize("words", [(), ("stubborn",)], ids=["", "stubborn"])
def test_what_is_stopped_again_and_again_is_killed_with_everything(
    bench: Bench, way: Callable[..., ScriptResult], words: tuple[str, ...]
) -> None:
    for _ in range(10):
        (bench.folder / "pids").unlink(missing_ok=True)
        stopper = Stopper(bench.folder, again=True)
        began = time.monotonic()
        result = way(bench, *words, timeout=TIMEOUT)
        none_is_left(stopper)
        assert result.outcome is Outcome.TIMED_OUT
        assert time.monotonic() - began < SECONDS
        if result.report["state"] == "abandoned":
            break
        # It had the script ended in the moment in which it went on.
    assert (result.status, result.signal, result.stdout) == (None, None, "began\n")
    assert result.seconds >= TIMEOUT
    assert result.notes == (
        f"when the time was up, the script's supervisor (pid {stopper.pids()[0]}) {KILLED}",
    )
    assert result.report["outcome"] == "timed-out"


def test_it_is_the_callers_clock_that_ends_it(bench: Bench) -> None:
    """Nothing is said before the time is over, and little later it is the end."""
    stopper = Stopper(bench.folder, again=False)
    began = time.monotonic()
    in_sync(bench, timeout=TIMEOUT)
    assert TIMEOUT < time.monotonic() - began < TIMEOUT + 10
    assert stopper.stopped_at > began


@pytest.mark.parametrize("again", [False, True])
def test_exec_keeps_a_clock_of_its_own(bench: Bench, *, again: bool) -> None:
    stopper = Stopper(bench.folder, again=again)
    words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", "--timeout", str(TIMEOUT)]
    done = subprocess.run(
        [*words, "--", "script.py", str(bench.folder)],
        cwd=bench.folder,
        env=variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    none_is_left(stopper)
    report = bench.only_run() / "report.json"
    first, second = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (124, "began\n")
    assert first == f"coldfork: the script took longer than {TIMEOUT} s and was ended; see {report}"
    abandoned = json.loads(report.read_text())["state"] == "abandoned"
    assert abandoned is False or again
    said = KILLED if abandoned else ROUSED
    assert (
        second == f"coldfork: when the time was up, the script's supervisor (pid {stopper.pids()[0]}) {said}"
    )


@pytest.mark.parametrize("again", [False, True])
def test_a_task_that_is_cancelled_does_not_wait_for_who_stands_still(bench: Bench, *, again: bool) -> None:
    stopper = Stopper(bench.folder, again=again)

    async def run() -> None:
        task = asyncio.ensure_future(
            arun_script(bench.folder / "script.py", [bench.folder], log_dir=bench.runs)
        )
        while not stopper.stopped_at:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    none_is_left(stopper)
    assert json.loads((bench.only_run() / "report.json").read_text())["outcome"] == "cancelled"


def test_a_callback_that_fails_does_not_wait_for_who_stands_still(bench: Bench) -> None:
    stopper = Stopper(bench.folder, again=False)

    def fail(_: object) -> None:
        until(lambda: stopper.stopped_at)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_sync(bench, on_line=fail)
    none_is_left(stopper)


def test_a_script_that_has_ended_in_time_has_its_own_result(bench: Bench) -> None:
    """The supervisor is stopped before it can say so."""
    bench.write(
        """
        import os, signal
        print("done")
        os.kill(os.getppid(), signal.SIGSTOP)
        """
    )
    result = in_sync(bench, timeout=TIMEOUT)
    assert (result.outcome, result.status, result.stdout) == (Outcome.SUCCEEDED, 0, "done\n")
    assert result.notes[0].endswith(ROUSED)


def test_a_supervisor_that_never_began(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who traces it may stop it again and again; here it stops itself twice."""
    python, stopping = sys.executable, bench.folder / "python"
    stopping.write_text("#!/bin/sh\nkill -STOP $$\nkill -STOP $$\nexec sleep 600\n")
    stopping.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stopping))
    with pytest.raises(ColdforkError, match=r"when the time was up, the script's supervisor .* was killed"):
        in_sync(bench, timeout=1, python=python)


def test_who_only_is_slow_is_left_alone() -> None:
    """It is looked at again and again, and nothing is done to it as long as it does not stand still."""
    slow = subprocess.Popen(["sleep", "600"])
    try:
        clock = OwnClock(slow.pid, 0.01, SECONDS)
        for _ in range(3):
            left = clock.left()
            assert left is not None
            time.sleep(left)
            clock.look()
        assert (clock.note, clock.outcome, slow.poll()) == (None, None, None)
    finally:
        slow.kill()
        slow.wait()


def test_without_a_time_limit_there_is_nothing_to_look_at() -> None:
    clock = OwnClock(os.getpid(), None, 5.0)
    assert clock.left() is None
    clock.look()
    clock.asked("cancelled")
    assert clock.left() is not None


def test_the_states_of_a_process() -> None:
    process = subprocess.Popen(["sleep", "600"])
    try:
        assert (kernel.runs(process.pid), kernel.stands_still(process.pid)) == (True, False)
        process.send_signal(signal.SIGSTOP)
        until(lambda: kernel.stands_still(process.pid))
        assert kernel.runs(process.pid)
        process.kill()
        until(lambda: not kernel.runs(process.pid))
        assert not kernel.stands_still(process.pid)
    finally:
        process.kill()
        process.wait()
    assert not kernel.runs(process.pid)
