"""Things that are handed to processes: those said to be refused are those that CPython refuses to pickle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ended, is_run, lines_of, marked, program

RULE = "unpicklable-target"
WORK = """import functools, multiprocessing

def work(i=0):
    return i

def passing(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given)
    return wrapper

@passing
def decorated(i):
    return i

"""
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
    "what-a-decorator-puts-in-its-place": """
one = multiprocessing.get_context("spawn").Process(target=decorated, args=(1,))
one.start()
one.join()
""",
    "a-function-that-becomes-the-modules": """
global late
def late(i):
    return i
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.map(late, range(2))
""",
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


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    text = program(WORK, EVERY[name])
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    if name == "an-initializer" or not is_run(name, EVERY):  # it goes on making workers
        return
    told = ended(tmp_path).stderr
    assert ("pickle" in told.lower()) is bool(marked(text)), told


def test_a_loader_that_spawns_is_sent_its_collate_function(tmp_path: Path) -> None:
    body = """
from torch.utils.data import DataLoader
def collate(batch):
    return batch
for batch in DataLoader([1, 2], collate_fn=collate, num_workers=1, multiprocessing_context="spawn"):  # fault
    print(batch)
"""
    text = program(WORK, body)
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    (tmp_path / "run.py").write_text(program(WORK, body.replace('"spawn"', '"fork"')))
    assert lines_of(RULE, tmp_path, "3.11") == []


def test_what_rests_on_a_fork_is_found_for_python_3_14(tmp_path: Path) -> None:
    body = SOUND["a-lambda-that-is-forked"].replace('get_context("fork").', "")
    (tmp_path / "run.py").write_text(program(WORK, body))
    assert lines_of(RULE, tmp_path, "3.13") == []
    assert len(lines_of(RULE, tmp_path, "3.14")) == 1


LOADERS = """
from torch.utils.data import DataLoader

def collating(pad):
    def collate(batch):
        return pad(batch)
    return collate

class Padded(DataLoader):
    def __init__(self, data, num_workers=0, **options):
        super().__init__(data, num_workers=num_workers, collate_fn=collating(max), **options)
"""


def test_a_class_of_loaders_is_named_where_the_function_is_handed_over(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(LOADERS)
    assert lines_of(RULE, tmp_path, "3.14") == [11]
    assert lines_of(RULE, tmp_path, "3.13") == []
    (tmp_path / "run.py").write_text(LOADERS.replace("collating(max)", "max"))
    assert lines_of(RULE, tmp_path, "3.14") == []


def test_the_workers_of_such_a_loader_do_not_start(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    use = "for batch in Padded([1, 2], 1, multiprocessing_context='spawn'):\n    print(batch)\n"
    (tmp_path / "run.py").write_text(program(LOADERS, use))
    assert "Can't pickle local object 'collating.<locals>.collate'" in ended(tmp_path).stderr


def test_a_pool_itself_starts_whatever_it_is_given_to_do(tmp_path: Path) -> None:
    body = """
with multiprocessing.Pool(1) as pool:
    pool.map(lambda i: i, range(2))  # fault
"""
    text = program(WORK, body)
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.14") == marked(text)
