"""Things that processes share: CPython refuses to send those of a fork to a process that begins anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ALONE, ended, is_run, lines_of, marked, program

RULE = "mixed-contexts"
HEAD = "import multiprocessing\n\ndef work(*given, **named):\n    pass\n\n"
END = "one.start()  # fault\none.join()"
FAULTS = {
    "a-queue": """
queue = multiprocessing.Queue()
one = multiprocessing.get_context("spawn").Process(target=work, args=(queue,))
""",
    "an-event-by-name": """
from multiprocessing import Event, get_context
one = get_context("forkserver").Process(target=work, kwargs={"event": Event()})
""",
    "a-lock-of-a-context": """
lock = multiprocessing.get_context("fork").Lock()
one = multiprocessing.get_context("spawn").Process(target=work, args=[lock])
""",
    "a-value-in-a-list": """
values = [multiprocessing.Value("i", n) for n in range(2)]
one = multiprocessing.get_context("spawn").Process(target=work, args=(values,))
""",
}
FAULTS |= {
    "a-partial": """
import functools
target = functools.partial(work, multiprocessing.Queue())
one = multiprocessing.get_context("spawn").Process(target=target)
""",
}
SOUND = {
    "one-context": """
context = multiprocessing.get_context("spawn")
one = context.Process(target=work, args=(context.Queue(), context.Lock()))
""",
    "the-other-way-round": """
queue = multiprocessing.get_context("spawn").Queue()
one = multiprocessing.get_context("fork").Process(target=work, args=(queue,))
""",
    "two-that-begin-anew": """
queue = multiprocessing.get_context("forkserver").SimpleQueue()
one = multiprocessing.get_context("spawn").Process(target=work, args=(queue,))
""",
    "a-pipe": """
here, there = multiprocessing.Pipe()
one = multiprocessing.get_context("spawn").Process(target=work, args=(there,))
""",
    "a-raw-value": """
one = multiprocessing.get_context("spawn").Process(target=work, args=(multiprocessing.RawValue("i", 0),))
""",
    "a-method-that-was-set": """
multiprocessing.set_start_method("spawn")
one = multiprocessing.get_context("spawn").Process(target=work, args=(multiprocessing.Queue(),))
""",
}
EVERY = {**FAULTS, **SOUND}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    end = END if name in FAULTS else END.replace("  # fault", "")
    text = program(HEAD, f"{EVERY[name].strip()}\n{end}")
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    if is_run(name, EVERY):
        told = ended(tmp_path).stderr
        assert ("A SemLock created in a fork context" in told) is (name in FAULTS), told


OBJECT = """
class Engine:
    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        self.queue = multiprocessing.Queue()

    def start(self):
        one = self.context.Process(target=self.run)
        one.start()  # fault

    def run(self):
        self.queue.put(1)

"""


def test_an_object_takes_along_what_it_holds(tmp_path: Path) -> None:
    text = program(f"{HEAD}{OBJECT}", "Engine().start()")
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    assert ALONE or "A SemLock created in a fork context" in ended(tmp_path).stderr


def test_what_an_object_of_a_class_of_a_context_holds_is_sent_too(tmp_path: Path) -> None:
    text = """import multiprocessing

context = multiprocessing.get_context("spawn")

class Worker(context.Process):
    def __init__(self):
        super().__init__()
        self.queue = multiprocessing.Queue()

if __name__ == "__main__":
    one = Worker()
    one.start()  # fault
"""
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    assert ALONE or "A SemLock created in a fork context" in ended(tmp_path).stderr
