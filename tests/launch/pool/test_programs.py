"""Pools in programs of every kind: scripts with a guard and without, command lines, standard input."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.launch.pool.conftest import LIMIT

GUARDED = """
    import coldfork

    def twice(number):
        return Number(number.value * 2)

    class Number:
        def __init__(self, value):
            self.value = value

    if __name__ == "__main__":
        with coldfork.WorkerPool(2) as pool:
            found = pool.submit(twice, Number(21)).result()
            print(type(found) is Number, found.value)
"""
PLAIN = """
    import coldfork, os

    factor = 2

    class Number:
        def __init__(self, value):
            self.value = value

    def twice(number):
        return Number(number.value * factor)

    with coldfork.WorkerPool(2) as pool:
        found = pool.submit(twice, Number(21)).result()
        print(type(found) is Number, found.value)
        print(pool.submit(lambda number: number + factor, 40).result())
"""


def run(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def script(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text), "utf-8")
    return os.fspath(path)


def test_a_script_with_a_guard(tmp_path: Path) -> None:
    ended = run(script(tmp_path, GUARDED))
    assert (ended.stdout, ended.stderr, ended.returncode) == ("True 42\n", "", 0)


@pytest.mark.parametrize("how", ["-c", "-"])
def test_a_main_that_has_no_file(how: str) -> None:
    program = textwrap.dedent(PLAIN)
    ended = run("-c", program) if how == "-c" else run("-", text=program)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("True 42\n42\n", "", 0)


def test_a_script_without_a_guard_is_not_imported_by_its_workers(tmp_path: Path) -> None:
    ended = run(
        script(tmp_path, f"{PLAIN}\n    import logging\n    logging.getLogger(__name__)\n    print('once')")
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("True 42\n42\nonce\n", "", 0)


def test_a_pool_before_the_guard_is_told_what_to_do(tmp_path: Path) -> None:
    ended = run(script(tmp_path, f"{PLAIN}\n    if __name__ == '__main__':\n        print('too late')"))
    assert ended.returncode == 1
    assert 'put the code of the program under `if __name__ == "__main__":`' in ended.stderr


def test_it_needs_none_where_the_functions_stand_elsewhere(tmp_path: Path) -> None:
    ended = run(
        script(
            tmp_path,
            """
            import coldfork, math

            with coldfork.WorkerPool(2) as pool:
                print(pool.submit(math.factorial, 5).result())
            """,
        )
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("120\n", "", 0)


def test_a_program_that_ends_waits_for_its_tasks() -> None:
    program = """
        import coldfork, sys, time

        def work(path):
            print("done", flush=True)

        pool = coldfork.WorkerPool(1)
        pool.submit(work, None)
    """
    ended = run("-c", textwrap.dedent(program))
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)


def test_a_queue_goes_to_the_initialiser() -> None:
    program = """
        import coldfork, multiprocessing

        def put(queue):
            queue.put("ready")

        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        with coldfork.WorkerPool(2, initializer=put, initargs=(queue,)) as pool:
            print(queue.get(timeout=60), queue.get(timeout=60))
    """
    ended = run("-c", textwrap.dedent(program))
    assert (ended.stdout, ended.stderr, ended.returncode) == ("ready ready\n", "", 0)
