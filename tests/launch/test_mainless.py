"""Contexts in programs whose main module no other process can import: functions travel by value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch.sidebyside import variables

LIMIT = 120.0
DEFINED = """
import coldfork, sys

class Pair:
    def __init__(self, content):
        self.content = content

    def __eq__(self, other):
        return type(self) is type(other) and self.content == other.content

def square(value):
    return value * value

def pair(value):
    return Pair(square(value))

def put(queue, value):
    queue.put(pair(value))

def begin(value):
    global BEGAN
    BEGAN = value

def add(value):
    return BEGAN + value

def refuse(value):
    raise ValueError(value)

def call(queue):
    sys.exit(queue.get()(5))

context = coldfork.get_context({method!r})
"""
POOLS = """
with context.Pool(2, begin, (10,)) as pool:
    print(pool.map_async(square, [1, 2, 3]).get(60), pool.apply(pair, (3,)) == Pair(9))
    print(pool.map(lambda value: value + 1, [1]), pool.apply(add, (1,)))
    try:
        pool.apply(refuse, (3,))
    except ValueError as error:
        print("refused", error)
    pool.close()
    pool.join()
"""
POOLED = "[1, 4, 9] True\n[2] 11\nrefused 3\n"
PROCESSES = """
class Worker(context.Process):
    def __init__(self, queue):
        super().__init__()
        self.queue = queue

    def run(self):
        self.queue.put(square(7))

for queue in (context.Queue(), context.JoinableQueue(), context.SimpleQueue()):
    process = context.Process(target=put, args=(queue, 4))
    process.start()
    print(queue.get() == Pair(16), end=" ")
    process.join()
queue.put(square)
process = context.Process(target=call, kwargs={"queue": queue})
process.start()
process.join()
worker = Worker(queue)
worker.start()
print(process.exitcode, queue.get())
worker.join()
"""
PROCESSED = "True True True 25 49\n"


def told(*words: str, said: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *words], input=said, env=variables(), capture_output=True, text=True, timeout=LIMIT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("method", ["spawn", "forkserver", "zygote"])
def test_what_a_program_without_a_file_defines_is_found_in_its_processes(method: str) -> None:
    text = DEFINED.replace("{method!r}", repr(method)) + POOLS + PROCESSES
    assert told("-c", text) == POOLED + PROCESSED


def test_so_is_what_was_typed_at_the_interpreters_prompt() -> None:
    typed = (DEFINED.replace("{method!r}", "'spawn'") + POOLS).replace("\n\n", "\n")
    # A block ends with an empty line there.
    lines: list[str] = []
    for line in typed.splitlines():
        if lines and lines[-1].startswith(" ") and not line.startswith((" ", "except")):
            lines.append("")
        lines.append(line)
    assert told("-q", "-i", said="\n".join([*lines, "", ""])) == POOLED


def test_what_has_a_file_keeps_the_contexts_of_multiprocessing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import coldfork, multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn', 'forkserver'):\n"
        "        print(coldfork.get_context(method) is multiprocessing.get_context(method))\n",
        encoding="utf-8",
    )
    assert told(str(script)) == "True\n" * 3
