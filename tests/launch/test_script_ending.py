"""However a script, its supervisor or its caller ends, nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.script import run_directory
from coldfork.launch.script.call import ScriptResult
from coldfork.launch.script.result import Outcome
from coldfork.launch.supervisor import report_file
from tests.launch.scripting import Bench, alive, caller, descriptors, marked, until, variables
from tests.limits import overrun

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

#: Writes the pid of every process it makes, and then none of them ends by itself.
TREE = """
import os, sys, time
from pathlib import Path
place = Path(sys.argv[1])
how = sys.argv[2]

def note():
    (place / str(os.getpid())).touch()

def stay():
    while True:
        time.sleep(60)

if how == "stubborn":
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
note()
if how == "setsid":
    os.setsid()
elif how == "daemon":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note()
            stay()
        os._exit(0)
    os.wait()
elif how == "group":
    if os.fork() == 0:
        os.setpgid(0, 0)
        note()
        stay()
elif how == "stopped":
    if os.fork() == 0:
        note()
        os.kill(os.getpid(), 19)
elif how == "grandchildren":
    import subprocess
    for _ in range(2):
        subprocess.Popen([sys.executable, __file__, sys.argv[1], "plain"], start_new_session=True)
stay()
"""
EXPECTED = {"plain": 1, "setsid": 1, "daemon": 2, "group": 2, "stopped": 2, "grandchildren": 3, "stubborn": 1}
SHAPES = list(EXPECTED)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "pids").mkdir()
    return Bench(tmp_path)


def pids(bench: Bench) -> list[int]:
    return [int(path.name) for path in (bench.folder / "pids").iterdir()]


def all_there(bench: Bench, how: str) -> list[int]:
    until(lambda: len(pids(bench)) == EXPECTED[how], f"a tree of the shape {how}")
    return pids(bench)


def gone(found: list[int]) -> None:
    until(lambda: not any(map(alive, found)), f"the end of {found}")


@pytest.mark.must_hold
@pytest.mark.parametrize("how", SHAPES)
def test_the_time_is_up_for_everything_it_started(bench: Bench, how: str) -> None:
    def attempt(limit: int) -> tuple[ScriptResult, list[int]]:
        place = bench.folder / f"pids-{limit}"
        place.mkdir()
        result = bench.run(TREE, str(place), how, timeout=limit, grace=0.3)
        return result, [int(path.name) for path in place.iterdir()]

    _, (result, found) = overrun(attempt, lambda seen: len(seen[1]) == EXPECTED[how])
    assert result.outcome is Outcome.TIMED_OUT
    assert len(found) == EXPECTED[how]
    assert not any(map(alive, found))
    assert result.signal == ("SIGKILL" if how == "stubborn" else "SIGTERM")


def test_a_deadline_is_polite_first(bench: Bench) -> None:
    script = """
        import signal, sys, time
        def leave(*_):
            print("cleaned up", flush=True)
            sys.exit(5)
        signal.signal(signal.SIGTERM, leave)
        print("begun", flush=True)
        time.sleep(600)
        """
    _, result = overrun(lambda limit: bench.run(script, timeout=limit), lambda result: bool(result.stdout))
    assert (result.outcome, result.status, result.stdout) == (Outcome.TIMED_OUT, 5, "begun\ncleaned up\n")


@pytest.mark.must_hold
@pytest.mark.parametrize("thread", ["main", "other", "gone"])
@pytest.mark.parametrize("how", SHAPES)
def test_a_dead_caller_leaves_nothing(bench: Bench, how: str, thread: str) -> None:
    script = bench.write(TREE)
    process = subprocess.Popen(
        caller(
            f"""
            import asyncio, threading, time
            from coldfork import arun_script, run_script
            def run():
                run_script({str(script)!r}, [{str(bench.folder / "pids")!r}, {how!r}],
                    log_dir={str(bench.runs)!r}, grace=0.2)
            def begin():
                # The thread that starts it has ended while it runs.
                from coldfork.launch.script.following import begin
                from coldfork.launch.script.request import ScriptRequest
                from coldfork.launch.script.attempts import StandardInput
                global kept
                kept = begin(ScriptRequest({str(script)!r}, [{str(bench.folder / "pids")!r}, {how!r}],
                    log_dir={str(bench.runs)!r}, grace=0.2), StandardInput(None), streamed=False)
            if {thread!r} == "main":
                run()
            thread = threading.Thread(target=run if {thread!r} == "other" else begin, daemon=True)
            thread.start()
            time.sleep(60)
            """
        ),
        env=variables(),
    )
    try:
        found = all_there(bench, how)
    finally:
        process.kill()
        process.wait()
    gone(found)
    run = bench.only_run()
    report = until(
        lambda: (said := report_file.read(str(run))) and said.state == "ended" and said, "the report"
    )
    assert report.outcome == "caller-died"
    gone(marked(run.name))


@pytest.mark.must_hold
@pytest.mark.parametrize("how", SHAPES)
def test_a_killed_supervisor_leaves_nothing_either(bench: Bench, how: str) -> None:
    killed: list[int] = []

    def kill() -> None:
        found = all_there(bench, how)
        killed.extend(found)
        run = until(lambda: list(bench.runs.iterdir()))[0]
        os.kill(_supervisor(run.name), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = bench.run(TREE, str(bench.folder / "pids"), how)
    killer.join()
    assert result.outcome is Outcome.LOST
    assert (result.status, result.signal) == (None, None)
    gone(killed)
    report = result.report
    assert (report["state"], report["outcome"]) == ("abandoned", "lost")


def test_caller_and_supervisor_killed_at_once_are_found_later(bench: Bench) -> None:
    script, place = bench.write(TREE), str(bench.folder / "pids")
    process = subprocess.Popen(
        caller(
            f"""
            from coldfork import run_script
            run_script({str(script)!r}, [{place!r}, "daemon"], log_dir={str(bench.runs)!r})
            """
        ),
        env=variables(),
    )
    found = all_there(bench, "daemon")
    run = bench.only_run()
    supervisor = _supervisor(run.name)
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    process.kill()
    process.wait()
    assert until(lambda: run_directory.mark_abandoned(bench.runs), "the supervisor to be dead") == [run]
    gone(found)
    report = report_file.read(str(run))
    assert report is not None
    assert (report.state, report.outcome) == ("abandoned", "lost")
    assert run_directory.mark_abandoned(bench.runs) == []


def test_a_run_in_progress_is_not_abandoned(bench: Bench) -> None:
    result = bench.run(
        """
        import sys
        from pathlib import Path
        from coldfork.launch.script import run_directory
        print(run_directory.mark_abandoned(Path(sys.argv[1])))
        """,
        str(bench.runs),
    )
    assert result.stdout == "[]\n"
    assert result.report["state"] == "ended"


def test_a_half_written_report_does_not_count(bench: Bench) -> None:
    result = bench.run("pass")
    report = report_file.Report({**result.report, "state": "started"})
    report_file.write(str(result.run_dir), report)
    (result.run_dir / ".report.json.new").write_text('{"state": "ended", ')
    assert run_directory.mark_abandoned(bench.runs) == [result.run_dir]
    assert sorted(path.name for path in result.run_dir.iterdir()) == ["report.json", "stderr", "stdout"]
    assert result.report["state"] == "abandoned"


def test_what_a_script_leaves_running_is_ended_and_named(bench: Bench) -> None:
    result = bench.run(
        """
        import subprocess, sys
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        print("done")
        """
    )
    assert (result.outcome, result.status, result.stdout) == (Outcome.SUCCEEDED, 0, "done\n")
    assert result.left_behind == ("sleep",)


def test_helpers_of_multiprocessing_are_not_taken_for_leftovers(bench: Bench) -> None:
    result = bench.run(
        """
        import multiprocessing
        from multiprocessing import shared_memory
        if __name__ == "__main__":
            block = shared_memory.SharedMemory(create=True, size=64)
            with multiprocessing.Pool(2) as pool:
                print(pool.map(abs, [-1, -2]))
            block.close()
            block.unlink()
        """
    )
    assert (result.stdout, result.stderr, result.left_behind) == ("[1, 2]\n", "", ())


def test_output_held_open_by_a_leftover_does_not_hang(bench: Bench) -> None:
    result = bench.run("import subprocess; subprocess.Popen(['sleep', '600']); print('said', flush=True)")
    assert result.stdout == "said\n"


def test_a_script_that_kills_its_whole_group_is_lost_and_leaves_nothing(bench: Bench) -> None:
    result = bench.run("import os, signal; os.killpg(0, signal.SIGKILL)")
    assert result.outcome is Outcome.LOST


def test_a_forked_child_of_the_caller_does_not_keep_the_script_alive(bench: Bench) -> None:
    script = bench.write(TREE)
    process = subprocess.Popen(
        caller(
            f"""
            import os, threading, time
            from pathlib import Path
            from coldfork import run_script
            place = Path({str(bench.folder / "pids")!r})
            def run():
                run_script({str(script)!r}, [str(place), "plain"], log_dir={str(bench.runs)!r}, grace=0.2)
            threading.Thread(target=run, daemon=True).start()
            while not list(place.iterdir()):
                time.sleep(0.01)
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            time.sleep(60)
            """
        ),
        env=variables({"PYTHONWARNINGS": "ignore"}),
        start_new_session=True,
    )
    try:
        found = all_there(bench, "plain")
        time.sleep(0.3)
        process.kill()
        process.wait()
        gone(found)
    finally:
        os.killpg(process.pid, signal.SIGKILL)


def test_ctrl_c_ends_the_script_and_is_heard(bench: Bench) -> None:
    script, place = bench.write(TREE), str(bench.folder / "pids")
    process = subprocess.Popen(
        caller(
            f"""
            from coldfork import run_script
            try:
                run_script({str(script)!r}, [{place!r}, "daemon"], log_dir={str(bench.runs)!r})
            except KeyboardInterrupt:
                print("interrupted")
            """
        ),
        env=variables(),
        stdout=subprocess.PIPE,
        text=True,
    )
    found = all_there(bench, "daemon")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n"
    assert not any(map(alive, found))
    report = json.loads((bench.only_run() / "report.json").read_text())
    assert report["outcome"] == "cancelled"


def test_a_thousand_descriptors_later_none_is_left_open(bench: Bench) -> None:
    bench.run("pass")
    before = descriptors()
    for _ in range(5):
        bench.run("print('x')", stdin=b"x", on_line=lambda line: None)
        bench.run("import time; time.sleep(60)", timeout=0.2)
    assert descriptors() == before


def test_the_script_gets_no_descriptor_of_its_caller(bench: Bench) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        result = bench.run(
            """
            import os
            found = os.listdir("/proc/self/fd")
            print(sorted(int(name) for name in found if os.path.exists(f"/proc/self/fd/{name}")))
            """
        )
    finally:
        os.close(reading)
        os.close(writing)
    found: Any = json.loads(result.stdout)
    assert found[:3] == [0, 1, 2]
    assert all(number >= 190 for number in found[3:])


def _supervisor(mark: str) -> int:
    """The parent of the script of a run."""
    for pid in marked(mark):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        parent = int(stat[1])
        if b"launch.supervisor.main" in Path(f"/proc/{parent}/cmdline").read_bytes():
            return parent
    raise AssertionError(f"nobody supervises {mark}")
