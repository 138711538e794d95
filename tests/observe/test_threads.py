"""A device that another thread woke is never laid at the door of the import in progress."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
SOURCES = HERE.parent.parent / "src"
REPEATS = int(os.environ.get("COLDFORK_REPEATS", "2"))

# Who woke the device in each program: the thread, and the module whose import was in progress on that thread.
OTHER = ("waker-thread", None)
MAIN = ("MainThread", "grown")

SETUP = """
import planted_device as device, threading, time
go, done = threading.Event(), threading.Event()
"""

PROGRAMS: dict[str, tuple[str, tuple[str, str | None]]] = {
    "started and joined": ("device.in_thread(device.wake, 'waker-thread', wait=True)", OTHER),
    "started and left running": (
        "device.in_thread(device.wake, 'waker-thread', wait=False)\nimport colorsys, wave, chunk_of_nothing",
        OTHER,
    ),
    "started while the import computes": (
        "device.in_thread(device.wake, 'waker-thread', wait=False)\ndevice.compute(0.02)\nimport colorsys",
        OTHER,
    ),
    "waiting since before, told to wake": (
        """
def work():
    go.wait()
    device.wake()
    done.set()
device.in_thread(work, 'waker-thread', wait=False)
import colorsys
go.set()
done.wait()
import wave
""",
        OTHER,
    ),
    "told to wake, not waited for": (
        """
def work():
    go.wait()
    device.wake()
    time.sleep(1)
device.in_thread(work, 'waker-thread', wait=False)
import colorsys
go.set()
import wave
import tabnanny
import this_is_not_there
""",
        OTHER,
    ),
    "wakes after a while, in C code that lets go of the interpreter": (
        """
def work():
    time.sleep(0.01)
    device.foreign_wake(device.PLACE, 1, 1)
    time.sleep(1)
device.in_thread(work, 'waker-thread', wait=False)
for name in ('colorsys', 'wave', 'tabnanny', 'stringprep', 'nntplib', 'sched', 'rlcompleter'):
    try:
        __import__(name)
    except ImportError:
        pass
    device.compute(0.004)
""",
        OTHER,
    ),
    "imports a module that wakes": (
        "device.in_thread(lambda: __import__('guilty'), 'waker-thread', wait=True)",
        ("waker-thread", "guilty"),
    ),
    "imports a module that wakes while the main thread imports too": (
        """
device.in_thread(lambda: __import__('guilty'), 'waker-thread', wait=False)
import colorsys, wave, tabnanny
device.compute(0.01)
""",
        ("waker-thread", "guilty"),
    ),
    "the import itself wakes, beside an idle thread": (
        """
device.in_thread(go.wait, 'idle-thread', wait=False)
while not go._cond._waiters:
    time.sleep(0.001)
device.until_others_rest()
import colorsys
device.wake()
import wave
""",
        MAIN,
    ),
    "the import itself wakes, beside a busy thread": (
        """
device.in_thread(lambda: device.compute(0.2), 'busy-thread', wait=False)
import colorsys
device.wake()
import wave
""",
        MAIN,
    ),
    "the import itself wakes, after its thread ended": (
        """
device.in_thread(lambda: None, 'short-thread', wait=True)
device.until_others_rest()
import colorsys
device.wake()
""",
        MAIN,
    ),
}


def wakers(folder: Path, body: str, *stage2: str) -> list[dict[str, Any]]:
    """Who woke the device, as a real process says that imports the program under watch."""
    (folder / "grown.py").write_text(SETUP + body + "\n", encoding="utf-8")
    (folder / "guilty.py").write_text("import planted_device\nplanted_device.wake()\n", encoding="utf-8")
    process = subprocess.run(
        [sys.executable, str(HERE / "watched_program.py"), str(folder), "grown", *stage2],
        env={"PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    events = json.loads(process.stdout)["events"]
    assert [event for event in events if event["event"] == "trouble"] == []
    return [event["waker"] for event in events if event["event"] == "wake"]


@pytest.mark.must_hold
@pytest.mark.parametrize("stage2", [(), ("grown", "guilty")], ids=["stage 1", "stage 2"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_or_unknown(name: str, stage2: tuple[str, ...], tmp_path: Path) -> None:
    """Right, or unknown with the names of the threads it may have been; never wrong."""
    body, (thread, module) = PROGRAMS[name]
    for _ in range(REPEATS):
        for waker in wakers(tmp_path, body, *stage2):
            if waker["thread"].startswith("unknown: "):
                assert waker["module"] is None
                assert "MainThread" in waker["thread"]
            else:
                assert (waker["thread"], waker["module"]) == (thread, module), waker


@pytest.mark.parametrize(
    "name",
    ["the import itself wakes, beside an idle thread", "the import itself wakes, after its thread ended"],
)
def test_an_idle_thread_costs_no_answer(name: str, tmp_path: Path) -> None:
    """Threads that did nothing meanwhile are ruled out, so that the import is named all the same."""
    body, (thread, module) = PROGRAMS[name]
    answers = [wakers(tmp_path, body)[0] for _ in range(5)]
    assert (thread, module) in [(waker["thread"], waker["module"]) for waker in answers]


WAKES_WHILE_OTHERS_REST = """
def work():
    device.until_others_rest()
    device.wake()
device.in_thread(work, 'waker-thread', wait=True)
"""


def test_the_exact_look_names_the_thread_that_woke(tmp_path: Path) -> None:
    """Inside the suspected module every call is watched on every thread, which tells them apart.

    Only while no other thread runs: on a busy machine the one that waits may not have come to rest yet.
    """
    answers = [wakers(tmp_path, WAKES_WHILE_OTHERS_REST, "grown")[0] for _ in range(5)]
    named = [waker for waker in answers if waker["thread"] == "waker-thread"]
    assert named, answers
    assert [frame["function"] for frame in named[0]["stack"]][-1:] == ["wake"]


BETWEEN_LOOK_AND_MARK = """
import threading, time
from coldfork.observe.attribution import Attribution

woken, go, done, end = [], threading.Event(), threading.Event(), threading.Event()

class Sensor:
    waits = False
    def awake(self):
        answer = (("cuda", "driver"),) if woken else ()
        if self.waits:
            self.waits = False
            go.set()
            done.wait()
            time.sleep(0.05)
        return answer

def work():
    go.wait()
    woken.append(1)
    done.set()
    end.wait()

threading.Thread(target=work, name="waker-thread", daemon=True).start()
time.sleep(0.05)
sensor, events = Sensor(), []
attribution = Attribution(sensor, events.append, "program")
sensor.waits = True
attribution.poll()
attribution.poll()
print(events[0]["waker"]["thread"], events[0]["waker"]["module"])
"""


def test_who_wakes_it_just_after_a_look_is_still_seen() -> None:
    """The window begins before the look that found nothing, and not after it."""
    process = subprocess.run(
        [sys.executable, "-c", BETWEEN_LOOK_AND_MARK],
        env={"PYTHONPATH": str(SOURCES), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert process.stdout == "unknown: MainThread or waker-thread None\n"
