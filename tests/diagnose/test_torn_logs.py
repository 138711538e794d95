"""Processes that print at the same time tear each other's lines; the story and its place stay."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from tests.diagnose import corpus

pytestmark = pytest.mark.once

BOOTSTRAPPING = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/opt/python/lib/python3.11/multiprocessing/spawn.py", line 122, in spawn_main
    exitcode = _main(fd, parent_sentinel)
               ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/python/lib/python3.11/multiprocessing/spawn.py", line 131, in _main
    prepare(preparation_data)
  File "/opt/python/lib/python3.11/multiprocessing/spawn.py", line 297, in _fixup_main_from_path
    main_content = runpy.run_path(main_path,
                   ^^^^^^^^^^^^^^^^^^^^^^^^^
  File "<frozen runpy>", line 88, in _run_code
  File "/srv/program.py", line 4, in <module>
    pool = multiprocessing.get_context("spawn").Pool(2)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/python/lib/python3.11/multiprocessing/pool.py", line 215, in __init__
    self._repopulate_pool()
  File "/opt/python/lib/python3.11/multiprocessing/popen_spawn_posix.py", line 42, in _launch
    prep_data = spawn.get_preparation_data(process_obj._name)
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/python/lib/python3.11/multiprocessing/spawn.py", line 140, in _check_not_importing_main
    raise RuntimeError(\'\'\'
RuntimeError:\x20
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.

        This probably means that you are not using fork to start your
        child processes and you have forgotten to use the proper idiom
        in the main module:

            if __name__ == '__main__':
                freeze_support()
                ...

        The "freeze_support()" line can be omitted if the program
        is not going to be frozen to produce an executable.
"""
LOGS = {
    "bootstrapping": BOOTSTRAPPING,
    **{name: corpus.captured(f"{name}-3.11.log") for name in ("import_in_child", "pool", "refused")},
}
_ERROR = re.compile(r"^(?P<kind>(?:\w+\.)*\w+(?:Error|Exception)): ")


def pieces(text: str) -> Iterator[str]:
    """The writes by which CPython 3.11 and 3.12 print this to the standard error, as strace shows them."""
    lines = text.splitlines(keepends=True)
    while lines:
        line = lines.pop(0)
        error = _ERROR.match(line)
        if error is not None:
            yield from (
                error["kind"],
                ": ",
                "".join([line[error.end() :].rstrip("\n"), *([""] if lines else [])]),
            )
            message = []
            while lines and not lines[0].startswith(
                ("Process ", "Traceback", "During ", "The above", '  File "')
            ):
                message.append(lines.pop(0))
            yield "\n" + "".join(message)
        elif line.startswith("    ") and not line.strip(" ^~\n"):
            yield from line
        elif line.startswith("    "):
            yield from ("    ", line[4:-1], "\n")
        else:
            yield line


def torn(chance: random.Random, *logs: str) -> str:
    """The text that comes out of one pipe if a process for each of these logs prints at the same time."""
    waiting = [list(pieces(log)) for log in logs]
    written: list[str] = []
    while any(waiting):
        writer = chance.choice([pieces for pieces in waiting if pieces])
        count = chance.choice((1, 1, 2, 8, 40))
        written += writer[:count]
        del writer[:count]
    return "".join(written)


def told(text: str) -> set[tuple[str, str, int | None]]:
    """Each story of a log with its place."""
    found = [(story.name, story.culprit) for story in corpus.explained(text).stories]
    return {(name, place.path if place else "", place.line if place else None) for name, place in found}


@pytest.mark.must_hold
@pytest.mark.parametrize("name", LOGS)
def test_two_processes_with_the_same_failure_are_told_as_one(name: str) -> None:
    plain = told(LOGS[name])
    found = [told(torn(random.Random(seed), LOGS[name], LOGS[name])) for seed in range(60)]
    assert [{story for story, _, _ in stories} for stories in found] == [
        {story for story, _, _ in plain}
    ] * 60
    assert sum(stories == plain for stories in found) >= 54


@pytest.mark.must_hold
def test_what_another_process_prints_meanwhile_rarely_changes_the_place() -> None:
    other = """\
Traceback (most recent call last):
  File "/srv/other.py", line 3, in <module>
    start() + 1
    ~~~~~~~~^~~
  File "/srv/other.py", line 2, in start
    return {}["key"]
           ~~^^^^^^^
KeyError: 'key'
"""
    plain = told(BOOTSTRAPPING)
    found = [told(torn(random.Random(seed), BOOTSTRAPPING, other)) for seed in range(60)]
    assert all({story for story, _, _ in stories} == {"no-main-guard"} for stories in found)
    assert sum(stories == plain for stories in found) >= 45


def test_torn_failures_that_are_no_story_stay_none() -> None:
    for name, said in corpus.unrelated():
        for seed in range(2):
            assert told(torn(random.Random(seed), said, said)) == set(), (name, seed)
