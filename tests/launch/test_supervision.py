"""Signals reach the program as if nobody stood between: once, and with the consequences they have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.launch.sidebyside import SECONDS, coldfork_run, said_by, start, write

pytestmark = pytest.mark.once

if not sys.platform.startswith("linux"):
    pytest.skip("what is asked of the kernel here, Linux answers", allow_module_level=True)

COUNTING = """\
import os, signal, sys, time
names = sys.argv[1].split(",")
heard = []
for name in names:
    signal.signal(getattr(signal, name), lambda number, frame: heard.append(signal.Signals(number).name))
print("ready", os.getpid(), flush=True)
while "SIGTERM" not in heard:
    time.sleep(0.01)
time.sleep(0.3)  # a second one would come now
print(sorted(heard), flush=True)
"""
SLEEPING = "import os, time\nprint('ready', os.getpid(), flush=True)\ntime.sleep(60)\n"
PREPARING = """\
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
os.execv(sys.argv[1], sys.argv[1:])
"""
SETTINGS = """\
import signal
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
print([(one.name, signal.getsignal(one)) for one in signal.Signals])
"""

Start = Callable[..., tuple["subprocess.Popen[str]", int]]


@pytest.fixture(params=["python", "coldfork"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Start:
    """Start a program in a group of its own, plainly or watched; the process to wait for, and its pid."""

    def begin(text: str, *arguments: str) -> tuple[subprocess.Popen[str], int]:
        write(tmp_path, {"program.py": text})
        python = [sys.executable]
        if request.param == "coldfork":
            python = coldfork_run("--quiet", "--output", "recording")
        process = start([*python, "program.py", *arguments], tmp_path, process_group=0)
        request.addfinalizer(lambda: _end(process))
        assert process.stdout is not None
        ready, pid = process.stdout.readline().split()
        assert ready == "ready"
        return process, int(pid)

    return begin


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _is_stopped(pid: int) -> bool:
    return "\nState:\tT" in Path(f"/proc/{pid}/status").read_text(encoding="ascii")


def _stopped_by(pid: int) -> int:
    """Return a shell's view of its process when that stops."""
    told: list[int] = []

    def look() -> bool:
        seen, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        told.append(status)
        return bool(seen)

    _until(look)
    assert os.WIFSTOPPED(told[-1])
    return os.WSTOPSIG(told[-1])


def _until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.must_hold
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to-the-process", "to-the-group"])
def test_a_signal_arrives_once(program: Start, send: Callable[[int, int], None]) -> None:
    names = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGALRM", "SIGCHLD"]
    # What is not handed on is what a process is told of its own children.
    wanted = [name for name in names if name != "SIGCHLD" or send is os.killpg]
    process, _ = program(COUNTING, ",".join(names))
    for name in sorted(wanted, key=lambda name: name == "SIGTERM"):
        send(process.pid, getattr(signal, name))
    output, errors = process.communicate(timeout=SECONDS)
    assert (output, errors, process.returncode) == (f"{sorted(wanted)}\n", "", 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGALRM])
def test_a_signal_ends_both(program: Start, number: int) -> None:
    process, pid = program(SLEEPING)
    process.send_signal(number)
    process.communicate(timeout=SECONDS)
    assert process.returncode == -number
    _until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.must_hold
def test_nobody_survives_the_death_of_who_waits_for_them(program: Start) -> None:
    process, pid = program(SLEEPING)
    process.kill()
    process.communicate(timeout=SECONDS)
    _until(lambda: not Path(f"/proc/{pid}").exists())
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["to-the-process", "to-the-group"])
def test_a_stop_is_seen_and_ends_with_a_continue(program: Start, send: Callable[[int, int], None]) -> None:
    process, pid = program(COUNTING, "SIGTERM,SIGCONT")
    send(process.pid, signal.SIGTSTP)
    assert _stopped_by(process.pid) == signal.SIGTSTP
    assert _is_stopped(pid)
    send(process.pid, signal.SIGCONT)
    _until(lambda: not _is_stopped(pid))
    send(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=SECONDS)
    assert output == "['SIGCONT', 'SIGTERM']\n"


def test_a_group_is_stopped_once_each_time(program: Start) -> None:
    process, pid = program(COUNTING, "SIGTERM,SIGCONT")
    for _ in range(20):
        os.killpg(process.pid, signal.SIGTSTP)
        assert _stopped_by(process.pid) == signal.SIGTSTP
        os.killpg(process.pid, signal.SIGCONT)
        _until(lambda: not _is_stopped(pid) and not _is_stopped(process.pid))
        time.sleep(0.03)  # a second stop would come now
        assert not _is_stopped(process.pid)
    process.terminate()
    output, _ = process.communicate(timeout=SECONDS)
    assert output == f"{['SIGCONT'] * 20 + ['SIGTERM']}\n"


def test_a_program_that_somebody_else_stops_and_continues_is_waited_for(program: Start) -> None:
    process, pid = program(COUNTING, "SIGTERM")
    os.kill(pid, signal.SIGSTOP)
    _until(lambda: _is_stopped(pid))
    time.sleep(0.1)
    os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=SECONDS)
    assert output == "['SIGTERM']\n"


def test_signals_that_were_ignored_or_blocked_stay_so(tmp_path: Path) -> None:
    write(tmp_path, {"program.py": SETTINGS})

    plain, watched = (
        said_by([sys.executable, "-c", PREPARING, *python, "program.py"], tmp_path)
        for python in ([sys.executable], coldfork_run("--quiet", "--output", "recording"))
    )
    assert "Handlers.SIG_IGN" in plain.output
    assert watched == plain


def test_a_module_is_tried_though_sigchld_is_ignored(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "coldfork", "probe", "json"]
    assert said_by([sys.executable, "-c", PREPARING, *words], tmp_path).status == 0


def test_whoever_reads_the_output_sees_its_end(tmp_path: Path) -> None:
    """A process left behind with the streams open would keep a pipeline waiting."""
    write(tmp_path, {"program.py": "import os\nos.close(1)\nimport time\ntime.sleep(60)\n"})
    process = start([*coldfork_run("--quiet", "--output", "recording"), "program.py"], tmp_path)
    process.terminate()
    output, errors = process.communicate(timeout=SECONDS)
    assert (output, errors, process.returncode) == ("", "", -signal.SIGTERM)
