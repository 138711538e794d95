"""At a terminal, with job control, a watched program behaves as with Python: the two screens agree."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launch.sidebyside import SECONDS, coldfork_run, variables, write

PROMPT = "ready> "
INTERRUPTED = """\
import sys, time
print("is a terminal:", sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), flush=True)
try:
    print("got", input("say: "), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""
HANDLING = """\
import os, signal, time
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append("INT"))
signal.signal(signal.SIGQUIT, lambda *_: heard.append("QUIT"))
signal.signal(signal.SIGWINCH, lambda *_: heard.append("WINCH"))
print("begun", flush=True)
while len(heard) < 3:
    time.sleep(0.01)
time.sleep(0.3)  # a second one would come now
print(sorted(heard), os.get_terminal_size(0), flush=True)
"""


class Screen:
    """A terminal with a shell in it, and all that was written on it."""

    def __init__(self, folder: Path, shell: str) -> None:
        settings = {"PS1": PROMPT, "HISTFILE": "", "COLUMNS": "1000"}
        self._shell, self._terminal = pty.fork()
        if self._shell == 0:
            os.chdir(folder)
            os.execve(shell, [shell, "--norc", "--noprofile", "--noediting", "-i"], variables(settings))
        self._written = ""
        self._read_to = 0
        self.expect(PROMPT)

    def type(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._terminal, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size, as a window does."""
        import fcntl
        import termios

        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect(self, text: str) -> None:
        """Read until this was written after what was expected before."""
        deadline = time.monotonic() + SECONDS
        while (found := self._written.find(text, self._read_to)) < 0:
            ready, _, _ = select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} was not written; the screen shows {self._written!r}"
            self._written += os.read(self._terminal, 4096).decode("utf-8", "replace")
        self._read_to = found + len(text)

    def expect_foreground(self) -> None:
        """Wait until the shell has given the terminal to its job; it writes the job's line before that."""
        deadline = time.monotonic() + SECONDS
        while os.tcgetpgrp(self._terminal) == self._shell:
            assert time.monotonic() < deadline, f"the shell kept the terminal; it shows {self._written!r}"
            time.sleep(0.01)

    def shows(self, command: str) -> str:
        """What can be read, with the program's command under one name."""
        return self._written.replace("\r", "").replace(command, "PYTHON")

    def close(self) -> None:
        """Hang up."""
        os.close(self._terminal)
        os.kill(self._shell, signal.SIGKILL)
        os.waitpid(self._shell, 0)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Callable[[], Screen]]:
    """Open terminals with a shell."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("there is no bash")
    opened: list[Screen] = []

    def open_one() -> Screen:
        opened.append(Screen(tmp_path, shell))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def both(screen: Callable[[], Screen], use: Callable[[Screen, str], None]) -> tuple[str, str]:
    """What two terminals show after the same was done with Python and with `coldfork run`."""
    shown = []
    for python in ([sys.executable], coldfork_run("--quiet", "--output", "recording")):
        one, command = screen(), " ".join(python)
        use(one, command)
        shown.append(one.shows(command))
    return shown[0], shown[1]


@pytest.mark.must_hold
def test_a_job_is_stopped_continued_and_interrupted(screen: Callable[[], Screen], tmp_path: Path) -> None:
    write(tmp_path, {"program.py": INTERRUPTED})

    def use(one: Screen, python: str) -> None:
        one.type(f"{python} program.py\n")
        one.expect("say: ")
        one.type("\x1a")
        one.expect("Stopped")
        one.expect(PROMPT)
        one.type("jobs\n")
        one.expect("Stopped")
        one.expect(PROMPT)
        one.type("fg\n")
        one.expect("program.py\r\n")
        one.expect_foreground()
        one.type("hello\n")
        one.expect("got hello")
        one.type("\x1a")
        one.expect("Stopped")
        one.expect(PROMPT)
        one.type("bg\n")
        one.expect(PROMPT)
        one.type("fg\n")
        one.expect("program.py\r\n")
        one.expect_foreground()
        one.type("\x03")
        one.expect("KeyboardInterrupt")
        one.expect(PROMPT)
        one.type("echo status $?\n")
        one.expect("status 130")
        one.expect(PROMPT)

    plain, watched = both(screen, use)
    assert "is a terminal: True True True" in plain
    assert watched == plain


@pytest.mark.must_hold
def test_keys_and_sizes_of_a_terminal_arrive_once(screen: Callable[[], Screen], tmp_path: Path) -> None:
    write(tmp_path, {"program.py": HANDLING})

    def use(one: Screen, python: str) -> None:
        one.resize(24, 80)
        one.type(f"{python} program.py\n")
        one.expect("begun")
        one.type("\x03\x1c")
        one.resize(30, 120)
        one.expect("lines=30")
        one.expect(PROMPT)

    plain, watched = both(screen, use)
    assert "['INT', 'QUIT', 'WINCH'] os.terminal_size(columns=120, lines=30)" in plain
    assert sorted(watched) == sorted(plain)


def test_python_answers_at_a_terminal(screen: Callable[[], Screen]) -> None:
    def use(one: Screen, python: str) -> None:
        one.type(f"{python} -q\n")
        one.expect(">>> ")
        one.type("6 * 7\n")
        one.expect("42")
        one.expect(">>> ")
        one.type("while True: pass\n\n")
        time.sleep(0.2)
        one.type("\x03")
        one.expect("KeyboardInterrupt")
        one.expect(">>> ")
        one.type("exit(5)\n")
        one.expect(PROMPT)
        one.type("echo status $?\n")
        one.expect("status 5")
        one.expect(PROMPT)

    plain, watched = both(screen, use)
    assert watched == plain


def test_a_background_job_that_reads_is_stopped_and_then_killed(
    screen: Callable[[], Screen], tmp_path: Path
) -> None:
    write(tmp_path, {"program.py": "print('said', input())\n"})

    def use(one: Screen, python: str) -> None:
        one.type(f"{python} program.py &\n")
        one.expect(PROMPT)
        time.sleep(1)
        one.type("jobs\n")
        one.expect("Stopped")
        one.expect(PROMPT)
        one.type("kill %1; fg\n")
        one.expect("Terminated")
        one.expect(PROMPT)

    plain, watched = both(screen, use)
    assert re.sub(r"\[1\] \d+", "", watched) == re.sub(r"\[1\] \d+", "", plain)
