"""With few descriptors left a script runs, or one line says that there are too few; many are no trouble."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

if not sys.platform.startswith("linux"):
    pytest.skip("scripts are isolated on Linux", allow_module_level=True)

from tests.launch.scripting import SECONDS, Bench, variables

#: Takes all descriptors but so many of a limit, and tells how scripts go then.
TAKING = """
    import asyncio, json, os, resource, sys
    import coldfork
    from coldfork import arun_script, run_script
    limit, left, way, *warm = sys.argv[1:]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(limit), hard))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for _ in range(min(int(left), len(taken))):
        os.close(taken.pop())
    def is_open(number):
        try:
            os.fstat(number)
        except OSError:
            return False
        return True
    def others():
        return list(filter(is_open, range(int(limit))))
    async def ran():
        return await arun_script("script.py", log_dir="runs", warm=warm)
    before = others()
    try:
        result = run_script("script.py", log_dir="runs", warm=warm) if way == "sync" else asyncio.run(ran())
    except coldfork.ColdforkError as error:
        told = ["refused", str(error)]
    else:
        told = [result.outcome, result.stdout, result.cold_because, list(result.notes)]
    if way == "sync":
        assert others() == before, "a descriptor is left open"
    print(json.dumps(told))
"""
TOO_FEW = (
    "the script was not started: this process may open no more files; close some, or raise the limit, "
    "for example with ulimit -n 1024"
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write("print('hello')")
    made.write(TAKING, "taking.py")
    return made


def told(bench: Bench, limit: int, left: int, way: str, *warm: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "taking.py", str(limit), str(left), way, *warm],
        cwd=bench.folder,
        env=variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said: list[object] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("way", ["sync", "async"])
def test_sixty_four_descriptors_are_enough(bench: Bench, way: str) -> None:
    assert told(bench, 64, 40, way) == ["succeeded", "hello\n", None, []]


@pytest.mark.parametrize("left", [3, 5, 8])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_who_has_too_few_left_is_told_in_one_line(bench: Bench, way: str, left: int) -> None:
    assert told(bench, 64, left, way) == ["refused", TOO_FEW]
    # Whatever was begun of it is no run that anybody could take for one.
    for report in bench.runs.rglob("report.json"):
        assert json.loads(report.read_text())["state"] == "abandoned"


def test_however_few_are_left_it_runs_or_is_refused(bench: Bench) -> None:
    seen = set()
    for left in range(16):
        outcome, said, *_ = told(bench, 64, left, "sync")
        seen.add(outcome)
        assert outcome == "succeeded" or "open" in str(said), (left, said)
    assert seen == {"succeeded", "refused"}


@pytest.mark.parametrize("limit", [64, 24])
def test_exec_runs_with_few(bench: Bench, limit: int) -> None:
    done = executed(bench, limit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


@pytest.mark.parametrize("limit", [6, 8, 10])
def test_exec_says_in_one_line_that_there_are_too_few(bench: Bench, limit: int) -> None:
    done = executed(bench, limit)
    assert (done.returncode, done.stdout) == (2, "")
    # Which of the two finds that out makes no difference to whoever reads it.
    said = done.stderr.replace("the script's supervisor may", "this process may")
    assert said == f"coldfork: {TOO_FEW}\n"


def executed(bench: Bench, limit: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", "--", "script.py"]
    return subprocess.run(
        ["sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", *words],
        cwd=bench.folder,
        env=variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture
def many() -> Iterator[None]:
    """A process that has eleven hundred descriptors open, so that whatever comes next has a higher number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip(f"no more than {hard} descriptors may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        yield
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many")
def test_who_has_many_open_may_wait_for_one_more(bench: Bench) -> None:
    from coldfork.launch.plumbing.ask import until_its_end
    from coldfork.launch.plumbing.loop import readable

    ended = until_its_end([sys.executable, "-c", "print('watched')"], os.environ, timeout=SECONDS)
    assert (ended.status, ended.output) == (0, "watched\n")
    assert bench.run("print('hello')").stdout == "hello\n"
    reading, writing = os.pipe()
    try:
        assert reading > 1024
        assert readable([reading], 0) == []
        os.write(writing, b"x")
        assert readable([reading], SECONDS) == [reading]
    finally:
        os.close(reading)
        os.close(writing)


def test_exec_hands_a_signal_on_with_many_open(bench: Bench) -> None:
    """The witness of the group is asked over a pipe whose number is high."""
    bench.write(
        """
        import signal, sys, time
        signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
        print("ready", flush=True)
        time.sleep(600)
        """
    )
    program = """
        import os, resource, sys
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (2048 if hard < 0 else min(2048, hard), hard))
        for _ in range(1100):
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
        words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", "--", "script.py"]
        os.execv(words[0], words)
        """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=bench.folder,
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(10)
    _, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (7, "")
