"""Things that are handed to processes: those said to be refused are those that CPython refuses to pickle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules.lines import lines_of

RULE = "unpicklable-target"
WORK = "import functools, multiprocessing\n\ndef work(i=0):\n    return i\n\n"
#: By name: the body of `main` below `WORK`; the line that is refused ends with `# fault`.
FAULTS = {
    "a-lambda": """
one = multiprocessing.get_context("spawn").Process(target=lambda: 1)
one.start()  # fault
""",
    "a-local-function": """
def local():
    return 1
context = multiprocessing.get_context("forkserver")
one = context.Process(target=local)
one.start()  # fault
""",
    "an-argument": """
def local():
    return 1
one = multiprocessing.get_context("spawn").Process(target=work, args=(local,))
one.start()  # fault
""",
    "a-local-class": """
class Task:
    def run(self):
        return 1
one = multiprocessing.get_context("spawn").Process(target=Task().run)
one.start()  # fault
""",
    "a-task-of-a-pool-that-was-forked": """
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.map(lambda i: i, range(2))  # fault
""",
    "a-task-of-an-executor": """
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
    def local(i):
        return i
    pool.submit(local, 1).result()  # fault
""",
    "a-partial": """
one = multiprocessing.get_context("spawn").Process(target=functools.partial(lambda i: i, 1))
one.start()  # fault
""",
    "an-initializer": """
pool = multiprocessing.get_context("spawn").Pool(1, lambda: None)  # fault
""",
}
SOUND = {
    "a-function-of-the-module": """
one = multiprocessing.get_context("spawn").Process(target=work, args=(1,))
one.start()
one.join()
""",
    "a-lambda-that-is-forked": """
one = multiprocessing.get_context("fork").Process(target=lambda: 1)
one.start()
one.join()
""",
    "a-partial-of-the-module": """
one = multiprocessing.get_context("spawn").Process(target=functools.partial(work, 1))
one.start()
one.join()
""",
    "a-thread": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    pool.submit(lambda: 1).result()
""",
    "a-callback": """
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.apply_async(work, (1,), callback=lambda found: None).get()
""",
}
EVERY = {**FAULTS, **SOUND}


def program(body: str) -> str:
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    return f"{WORK}def main():\n{lines}\nif __name__ == '__main__':\n    main()\n"


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    text = program(EVERY[name])
    (tmp_path / "run.py").write_text(text)
    marked = [n for n, line in enumerate(text.split("\n"), 1) if line.endswith("# fault")]
    assert lines_of(RULE, tmp_path, "3.11") == marked
    if name == "an-initializer":  # it goes on making workers
        return
    if sys.platform == "emscripten":  # where no process can start another one
        return
    ended = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    refused = "pickle" in ended.stderr.lower()
    assert refused is bool(marked), ended.stderr


def test_a_loader_that_spawns_is_sent_its_collate_function(tmp_path: Path) -> None:
    body = """
from torch.utils.data import DataLoader
def collate(batch):
    return batch
for batch in DataLoader([1, 2], collate_fn=collate, num_workers=1, multiprocessing_context="spawn"):
    print(batch)
"""
    (tmp_path / "run.py").write_text(program(body))
    assert lines_of(RULE, tmp_path, "3.11") == [11]
    (tmp_path / "run.py").write_text(program(body.replace('"spawn"', '"fork"')))
    assert lines_of(RULE, tmp_path, "3.11") == []


def test_what_rests_on_a_fork_is_found_for_python_3_14(tmp_path: Path) -> None:
    body = SOUND["a-lambda-that-is-forked"].replace('get_context("fork").', "")
    (tmp_path / "run.py").write_text(program(body))
    assert lines_of(RULE, tmp_path, "3.13") == []
    assert len(lines_of(RULE, tmp_path, "3.14")) == 1
