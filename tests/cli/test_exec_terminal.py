"""At a terminal, with job control, an isolated script behaves as with Python: the two screens agree."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.launch.scripting import alive, marked, until
from tests.launch.sidebyside import write
from tests.launch.terminals import PROMPT, Screen

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

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
COUNTING = """\
import os, signal, time
heard = []
for name in ("SIGTERM", "SIGUSR1", "SIGHUP"):
    signal.signal(getattr(signal, name), lambda number, _: heard.append(signal.Signals(number).name))
print("begun", os.getpid(), flush=True)
while len(heard) < 2:
    time.sleep(0.01)
time.sleep(0.3)  # a second one would come now
print(sorted(heard), flush=True)
"""
FORKING = """\
import os, time
if not os.fork():
    os.setsid()
print("begun", flush=True)
time.sleep(600)
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


def isolated(*options: str) -> list[str]:
    """The words that take the place of `python`."""
    return [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", *options, "--"]


def both(screen: Callable[[], Screen], use: Callable[[Screen, str], None]) -> tuple[str, str]:
    """Return two terminals' contents after the same was done with Python and with `coldfork exec`."""
    shown = []
    for python in ([sys.executable], isolated()):
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
        for _ in range(2):
            one.type("\x1a")
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

    plain, ours = both(screen, use)
    assert "is a terminal: True True True" in plain
    # Whether it had begun to sleep when it was interrupted is a matter of luck.
    place = re.compile(r"line \d, in <module>.*?(?=KeyboardInterrupt)", re.DOTALL)
    assert len(place.findall(plain)) == 1
    assert place.sub("", ours) == place.sub("", plain)


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

    plain, ours = both(screen, use)
    assert "['INT', 'QUIT', 'WINCH'] os.terminal_size(columns=120, lines=30)" in plain
    assert sorted(ours) == sorted(plain)


@pytest.mark.must_hold
@pytest.mark.parametrize("whole_group", [False, True])
def test_signals_of_others_arrive_once(
    screen: Callable[[], Screen], tmp_path: Path, whole_group: bool
) -> None:
    write(tmp_path, {"program.py": COUNTING})

    def use(one: Screen, python: str) -> None:
        one.type(f"{python} program.py &\n")
        one.expect("begun")
        # `kill %1` is for the job's whole group, `kill $!` for its first process alone.
        target = "%1" if whole_group else "$!"
        one.type(f"kill -USR1 {target}; kill {target}; wait %1; echo status $?\n")
        one.expect("['SIGTERM', 'SIGUSR1']")
        one.expect("status 0")
        one.expect(PROMPT)

    plain, ours = both(screen, use)
    assert _anonymous(ours) == _anonymous(plain)


def test_a_background_job_that_reads_is_stopped_and_then_killed(
    screen: Callable[[], Screen], tmp_path: Path
) -> None:
    write(tmp_path, {"program.py": "print('said', input())\n"})

    def use(one: Screen, python: str) -> None:
        one.type(f"{python} program.py &\n")
        one.expect(PROMPT)
        one.expect("Stopped")
        one.type("kill %1; fg\n")
        one.expect("Terminated")
        one.expect(PROMPT)

    plain, ours = both(lambda: _telling_at_once(screen()), use)
    assert _anonymous(ours) == _anonymous(plain)


@pytest.mark.parametrize("how", ["exit 7", "kill -SEGV $$", "kill -KILL $$", "kill -TERM $$"])
def test_the_shell_sees_the_same_end(screen: Callable[[], Screen], tmp_path: Path, how: str) -> None:
    program = f"import os; os.execv('/bin/sh', ['sh', '-c', {how!r}])\n"
    write(tmp_path, {"program.py": program})

    def use(one: Screen, python: str) -> None:
        one.type(f"{python} program.py; echo status $?\n")
        one.expect("status ")
        one.expect(PROMPT)

    plain, ours = both(screen, use)
    assert _anonymous(ours) == _anonymous(plain)


@pytest.mark.must_hold
def test_a_terminal_that_hangs_up_leaves_nothing(screen: Callable[[], Screen], tmp_path: Path) -> None:
    write(tmp_path, {"program.py": FORKING})
    one = screen()
    one.type(f"{' '.join(isolated())} program.py\n")
    one.expect("begun")
    one.expect("begun")
    (run,) = (tmp_path / "runs").iterdir()
    found = marked(run.name)
    assert len(found) == 2
    one.hang_up()
    until(lambda: not any(map(alive, found)), "the end of the script")


@pytest.mark.must_hold
def test_a_killed_command_leaves_nothing(screen: Callable[[], Screen], tmp_path: Path) -> None:
    write(tmp_path, {"program.py": FORKING})
    one = screen()
    one.type(f"{' '.join(isolated())} program.py & echo pid $!.\n")
    one.expect("begun")
    one.expect("begun")
    (run,) = (tmp_path / "runs").iterdir()
    found = marked(run.name)
    pid = re.findall(r"pid (\d+)\.", one.shows("x"))[-1]
    os.kill(int(pid), signal.SIGKILL)
    until(lambda: not any(map(alive, found)), "the end of the script")


def test_progress_is_a_bar(screen: Callable[[], Screen], tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "program.py": "import coldfork, time\nfor done in range(11):\n"
            "    coldfork.progress(done, 10)\n    time.sleep(0.1)\nprint('done')\n"
        },
    )
    one = screen()
    one.type(f"{' '.join(isolated())} program.py; echo status $?\n")
    one.expect("status 0")
    shown = one.shows("x")
    assert re.search(r"program\.py \[#+-+\] [1-9]/10", shown)


def _telling_at_once(one: Screen) -> Screen:
    one.type("set -b\n")
    one.expect(PROMPT)
    time.sleep(0.1)
    return one


def _anonymous(shown: str) -> str:
    """Without pids, and without what a shell writes where it happens to be."""
    return re.sub(r"\d{2,}", "N", shown)
