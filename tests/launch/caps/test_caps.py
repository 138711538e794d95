"""A script and all it starts are held to their caps, and result, report and command say so."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.script.call import ScriptResult
from coldfork.launch.script.result import Outcome
from coldfork.launch.supervisor import control_group
from coldfork.launch.supervisor.limits import SWITCH, parse_size
from coldfork.model.errors import UsageError
from tests.launch.scripting import SECONDS, Bench, alive, marked
from tests.launch.sidebyside import said_by

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]
MIB = 1024**2
ATTEMPTS = 3
"""A machine on which many others work may give nobody a processor for longer than a cap can wait."""

#: Every process keeps its own account of what it holds, or has used, where the test reads it afterwards.
COUNTING = """
import mmap, os, struct, sys, time
shared = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096)
me = 0
def note(count):
    struct.pack_into("d", shared, me * 8, count)
def among(count):
    global me
    for number in range(1, count):
        if not os.fork():
            me = number
            return
"""
GROWING = (
    COUNTING
    + """
among(int(sys.argv[2]))
held = []
while True:
    held.append(b"x" * 262144)
    note(len(held) * 262144)
"""
)
#: What they have from their parent is shared, until they write to it.
WRITING = (
    COUNTING
    + """
size = 160 << 20
held = bytearray(size)
held[::4096] = b"x" * len(held[::4096])
among(int(sys.argv[2]))
note(size if me == 0 else 0)
for place in range(0, size if me else 0, 4096):
    held[place] = 1
    note(place)
time.sleep(600)
"""
)
BURNING = (
    COUNTING
    + """
among(int(sys.argv[2]))
while True:
    note(time.process_time())
"""
)
#: One process after the other burns for a while, and nobody waits for them: the kernel forgets their time.
FORGOTTEN = (
    COUNTING
    + """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    me += 1
    if not os.fork():
        while time.process_time() < 0.4:
            note(time.process_time())
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass
"""
)
#: Children that live for a moment, three at a time, and are waited for or forgotten like those before.
FLEETING = (
    COUNTING
    + """
import signal
if sys.argv[3] == "forgotten":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
among(int(sys.argv[2]))
beside, turns = me * 160, 0
while True:
    note(time.process_time())
    turns += 1
    child = os.fork()
    if not child:
        me = 4 + beside + turns % 160
        before, = struct.unpack_from("d", shared, me * 8)
        while time.process_time() < 0.05:
            note(before + time.process_time())
        os._exit(0)
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass
"""
)
#: A parent that grows slowly, beside children that hold a good deal for a moment, and share what it has.
CROWDED = (
    COUNTING
    + """
def peak():
    held = sum(struct.unpack_from("5d", shared))
    if held > struct.unpack_from("d", shared, 80)[0]:
        struct.pack_into("d", shared, 80, held)
kept = []
while True:
    me = 0
    kept.append(b"x" * (16 << 20))
    note(len(kept) * (16 << 20))
    peak()
    for number in range(1, 5):
        if not os.fork():
            me, held = number, []
            for _ in range(64 if me == 1 else 16):
                held.append(b"x" * (1 << 20))
                note(len(held) * (1 << 20))
                peak()
            time.sleep(0.02)
            note(0)
            os._exit(0)
    for _ in range(4):
        os.wait()
"""
)


class Counted(Bench):
    """Scripts whose processes keep accounts."""

    def counted(self, text: str, processes: int, *words: str, **how: Any) -> tuple[ScriptResult, float]:
        """Run one until a cap ends it; the result, and the sum of the accounts."""
        place = self.folder / "accounts"
        place.write_bytes(bytes(4096))
        result = self.run(text, str(place), str(processes), *words, **how)
        return result, sum(struct.unpack("512d", place.read_bytes()))


@pytest.fixture
def bench(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No control groups."""
    monkeypatch.setenv(SWITCH, "watch")


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control groups, in which processor time is counted at least."""
    monkeypatch.delenv(SWITCH, raising=False)
    group = control_group.make(f"try-{os.getpid()}", os.getpid(), memory=False)
    if group is None:
        pytest.skip("this user may make no control group here")
    group.remove()


def within(attempt: Callable[[], tuple[ScriptResult, float]], cap: float) -> ScriptResult:
    """The first result whose account stayed within a tenth of the cap; it is refused where none did."""
    for _ in range(ATTEMPTS):
        result, account = attempt()
        if account <= cap * 1.1:
            return result
    raise AssertionError(f"{account} is more than a tenth beyond {cap}: {result.caps}")


@pytest.mark.must_hold
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize(
    ("text", "processes", "most"), [(GROWING, 1, "256 MiB"), (GROWING, 5, "512M"), (WRITING, 5, 512 * MIB)]
)
def test_memory_stays_within_a_tenth_of_its_cap_for_a_tree(
    bench: Counted, text: str, processes: int, most: int | str
) -> None:
    cap = parse_size(most)
    result = within(lambda: bench.counted(text, processes, max_memory=most), cap)
    assert (result.outcome, result.status, result.signal) == (Outcome.OVER_MEMORY, None, "SIGKILL")
    assert result.caps is not None
    memory = result.caps["memory"]
    assert (memory["most"], memory["by"], result.caps["cpu"]) == (cap, "watch", None)
    assert cap <= memory["reached"] <= cap * 1.1
    assert result.explained().endswith(f" MiB of {cap // MIB} MiB of memory")
    assert not marked(result.run_dir.name)


@pytest.mark.usefixtures("watched")
def test_what_processes_share_counts_once(bench: Counted) -> None:
    """Eight processes show 160 MiB each, and hold little more than that together."""
    text = WRITING.replace("size if me else 0", "0").replace("time.sleep(600)", "time.sleep(1)\n")
    result, _ = bench.counted(text, 8, max_memory="400 MiB")
    assert result.outcome is Outcome.SUCCEEDED
    assert result.caps is not None
    assert 160 * MIB < result.caps["memory"]["reached"] < 400 * MIB


@pytest.mark.must_hold
@pytest.mark.usefixtures("watched")
def test_a_tree_whose_children_come_and_go_gets_all_its_memory_and_no_more(bench: Counted) -> None:
    """Who has ended while he was asked holds nothing: not what he held before, beside what others share."""
    cap = 400 * MIB
    # Between two looks of the watcher four children come to hold 112 MiB, on a busy machine twice.
    burst = (2 * 112 + 16) * MIB

    def attempt() -> float:
        result, _ = bench.counted(CROWDED, 1, max_memory=cap, timeout=SECONDS * 3)
        assert result.outcome is Outcome.OVER_MEMORY
        return float(struct.unpack_from("d", (bench.folder / "accounts").read_bytes(), 80)[0])

    peaks = [attempt()]
    while peaks[-1] > cap + burst and len(peaks) < ATTEMPTS:
        peaks.append(attempt())
    assert min(peaks) >= 0.85 * cap
    assert peaks[-1] <= cap + burst


def over_cpu(bench: Counted, text: str, by: str, most: int, *words: str) -> ScriptResult:
    result = within(lambda: bench.counted(text, 3, *words, max_cpu=most, timeout=SECONDS * 3), most)
    assert result.outcome is Outcome.OVER_CPU
    assert result.caps is not None
    cpu = result.caps["cpu"]
    assert (cpu["most"], cpu["by"]) == (most, by)
    assert most <= cpu["reached"] <= most * 1.1
    said = f"the script was ended after {cpu['reached']:.1f} s of {most} s of processor time"
    assert result.explained() == said
    return result


@pytest.mark.must_hold
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("text", [BURNING, FORGOTTEN], ids=["at-once", "forgotten"])
def test_processor_time_stays_within_a_tenth_of_its_cap_for_a_tree(bench: Counted, text: str) -> None:
    over_cpu(bench, text, "watch", 2 if text is BURNING else 4)


@pytest.mark.must_hold
@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("fate", ["waited", "forgotten"])
def test_the_time_of_children_that_live_for_a_moment_counts_too(bench: Counted, fate: str) -> None:
    over_cpu(bench, FLEETING, "watch", 3, fate)


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("fate", ["waited", "forgotten"])
def test_a_control_group_counts_children_that_live_for_a_moment(bench: Counted, fate: str) -> None:
    over_cpu(bench, FLEETING, "cgroup", 2, fate)


@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("text", [BURNING, FORGOTTEN], ids=["at-once", "forgotten"])
def test_a_control_group_counts_processor_time_and_is_gone_afterwards(bench: Counted, text: str) -> None:
    result = over_cpu(bench, text, "cgroup", 2)
    places = [Path(place) for place in control_group._places(os.getpid(), "/proc")]
    assert places
    assert not [place for place in places if (place / f"coldfork-{result.run_dir.name}").exists()]


def test_who_is_over_its_time_is_asked_first(bench: Counted) -> None:
    result = bench.run(
        """
        import signal, sys
        def leave(*_):
            print("cleaned up", flush=True)
            sys.exit(5)
        signal.signal(signal.SIGTERM, leave)
        while True:
            pass
        """,
        max_cpu=1,
    )
    assert (result.outcome, result.status, result.stdout) == (Outcome.OVER_CPU, 5, "cleaned up\n")


@pytest.mark.usefixtures("watched")
def test_who_does_not_listen_is_killed_before_its_grace_is_over(bench: Counted) -> None:
    text = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + BURNING
    result = within(lambda: bench.counted(text, 2, max_cpu=1, grace=SECONDS), 1)
    assert (result.outcome, result.signal) == (Outcome.OVER_CPU, "SIGKILL")


@pytest.mark.usefixtures("watched")
def test_the_memory_of_what_left_the_tree_by_a_double_fork_counts_too(bench: Counted) -> None:
    text = """
        import os, time, sys
        from pathlib import Path
        if not os.fork():
            os.setsid()
            if os.fork():
                os._exit(0)
            Path(sys.argv[1]).write_text(str(os.getpid()))
            held = []
            while True:
                held.append(b"x" * 262144)
        os.wait()
        time.sleep(600)
        """
    result = bench.run(text, str(bench.folder / "pid"), max_memory="128 MiB")
    assert result.outcome is Outcome.OVER_MEMORY
    assert not alive(int((bench.folder / "pid").read_text()))


def test_within_its_caps_a_script_ends_as_it_does_without(bench: Counted) -> None:
    result = bench.run("print('done')", max_memory="4 GiB", max_cpu=SECONDS, timeout=SECONDS)
    assert (result.outcome, result.stdout) == (Outcome.SUCCEEDED, "done\n")
    assert result.caps is not None
    assert 0 < result.caps["cpu"]["reached"] < SECONDS
    assert bench.run("pass").caps is None


def test_the_first_end_that_comes_is_the_outcome(bench: Counted) -> None:
    text = "import time\nwhile True:\n    time.sleep(0.01)"
    result = bench.run(text, timeout=0.5, max_memory="4 GiB", max_cpu=600)
    assert result.outcome is Outcome.TIMED_OUT


def test_a_cap_is_no_reason_to_wait(bench: Counted) -> None:
    """A watch that sleeps must not hold up the end of its script."""
    began = time.monotonic()
    plain = bench.run("pass").seconds
    capped = bench.run("pass", max_memory="4 GiB", max_cpu=600).seconds
    assert capped < plain + 5
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"max_memory": "plenty"}, "max_memory='plenty' is not a size"),
        ({"max_memory": 0}, "is too small to use"),
        ({"max_cpu": 0}, "max_cpu has to be a number of seconds of processor time, not 0"),
        ({"max_cpu": float("nan")}, "max_cpu has to be a number of seconds"),
        ({"max_cpu": "1"}, "max_cpu has to be a number of seconds"),
    ],
)
def test_what_is_no_cap_is_refused_before_anything_starts(
    bench: Counted, how: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        bench.run("pass", **how)
    assert not bench.runs.exists()


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize(
    ("text", "option", "status", "said"),
    [
        (GROWING, ("--max-memory", "256MiB"), 137, "coldfork: the script was killed at 2"),
        (
            BURNING,
            ("--max-cpu", "1"),
            124,
            "coldfork: the script was ended after 1.0 s of 1 s of processor time",
        ),
    ],
)
def test_exec_says_which_cap_ended_it(
    bench: Counted, text: str, option: tuple[str, str], status: int, said: str
) -> None:
    bench.write(text)
    (bench.folder / "accounts").write_bytes(bytes(4096))
    words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", *option]
    told = said_by([*words, "--", "script.py", "accounts", "2"], bench.folder)
    assert told.status == status
    assert told.errors.splitlines()[-1].startswith(said)
    assert told.errors.rstrip().endswith("report.json")
