"""Start methods that are set behind the use of one: CPython refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ALONE, ended, is_run, lines_of, marked, program

RULE = "start-method-too-late"
HEAD = "import multiprocessing\n\ndef work(i=0):\n    return i\n\n"
SET = 'multiprocessing.set_start_method("spawn")  # fault'
USES = {
    "an-earlier-one": 'multiprocessing.set_start_method("fork")',
    "a-question": "print(multiprocessing.get_start_method())",
    "the-default-context": "context = multiprocessing.get_context()",
    "a-queue": "queue = multiprocessing.Queue()",
    "a-lock": "from multiprocessing import Lock\nlock = Lock()",
    "an-event": "event = multiprocessing.Event()",
    "a-value": "value = multiprocessing.Value('i', 0)",
    "a-process": "one = multiprocessing.Process(target=work)\none.start()\none.join()",
    "a-pool": "with multiprocessing.Pool(1) as pool:\n    pool.map(work, range(2))",
    "an-executor": (
        "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(1) as pool:\n"
        "    pool.submit(work).result()"
    ),
    "a-manager": "manager = multiprocessing.Manager()",
    "threads": "from multiprocessing.pool import ThreadPool\npool = ThreadPool(1)",
}
SOUND = {
    "nothing-before": "pass",
    "a-careful-question": "print(multiprocessing.get_start_method(allow_none=True))",
    "a-context": 'context = multiprocessing.get_context("fork")',
    "a-lock-of-a-context": 'lock = multiprocessing.get_context("fork").Lock()',
    "a-process-that-waits": "one = multiprocessing.Process(target=work)",
    "a-pipe": "ends = multiprocessing.Pipe()",
    "a-raw-value": "value = multiprocessing.RawValue('i', 0)",
    "the-number-of-processors": "print(multiprocessing.cpu_count())",
    "an-executor-with-a-context": (
        "from concurrent.futures import ProcessPoolExecutor\n"
        'pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))'
    ),
}


def laid_out(folder: Path, before: str, setting: str) -> str:
    text = program(HEAD, f"{before}\n{setting}")
    (folder / "run.py").write_text(text)
    return text


@pytest.mark.parametrize("name", USES)
def test_what_puts_a_method_to_use_makes_setting_one_too_late(name: str, tmp_path: Path) -> None:
    text = laid_out(tmp_path, USES[name], SET)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    assert not is_run(name, USES) or "context has already been set" in ended(tmp_path).stderr


@pytest.mark.parametrize("name", SOUND)
def test_what_puts_none_to_use_does_not(name: str, tmp_path: Path) -> None:
    laid_out(tmp_path, SOUND[name], SET)
    assert lines_of(RULE, tmp_path, "3.11") == []
    assert not is_run(name, SOUND) or ended(tmp_path).returncode == 0


@pytest.mark.parametrize("asked", ["is None", '!= "spawn"'])
def test_one_that_is_set_only_where_it_is_not_holds(asked: str, tmp_path: Path) -> None:
    set_once = f"""
def ensure():
    if multiprocessing.get_start_method(allow_none=True) {asked}:
        multiprocessing.set_start_method("spawn")

"""
    text = program(HEAD + set_once, "ensure()\nqueue = multiprocessing.Queue()\nensure()")
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == []
    assert ALONE or ended(tmp_path).returncode == 0


def test_by_force_it_is_in_time(tmp_path: Path) -> None:
    laid_out(tmp_path, USES["a-queue"], 'multiprocessing.set_start_method("spawn", force=True)')
    assert lines_of(RULE, tmp_path, "3.11") == []
    assert ALONE or ended(tmp_path).returncode == 0


HANDLED = """
try:
    multiprocessing.set_start_method({!r})  # fault
except RuntimeError:
    pass
print("it is", multiprocessing.get_start_method())
"""


def test_an_error_that_is_passed_over_leaves_the_method_as_it_was(tmp_path: Path) -> None:
    text = laid_out(tmp_path, USES["a-queue"], HANDLED.format("spawn"))
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    assert ALONE or "it is fork" in ended(tmp_path).stdout


def test_an_error_that_is_passed_over_may_not_matter(tmp_path: Path) -> None:
    laid_out(tmp_path, USES["a-queue"], HANDLED.format("fork"))
    assert lines_of(RULE, tmp_path, "3.11") == []


@pytest.mark.parametrize("test", ["import sys\nif len(sys.argv) > 1:", "for _ in range(0):"])
def test_what_may_not_have_happened_is_not_taken_for_granted(test: str, tmp_path: Path) -> None:
    before = f"{test}\n    queue = multiprocessing.Queue()"
    laid_out(tmp_path, before, SET)
    assert lines_of(RULE, tmp_path, "3.11") == []
    assert ALONE or ended(tmp_path).returncode == 0


def test_a_function_of_another_module_puts_it_to_use(tmp_path: Path) -> None:
    (tmp_path / "bars.py").write_text(
        "import multiprocessing\n\ndef bar():\n    return multiprocessing.RLock()\n"
    )
    text = laid_out(tmp_path, "import bars\nbars.bar()", SET)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    assert ALONE or "context has already been set" in ended(tmp_path).stderr
