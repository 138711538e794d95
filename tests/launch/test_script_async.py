"""Isolated scripts from an event loop: cancelled, streamed, dozens at a time, and it never waits."""

from __future__ import annotations

import asyncio
import glob
import inspect
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coldfork import ScriptError, ScriptResult, arun_script
from coldfork.launch.script.result import Outcome
from coldfork.launch.supervisor import report_file
from tests.amounts import LONG
from tests.launch.scripting import Bench, alive, descriptors, marked, until

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

ENDLESS = """
import os, sys, time
from pathlib import Path
Path(sys.argv[1]).write_text(str(os.getpid()))
print("begun", flush=True)
if os.fork() == 0:
    os.setsid()
time.sleep(600)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def outcome_of(bench: Bench) -> Any:
    report = report_file.read(str(bench.only_run()))
    assert report is not None
    return report.outcome


def test_it_is_awaited_like_any_coroutine(bench: Bench) -> None:
    script = bench.write("print('hello')")

    async def main() -> list[ScriptResult]:
        one = await arun_script(script, log_dir=bench.runs)
        two = asyncio.create_task(arun_script(script, log_dir=bench.runs))
        more = await asyncio.gather(arun_script(script, log_dir=bench.runs), two)
        async with asyncio.TaskGroup() as group:
            last = group.create_task(arun_script(script, log_dir=bench.runs))
        return [one, *more, last.result()]

    assert [result.stdout for result in asyncio.run(main())] == ["hello\n"] * 4
    assert asyncio.iscoroutinefunction(arun_script)
    assert sys.version_info < (3, 12) or inspect.iscoroutinefunction(arun_script)


def test_one_that_is_never_awaited_starts_nothing(bench: Bench) -> None:
    run = arun_script(bench.write("pass"), log_dir=bench.runs)
    run.close()
    assert not bench.runs.exists()


def test_lines_are_taken_as_they_come_and_the_result_afterwards(bench: Bench) -> None:
    flag = bench.folder / "flag"
    script = bench.write(
        """
        import sys, time
        from pathlib import Path
        print("first", flush=True)
        while not Path(sys.argv[1]).exists():
            time.sleep(0.01)
        print("second")
        print("third", end="", file=sys.stderr)
        """
    )

    async def main() -> tuple[list[str], ScriptResult]:
        run = arun_script(script, [str(flag)], log_dir=bench.runs)
        taken = []
        async for line in run:
            taken.append(f"{line.stream} {line.text}")
            flag.touch()
        return taken, await run

    taken, result = asyncio.run(main())
    assert taken[0] == "stdout first"
    assert sorted(taken[1:]) == ["stderr third", "stdout second"]
    assert result.ok


def test_a_loop_that_is_left_early_can_still_wait_for_the_result(bench: Bench) -> None:
    script = bench.write("for number in range(10_000): print(number)")

    async def main() -> ScriptResult:
        run = arun_script(script, log_dir=bench.runs)
        async for line in run:
            assert line.text == "0"
            break
        return await run

    assert asyncio.run(main()).stdout.endswith("9999\n")


def test_a_callback_hears_every_line_in_order(bench: Bench) -> None:
    heard: list[str] = []
    script = bench.write("for number in range(50_000): print(number)")
    asyncio.run(_awaited(script, log_dir=bench.runs, on_line=lambda line: heard.append(line.text)))
    assert heard == [str(number) for number in range(50_000)]


def test_a_callback_that_fails_ends_the_script(bench: Bench) -> None:
    def fail(_: object) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        asyncio.run(
            _awaited(
                bench.write(ENDLESS), [str(bench.folder / "pid")], log_dir=bench.runs, on_line=fail, grace=0.2
            )
        )
    assert outcome_of(bench) == "cancelled"


def test_check_raises(bench: Bench) -> None:
    with pytest.raises(ScriptError):
        asyncio.run(_awaited(bench.write("raise SystemExit(4)"), log_dir=bench.runs, check=True))


@pytest.mark.must_hold
@pytest.mark.parametrize("how", ["cancel", "timeout", "loop", "streaming", "twice"])
def test_a_cancelled_task_ends_the_script(bench: Bench, how: str) -> None:
    place = bench.folder / "pid"
    script = bench.write(ENDLESS)

    async def stream() -> None:
        async for _ in arun_script(script, [str(place)], log_dir=bench.runs, grace=0.5):
            pass

    async def main() -> None:
        run = (
            stream() if how == "streaming" else _awaited(script, [str(place)], log_dir=bench.runs, grace=0.5)
        )
        task = asyncio.create_task(run)
        while not (place.exists() and place.read_text()):
            await asyncio.sleep(0.01)
        if how == "loop":
            return
        if how == "timeout":
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(task, 0.01)
            return
        task.cancel()
        if how == "twice":
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # When the task is done, so is the script.
        assert not alive(int(place.read_text()))

    asyncio.run(main())
    assert not alive(int(place.read_text()))
    assert marked(bench.only_run().name) == []
    assert outcome_of(bench) == "cancelled"


@pytest.mark.parametrize("steps", range(8))
def test_a_task_cancelled_while_it_starts_leaves_nothing(bench: Bench, steps: int) -> None:
    script = bench.write(ENDLESS)

    async def main() -> None:
        task = asyncio.create_task(
            _awaited(script, [str(bench.folder / "pid")], log_dir=bench.runs, grace=0.2)
        )
        for _ in range(steps):
            await asyncio.sleep(0.004)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    for run in bench.runs.iterdir() if bench.runs.exists() else ():
        assert marked(run.name) == []


STORM = """
import os, random, signal, sys, time
how, mark = sys.argv[1:]
print(mark, flush=True)
if how == "succeed":
    time.sleep(random.random() * 0.2)
elif how == "fail":
    raise RuntimeError(mark)
elif how == "exit":
    sys.exit(9)
elif how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "leave":
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
elif how in ("hang", "stubborn", "cancel", "lose"):
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
    time.sleep(600)
"""
KINDS = {
    "succeed": (Outcome.SUCCEEDED, 0, None),
    "fail": (Outcome.FAILED, 1, None),
    "exit": (Outcome.FAILED, 9, None),
    "kill": (Outcome.KILLED, None, "SIGKILL"),
    "leave": (Outcome.SUCCEEDED, 0, None),
    "hang": (Outcome.TIMED_OUT, None, "SIGTERM"),
    "stubborn": (Outcome.TIMED_OUT, None, "SIGKILL"),
    "lose": (Outcome.LOST, None, None),
}


AT_ONCE = 200 if LONG else 60


@pytest.mark.must_hold
def test_dozens_at_once_are_all_accounted_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = bench.folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    script = bench.write(STORM, "storm.py")
    chance = random.Random(7)
    kinds = [*KINDS, "cancel", "cancel", *chance.choices([*KINDS, "cancel"], k=AT_ONCE - 10)]
    before = descriptors()
    threads = threading.active_count()

    async def one(number: int, kind: str) -> ScriptResult | str:
        """Run one, and lose its supervisor or its task where that is its part."""
        begun = asyncio.Event()
        script_run = arun_script(
            script,
            [kind, f"mark-{number}"],
            log_dir=bench.runs / str(number),
            timeout=AT_ONCE / 10 if kind in ("hang", "stubborn") else None,
            grace=3 if kind == "hang" else 0.5,
            on_line=lambda line: begun.set(),
        )
        run = asyncio.create_task(script_run)
        if kind in ("cancel", "lose"):
            await begun.wait()
            if kind == "lose":
                assert script_run._following is not None
                os.kill(script_run._following.supervised.pid, signal.SIGKILL)
            else:
                run.cancel()
        try:
            return await run
        except asyncio.CancelledError:
            return "cancelled"

    async def main() -> list[ScriptResult | str]:
        return await asyncio.gather(*(one(number, kind) for number, kind in enumerate(kinds)))

    with held_times() as held:
        results = asyncio.run(main())
    for number, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        if kind == "cancel":
            assert result == "cancelled"
            continue
        assert isinstance(result, ScriptResult)
        assert (result.outcome, result.status, result.signal) == KINDS[kind], (kind, result)
        assert result.stdout == f"mark-{number}\n"
        assert kind != "leave" or result.left_behind == ("python",) or len(result.left_behind) == 1
    reports = [report_file.read(str(run)) for folder in bench.runs.iterdir() for run in folder.iterdir()]
    states = Counter((report.state, report.outcome) for report in reports if report)
    assert sum(states.values()) == len(kinds)
    assert {state for state, _ in states} == {"ended", "abandoned"}
    assert states["ended", "cancelled"] == kinds.count("cancel")
    assert states["abandoned", "lost"] == kinds.count("lose")
    assert descriptors() == before
    assert threading.active_count() <= threads + 2
    assert list(temporary.iterdir()) == []
    left = {path.name for path in bench.runs.glob("*/*/*")}
    assert left == {"report.json", "stdout", "stderr"}
    # Other tests have runs of their own meanwhile.
    until(lambda: not marked("-storm-"), "the end of every process")
    # What the loop did at a time and what it waited for meanwhile, not what the machine was busy with. If it
    # waited for a script, it would do so for each; one callback may be slow for reasons of the machine.
    assert sum(one > 0.05 for one in held) <= 3, sorted(held)[-9:]


@contextmanager
def held_times() -> Iterator[list[float]]:
    """How long each callback held its event loop, without the time that the processor was elsewhere."""
    held: list[float] = []
    handles: Any = asyncio.Handle
    original = handles._run

    def _run(handle: Any) -> None:
        waited, began = _run_delay(), time.perf_counter()
        original(handle)
        ended = time.perf_counter()
        held.append(ended - began - (_run_delay() - waited))

    handles._run = _run
    try:
        yield held
    finally:
        handles._run = original


def _run_delay() -> float:
    """The seconds that threads of this process were ready to run and did not, as the kernel counts them.

    All of them, because the loop may be waiting for one that holds the interpreter's lock.
    """
    waited = 0
    for place in glob.glob("/proc/self/task/*/schedstat"):  # noqa: PTH207
        try:
            waited += int(Path(place).read_text(encoding="ascii").split()[1])
        except OSError:
            continue
    return waited / 1e9


async def _awaited(*words: Any, **how: Any) -> ScriptResult:
    return await arun_script(*words, **how)
