"""Processes that are started to be watched, with real ones: how they end, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coldfork.launch.plumbing.ask import (
    TAIL_BYTES,
    Ended,
    Interrupted,
    environment,
    require_watching,
    until_its_end,
)
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.errors import UsageError
from coldfork.observe.bootstrap import STARTUP, VARIABLE
from tests.limits import overrun

pytestmark = pytest.mark.once

PATIENCE = 60


def ended(code: str, timeout: float = PATIENCE) -> Ended:
    return until_its_end([sys.executable, "-c", code], os.environ, timeout=timeout)


def gone(pid: int) -> bool:
    """Whether a process ends within our patience; a zombie has ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("status", [0, 1, 7, 125, 255])
def test_the_status_is_told(status: int) -> None:
    assert ended(f"import os; os._exit({status})") == Ended(status, None, False, "", False)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"])
def test_the_signal_is_told_by_name(name: str) -> None:
    code = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    assert ended(code) == Ended(None, name, False, "", False)


def test_who_has_shown_enough_is_ended() -> None:
    seen = until_its_end(
        [sys.executable, "-c", "import time; print('enough', flush=True); time.sleep(600)"],
        os.environ,
        timeout=PATIENCE,
        suffices=lambda output: "enough\n" in output,
    )
    assert seen == Ended(None, None, False, "enough\n", False, sufficed=True)


def test_both_streams_are_kept_in_their_order() -> None:
    code = "import os; os.write(1, b'one\\n'); os.write(2, b'two\\n'); os.write(1, b'three')"
    assert ended(code).output == "one\ntwo\nthree"


def test_bytes_that_are_no_text_are_written_as_escapes() -> None:
    assert ended("import os; os.write(1, b'a\\xffb')").output == "a\\xffb"


def test_only_the_end_of_megabytes_is_kept() -> None:
    code = "import sys\nfor i in range(400_000): sys.stdout.write(f'line {i:09}\\n')"
    result = ended(code)
    assert (result.status, result.cut) == (0, True)
    assert len(result.output) <= TAIL_BYTES
    lines = result.output.splitlines()
    assert lines[-1] == "line 000399999"
    assert all(len(line) == len(lines[-1]) for line in lines)


def test_there_is_nothing_to_read_from() -> None:
    assert ended("import sys; print(repr(sys.stdin.read()))").output == "''\n"


def test_a_process_that_does_not_end_is_ended_with_its_output() -> None:
    code = "import signal, time, os\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.write(1, b'on')\n"
    code += "while True: time.sleep(9)"
    _, result = overrun(lambda limit: ended(code, timeout=limit), lambda result: bool(result.output))
    assert result == Ended(None, None, True, "on", False)


def test_a_process_that_prints_for_ever_is_ended(tmp_path: Path) -> None:
    code = "while True: print('again and again')"
    _, result = overrun(lambda limit: ended(code, timeout=limit), lambda result: result.cut)
    assert (result.timed_out, result.cut) == (True, True)


def test_one_that_closed_its_output_is_waited_for() -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(0.2); os._exit(3)"
    assert ended(code).status == 3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("ending", ["os._exit(0)", "time.sleep(600)"])
def test_what_it_started_ends_with_it(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "pid"
    code = f"""
import os, pathlib, time
if os.fork() == 0:
    while True: time.sleep(600)
child = os.fork()
if child == 0:
    pathlib.Path({str(file)!r}).write_text(str(os.getpid()))
    while True: time.sleep(600)
while not pathlib.Path({str(file)!r}).exists(): time.sleep(0.01)
{ending}
"""
    overrun(lambda limit: ended(code, timeout=limit), lambda _: file.exists())
    assert gone(int(file.read_text()))


def test_a_child_that_left_the_group_does_not_keep_us(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"""
import os, pathlib, time
if os.fork() == 0:
    os.setsid()
    pathlib.Path({str(file)!r}).write_text(str(os.getpid()))
    time.sleep(600)
while not pathlib.Path({str(file)!r}).exists(): time.sleep(0.01)
os.write(1, b"done")
os._exit(4)
"""
    began = time.monotonic()
    result = ended(code)
    try:
        assert (result.status, result.output) == (4, "done")
        # Not a matter of speed: it would have been kept until the time limit.
        assert time.monotonic() - began < PATIENCE
    finally:
        os.kill(int(file.read_text()), signal.SIGKILL)


def test_who_wants_to_stop_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"import os, pathlib, time; pathlib.Path({str(file)!r}).write_text(str(os.getpid()))"

    def stop() -> bool:
        return file.exists() and file.stat().st_size > 0

    with pytest.raises(Interrupted):
        until_its_end(
            [sys.executable, "-c", f"{code}; time.sleep(600)"], os.environ, timeout=PATIENCE, stop=stop
        )
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


def test_a_program_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        until_its_end([str(tmp_path / "python")], os.environ, timeout=PATIENCE)


def test_the_environment_lets_the_watch_in() -> None:
    made = environment({"mode": "probe"}, {"PYTHONPATH": "own", "HOME": "h"})
    assert made["PYTHONPATH"].split(os.pathsep) == [STARTUP, "own"]
    assert made["HOME"] == "h"
    assert VARIABLE in made
    assert "COLDFORK_VIRTUAL" not in made


def test_the_virtual_device_is_the_one_asked_for() -> None:
    base = {"COLDFORK_VIRTUAL": "a100"}
    assert "COLDFORK_VIRTUAL" not in environment({}, base)
    assert environment({}, base, virtual="h100:2")["COLDFORK_VIRTUAL"] == "h100:2"


def test_folders_stand_around_those_of_the_program() -> None:
    setup = ProbeSetup(sys.executable, before=("first",), after=("last",), base={"PYTHONPATH": "own"})
    made = environment({}, setup.variables())
    assert made["PYTHONPATH"].split(os.pathsep) == [STARTUP, "first", "own", "last"]


def test_the_program_sees_the_path_it_would_have_had(tmp_path: Path) -> None:
    """All of `sys.path`, `sys.argv` and the environment is asked with and without the watch."""
    code = """
import os, sys
print(sys.path, sys.argv, sorted((k, v) for k, v in os.environ.items() if k != "_"))
"""
    base = {**os.environ, "PYTHONPATH": str(tmp_path)}
    plain = subprocess.run(
        [sys.executable, "-c", code], env=base, capture_output=True, text=True, check=True
    ).stdout
    watched = until_its_end(
        [sys.executable, "-c", code], environment({"mode": "probe"}, base), timeout=PATIENCE
    )
    assert watched.output == plain


def test_windows_is_refused() -> None:
    require_watching("probe", "linux")
    require_watching("probe", "darwin")
    with pytest.raises(UsageError, match="coldfork probe needs Linux or macOS"):
        require_watching("probe", "win32")
