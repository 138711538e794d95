"""At a terminal, with job control, a watched program behaves as with Python: the two screens agree."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launch.sidebyside import coldfork_run, write
from tests.launch.terminals import PROMPT, Screen

pytestmark = pytest.mark.once

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
    """Return two terminals' contents after the same was done with Python and with `coldfork run`."""
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
