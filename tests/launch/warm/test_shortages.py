"""Warm scripts lose no result: to a full disk, to a supervisor that stands still, to few descriptors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.launch.script.async_call import arun_script
from coldfork.launch.script.result import Outcome
from tests.launch.full_disks import on_tiny_disk
from tests.launch.scripting import SECONDS, alive, until, variables
from tests.launch.warm.conftest import WarmBench

FULL = "No space left on device"
#: It stops its own supervisor, and has started somebody who carries none of its variables.
STOPPING = """
    import os, signal, subprocess, sys, time
    from pathlib import Path
    below = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
    Path(sys.argv[1]).write_text(f"{os.getppid()} {os.getpid()} {below.pid}")
    print("began", flush=True)
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(600)
"""


def none_is_left(place: Path) -> None:
    pids = list(map(int, place.read_text().split()))
    until(lambda: not any(map(alive, pids)), "the end of all of them")


def test_a_stopped_supervisor_holds_nobody_up(ready: WarmBench, tmp_path: Path) -> None:
    result = ready.warm(STOPPING, str(tmp_path / "pids"), timeout=3)
    assert (result.outcome, result.signal, result.stdout) == (Outcome.TIMED_OUT, "SIGTERM", "began\n")
    assert result.notes[0].endswith("stood still, as after SIGSTOP; it was continued")
    none_is_left(tmp_path / "pids")


async def awaited(ready: WarmBench, place: Path) -> Outcome:
    script = ready.write(STOPPING)
    result = await arun_script(script, [place], warm=["json"], log_dir=ready.runs, timeout=3)
    assert result.warm
    return result.outcome


def test_nor_does_it_hold_up_an_event_loop(ready: WarmBench, tmp_path: Path) -> None:
    import asyncio

    assert asyncio.run(awaited(ready, tmp_path / "pids")) is Outcome.TIMED_OUT
    none_is_left(tmp_path / "pids")


def test_nor_does_it_hold_up_exec(bench: WarmBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its supervisor is no child of ours there, and has to be heard all the same."""
    monkeypatch.setenv("PYTHONPATH", variables()["PYTHONPATH"])
    bench.prepare()
    script = bench.write(STOPPING)
    words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", "--timeout", "3"]
    done = subprocess.run(
        [*words, "--warm", "json", "--", str(script), str(tmp_path / "pids")],
        cwd=bench.folder,
        env=variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (124, "began\n")
    assert done.stderr.endswith("stood still, as after SIGSTOP; it was continued\n")
    assert "cold start" not in done.stderr
    none_is_left(tmp_path / "pids")


FILLING = """
import coldfork
from coldfork.launch.script import environment
from coldfork.launch.server.warm import control
control.prepare(["json"], environment.build("spawn").variables)
fill()
(disk / "filler").unlink()
result = coldfork.run_script("script.py", [str(disk)], warm=["json"], log_dir=disk)
print(result.outcome, result.status, result.warm, result.stdout.split()[-1], result.notes)
control.stop()
"""


def test_a_script_that_fills_the_disk(bench: WarmBench, runtime: Path, tmp_path: Path) -> None:
    bench.write(
        """
        import sys
        from pathlib import Path
        with open(Path(sys.argv[1]) / "filler", "ab", 0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        print("x" * 100_000, "last")
        raise ValueError("long " * 20_000)
        """
    )
    done = on_tiny_disk(tmp_path / "disk", FILLING, XDG_RUNTIME_DIR=str(runtime))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("failed 1 True last ")
    assert f"cannot write the report: {FULL}" in done.stdout


@pytest.mark.parametrize("inodes", range(2, 7))
def test_a_full_disk_for_the_keepers_own_files(bench: WarmBench, tmp_path: Path, inodes: int) -> None:
    """With or without a server the script runs, and whatever hinders a server is said."""
    bench.write("print('done')")
    program = """
        import coldfork
        from coldfork.launch.script import environment
        from coldfork.launch.server.warm import control
        try:
            control.prepare(["json"], environment.build("spawn").variables)
        except coldfork.ColdforkError as error:
            print(error, file=sys.stderr)
        result = coldfork.run_script("script.py", warm=["json"], log_dir="runs")
        print(result.outcome, result.stdout.strip(), result.warm, result.cold_because)
        control.stop()
        """
    # The path of a socket has to be short.
    done = on_tiny_disk(tmp_path / "d", program, inodes=inodes, XDG_RUNTIME_DIR=str(tmp_path / "d"))
    assert done.returncode == 0
    if inodes < 4:
        assert FULL in done.stderr
        assert done.stdout.startswith("succeeded done False ")
        assert FULL in done.stdout
    else:
        # Not even the log of the keeper is worth a server.
        assert (done.stderr, done.stdout) == ("", "succeeded done True None\n")


def test_few_descriptors_are_enough_or_the_start_is_cold(bench: WarmBench) -> None:
    bench.write("print('done')")
    program = """
        import json, os, resource, sys
        from coldfork import ColdforkError, run_script
        from coldfork.launch.script import environment
        from coldfork.launch.server.warm import control
        control.prepare(["json"], environment.build("spawn").variables)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        taken = []
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        told = []
        for _ in range(30):
            os.close(taken.pop())
            try:
                result = run_script("script.py", warm=["json"], log_dir="runs")
                told.append([result.stdout, result.warm, result.cold_because])
            except ColdforkError as error:
                told.append([str(error)])
        print(json.dumps(told))
        """
    bench.write(program, "taking.py")
    done = subprocess.run(
        [sys.executable, "taking.py"],
        cwd=bench.folder,
        env=variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert "open" in told[0][0]
    refused = [one for one in told if len(one) == 1]
    cold = [one for one in told if len(one) == 3 and not one[1]]
    assert all("open" in one[0] for one in refused), refused
    assert all("Too many open files" in one[2] for one in cold), cold
    assert told[-1] == ["done\n", True, None]
