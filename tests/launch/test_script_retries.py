"""Scripts that are run again because somebody asked for it: which ends count, and where that shows."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from coldfork import ScriptError, ScriptResult, arun_script, run_script
from coldfork.launch.script.result import Outcome
from coldfork.launch.supervisor import report_file
from coldfork.model.errors import UsageError
from tests.launch.scripting import SECONDS, Bench, alive, until, variables
from tests.launch.terminals import PROMPT, Screen

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

#: Notes each attempt in a file, and knows by it which one it is.
COUNTING = """\
import os, signal, sys, time
from pathlib import Path
notes = Path(__file__).with_name("attempts")
with notes.open("a") as stream:
    stream.write(f"{os.getpid()}\\n")
number = len(notes.read_text().splitlines())
print("attempt", number, flush=True)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def attempts(bench: Bench) -> int:
    """How often it was run."""
    return len((bench.folder / "attempts").read_text().splitlines())


def reports(bench: Bench) -> list[dict[str, Any]]:
    """Return the reports of all attempts in order."""
    read = [report_file.read(os.fspath(run)) for run in bench.runs.iterdir()]
    found = [report.told() for report in read if report is not None]
    return sorted(found, key=lambda report: len(report["attempts"]))


def test_nothing_is_run_again_unless_asked_for(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    result = bench.run(COUNTING + "sys.exit(1)")
    assert attempts(bench) == len(result.attempts) == 1
    assert result.report["retries"] == 0
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("end", "how", "outcome", "said"),
    [
        ("sys.exit(3)", {}, Outcome.FAILED, "ended with status 3"),
        ("raise ValueError", {}, Outcome.FAILED, "ended with status 1"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", {}, Outcome.KILLED, "was killed by SIGSEGV"),
        (
            "time.sleep(600)",
            {"timeout": 0.5},
            Outcome.TIMED_OUT,
            "exceeded its timeout, and was ended",
        ),
        ("while True: pass", {"max_cpu": 0.2}, Outcome.OVER_CPU, "was ended after"),
        (
            "kept = bytearray(10**9); kept[::4096] = b'1' * len(kept[::4096]); time.sleep(600)",
            {"max_memory": "200 MiB"},
            Outcome.OVER_MEMORY,
            "was killed at",
        ),
    ],
)
def test_a_script_that_ends_badly_is_run_again(
    bench: Bench, caplog: pytest.LogCaptureFixture, end: str, how: dict[str, Any], outcome: Outcome, said: str
) -> None:
    result = bench.run(f"{COUNTING}if number < 3:\n    {end}\n", retries=4, **how)
    assert result.ok
    assert attempts(bench) == 3
    assert [attempt.outcome for attempt in result.attempts] == [outcome, outcome, Outcome.SUCCEEDED]
    assert result.stdout == "attempt 3\n"
    assert result.explained() == "the script succeeded, in attempt 3"
    for number, message in enumerate(caplog.messages, 1):
        assert message.startswith(f"attempt {number} of 5 {said}")
        assert message.endswith(" s; running it again")
    assert len(caplog.messages) == 2


def test_each_attempt_is_listed_in_the_reports_of_those_after_it(bench: Bench) -> None:
    result = bench.run(COUNTING + "sys.exit(number)", retries=2)
    assert (result.status, attempts(bench)) == (3, 3)
    first, second, third = reports(bench)
    for earlier, later in pairwise((first, second, third)):
        assert later["attempts"][:-1] == earlier["attempts"]
    assert result.report == third
    assert third["retries"] == 2
    assert [attempt["id"] for attempt in third["attempts"]] == [one["id"] for one in (first, second, third)]
    for report in (first, second, third):
        own = {name: report[name] for name in ("id", "outcome", "status", "signal", "seconds")}
        assert report["attempts"][-1] == own
    assert [(attempt.id, attempt.status) for attempt in result.attempts] == [
        (report["id"], report["status"]) for report in (first, second, third)
    ]
    assert (result.run_dir.parent / result.attempts[0].id / "stdout").read_text() == "attempt 1\n"


def test_the_error_says_which_attempt_it_was(bench: Bench) -> None:
    with pytest.raises(ScriptError, match="the script ended with status 2, in attempt 2; its output"):
        bench.run(COUNTING + "sys.exit(number)", retries=1, check=True)


def test_attempts_without_a_report_leave_nothing(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    result = bench.run(COUNTING + "sys.exit(number)", retries=2, report=False, log_dir=None)
    assert [attempt.status for attempt in result.attempts] == [1, 2, 3]
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("kind", ["bytes", "file", "descriptor"])
def test_every_attempt_reads_the_same(bench: Bench, kind: str) -> None:
    content = bench.folder / "content"
    content.write_text("left out\nread\n")
    with content.open("rb", buffering=0) as stream:
        stream.seek(len("left out\n"))
        given = {"bytes": b"read\n", "file": stream, "descriptor": stream.fileno()}[kind]
        text = COUNTING + "print(sys.stdin.read())\nsys.exit(number < 3)"
        heard: list[str] = []
        result = bench.run(text, retries=2, stdin=given, on_line=lambda line: heard.append(line.text))
    assert result.ok
    assert heard == ["attempt 1", "read", "", "attempt 2", "read", "", "attempt 3", "read", ""]


def test_what_can_be_read_only_once_is_refused(bench: Bench) -> None:
    reading, writing = os.pipe()
    try:
        with pytest.raises(UsageError, match="can be read only once, and retries may need it again"):
            bench.run("pass", retries=1, stdin=reading)
        assert bench.run("pass", stdin=os.open(os.devnull, os.O_RDONLY), retries=1).ok
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("retries", [-1, 1.5, True, "2", None])
def test_what_is_no_number_of_retries_is_refused(bench: Bench, retries: Any) -> None:
    with pytest.raises(UsageError, match="retries has to be a whole number, 0 or more, not"):
        bench.run("pass", retries=retries)
    assert not bench.runs.exists()


def test_ctrl_c_in_the_caller_ends_the_attempts(bench: Bench) -> None:
    def interrupt(line: Any) -> None:
        if line.text == "attempt 2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run(
            COUNTING + "if number > 1: time.sleep(600)\nsys.exit(1)", retries=5, on_line=interrupt, grace=0.1
        )
    assert attempts(bench) == 2
    assert [report["outcome"] for report in reports(bench)] == ["failed", "cancelled"]


def test_a_script_that_was_lost_is_not_run_again(bench: Bench) -> None:
    """Nobody knows what it has done."""
    result = bench.run(COUNTING + "os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)", retries=3)
    assert result.outcome is Outcome.LOST
    assert attempts(bench) == 1
    assert [attempt.outcome for attempt in result.attempts] == [Outcome.LOST]


def test_all_lines_of_all_attempts_are_taken_in_their_order(bench: Bench) -> None:
    script = bench.write(COUNTING + "for line in range(20_000): print(line)\nsys.exit(number < 3)")

    async def main() -> tuple[list[str], ScriptResult]:
        run = arun_script(script, retries=2, log_dir=bench.runs, timeout=SECONDS)
        taken = [line.text async for line in run]
        return taken, await run

    taken, result = asyncio.run(main())
    one = list(map(str, range(20_000)))
    assert taken == ["attempt 1", *one, "attempt 2", *one, "attempt 3", *one]
    assert [attempt.status for attempt in result.attempts] == [1, 1, 0]


def test_lines_that_nobody_takes_meanwhile_are_kept(bench: Bench) -> None:
    script = bench.write(COUNTING + "sys.exit(number < 3)")

    async def main() -> list[str]:
        run = arun_script(script, retries=2, report=False, timeout=SECONDS)
        taken = []
        async for line in run:
            taken.append(line.text)
            if len(taken) == 1:
                await run
        return taken

    assert asyncio.run(main()) == ["attempt 1", "attempt 2", "attempt 3"]


def test_a_task_that_is_cancelled_makes_no_other_attempt(bench: Bench) -> None:
    script = bench.write(COUNTING + "if number > 1: time.sleep(600)\nsys.exit(1)")

    async def main() -> None:
        begun = asyncio.Event()
        run = arun_script(
            script,
            retries=5,
            log_dir=bench.runs,
            grace=0.1,
            on_line=lambda line: begun.set() if line.text == "attempt 2" else None,
        )
        task = asyncio.create_task(run)
        await asyncio.wait_for(begun.wait(), SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert attempts(bench) == 2
    assert [report["outcome"] for report in reports(bench)] == ["failed", "cancelled"]


def command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", *words]


def said(bench: Bench, *words: str, given: Any = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words),
        cwd=bench.folder,
        env=variables(),
        stdin=given,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_command_says_each_attempt(bench: Bench) -> None:
    bench.write(COUNTING + "print(sys.stdin.read())\nsys.exit(number)")
    content = bench.folder / "content"
    content.write_text("read")
    with content.open("rb") as stream:
        done = said(bench, "--retries", "2", "script.py", given=stream)
    assert (done.returncode, done.stdout) == (3, "".join(f"attempt {n}\nread\n" for n in (1, 2, 3)))
    first, second = done.stderr.splitlines()
    assert first.startswith("coldfork: attempt 1 of 3 ended with status 1 after ")
    assert second.startswith("coldfork: attempt 2 of 3 ended with status 2 after ")
    assert first.endswith(" s; running it again")
    assert second.endswith(" s; running it again")
    bench.require_described_reports()
    assert said(bench, "--retries", "2", "--quiet", "script.py").stderr == ""


def test_the_time_is_that_of_each_attempt(bench: Bench) -> None:
    bench.write(COUNTING + "time.sleep(600)")
    done = said(bench, "--retries", "1", "--timeout", "0.5", "script.py")
    assert done.returncode == 124
    assert attempts(bench) == 2
    first, second = done.stderr.splitlines()
    assert first.startswith("coldfork: attempt 1 of 2 exceeded its timeout, and was ended after 0.")
    assert second.startswith("coldfork: the script took longer than 0.5 s and was ended; see ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_whoever_ends_the_command_wants_no_other_attempt(bench: Bench, number: signal.Signals) -> None:
    bench.write(COUNTING + "time.sleep(600)")
    with subprocess.Popen(
        command("--retries", "3", "script.py"),
        cwd=bench.folder,
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "attempt 1\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == -number
    assert "again" not in errors
    assert attempts(bench) == 1


@pytest.mark.parametrize("caught", [False, True])
def test_ctrl_c_at_a_terminal_makes_no_other_attempt(tmp_path: Path, caught: bool) -> None:
    """Whether the script dies of it, or catches it and ends with a status that says nothing of it."""
    bench = Bench(tmp_path)
    last = "print('begun', flush=True); time.sleep(600)"
    if caught:
        last = f"try: {last}\nexcept KeyboardInterrupt: sys.exit(7)\n"
    bench.write(COUNTING + last)
    screen = Screen(tmp_path, "/bin/bash")
    try:
        screen.type(" ".join(command("--retries", "3", "script.py")) + "\n")
        screen.expect("begun")
        screen.type("\x03")
        screen.expect(PROMPT)
        screen.type("echo status=$?\n")
        screen.expect("status=7" if caught else "status=130")
    finally:
        screen.close()
    assert attempts(bench) == 1


def test_a_signal_sent_to_the_script_by_others_is_an_end_like_any_other(bench: Bench) -> None:
    bench.write(COUNTING + "if number == 1: time.sleep(600)")
    with subprocess.Popen(
        command("--retries", "3", "script.py"), cwd=bench.folder, env=variables(), stderr=subprocess.PIPE
    ) as process:
        notes = bench.folder / "attempts"
        until(lambda: notes.exists() and notes.read_text().endswith("\n"))
        pid = int(notes.read_text())
        os.kill(pid, signal.SIGKILL)
        assert process.wait(SECONDS) == 0
    assert attempts(bench) == 2
    assert not alive(pid)


def test_a_script_that_cannot_be_started_is_not_tried_again(bench: Bench) -> None:
    python = bench.write("no program", "python")
    python.chmod(0o755)
    with pytest.raises(UsageError, match="cannot start the Python interpreter"):
        run_script(bench.write("pass"), retries=3, log_dir=bench.runs, python=python)
    assert [report["outcome"] for report in reports(bench)] == ["not-started"]
    bench.require_described_reports()
