"""The pool inside other programs: asyncio, multiprocessing's daemons, pytest-xdist, a notebook's kernel."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import TaskTimeoutError, WorkerDiedError
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.conftest import PATH, Script
from tests.launch.pool.faults.tasks import LIMIT
from tests.launch.sidebyside import variables

Make = Callable[..., Any]
KERNEL = all(importlib.util.find_spec(name) for name in ("ipykernel", "nbclient", "nbformat"))


def test_an_event_loop_runs_functions_in_it(make: Make) -> None:
    pool = make(2)

    async def work() -> list[int]:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            *(loop.run_in_executor(pool, tasks.double, number) for number in range(20))
        )

    assert asyncio.run(work()) == [2 * number for number in range(20)]


def test_an_event_loop_is_not_held_up_by_a_task(make: Make, tmp_path: Path) -> None:
    pool = make(1)

    async def work() -> int:
        going: asyncio.Future[int] = asyncio.wrap_future(
            pool.submit(tasks.wait_for, str(tmp_path / "go"), str(tmp_path / "begun"))
        )
        # The loop itself says when the task may end.
        asyncio.get_running_loop().call_later(0.05, (tmp_path / "go").touch)
        return await going

    assert asyncio.run(work()) > 0


def test_errors_of_tasks_reach_an_event_loop(make: Make, tmp_path: Path) -> None:
    pool = make(1)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(WorkerDiedError):
            await loop.run_in_executor(pool, tasks.leave, 3)
        hang = pool.submit(tasks.wait_for_ever, str(tmp_path / "task"), timeout=0.2)
        with pytest.raises(TaskTimeoutError):
            await asyncio.wrap_future(hang)
        assert await loop.run_in_executor(pool, tasks.double, 4) == 8

    asyncio.run(work())


def test_what_an_event_loop_gives_up_waiting_for_ends_or_is_done(make: Make) -> None:
    pool = make(1)

    async def work() -> None:
        futures = [pool.submit(tasks.process_after, 0.01) for _ in range(30)]
        waiting = [asyncio.ensure_future(asyncio.wrap_future(each)) for each in futures]
        await waiting[0]
        for each in waiting[10:]:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        # Those that had begun go on to their ends.
        assert not any(each.cancelled() for each in futures[:10])

    asyncio.run(work())
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


DAEMON = """
    import multiprocessing
    import sys

    import coldfork
    from tests.launch.pool.faults import tasks


    def work(answers):
        with coldfork.WorkerPool(2) as pool:
            answers.put((multiprocessing.current_process().daemon, pool.submit(tasks.double, 4).result(60)))


    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        answers = context.SimpleQueue()
        process = context.Process(target=work, args=(answers,), daemon=True)
        process.start()
        print(*answers.get())
        process.join()
        print(process.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_daemon_of_multiprocessing_has_a_pool(script: Script, method: str) -> None:
    output, errors = script(DAEMON, method).communicate(timeout=2 * LIMIT)
    assert output.split() == ["True", "8", "0"], errors


def test_a_worker_is_no_daemon_and_has_children_of_its_own(make: Make) -> None:
    assert make(1).submit(tasks.with_children).result(LIMIT) == [0, 1, 4]


def test_a_worker_has_a_pool_of_its_own(make: Make) -> None:
    assert make(1).submit(tasks.with_a_pool).result(LIMIT) == 8


XDIST = """
    import coldfork
    import pytest

    from tests.launch.pool.faults import tasks


    @pytest.mark.parametrize("number", range(4))
    def test_pool(number):
        with coldfork.WorkerPool(2) as pool:
            assert pool.submit(tasks.double, number).result(60) == 2 * number
            assert type(pool.submit(tasks.leave, 3).exception(60)).__name__ == "WorkerDiedError"
            assert list(pool.map(local, range(3))) == [0, 3, 6]


    def local(value):
        return 3 * value
"""


@pytest.mark.parametrize("processes", ["2", "0"])
def test_tests_that_run_side_by_side_have_pools(tmp_path: Path, processes: str) -> None:
    (tmp_path / "test_side.py").write_text(textwrap.dedent(XDIST), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=variables(PATH),
        capture_output=True,
        text=True,
        timeout=3 * LIMIT,
        check=False,
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


CELLS = (
    "import coldfork, os\npool = coldfork.WorkerPool(2)",
    "factor = 3\ndef times(value):\n    return factor * value",
    "print(pool.submit(times, 4).result(60), list(pool.map(lambda value: value + factor, range(3))))",
    "factor = 5\nprint(pool.submit(times, 4).result(60))",
    "print(type(pool.submit(os._exit, 3).exception(60)).__name__, pool.submit(times, 2).result(60))",
    "pool.shutdown()",
)


@pytest.mark.skipif(not KERNEL, reason="ipykernel and nbclient are not installed here")
def test_functions_of_cells_are_called() -> None:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(book, timeout=600, kernel_name="python3").execute()
    shown = [output.get("text", "").strip() for cell in book.cells for output in cell.outputs]
    assert shown == ["12 [3, 4, 5]", "20", "WorkerDiedError 10"]


def test_a_module_run_with_m(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        textwrap.dedent(
            """
            import coldfork
            from package import beside


            def triple(value):
                return 3 * value


            if __name__ == "__main__":
                with coldfork.WorkerPool(1) as pool:
                    print(pool.submit(triple, 4).result(60), pool.submit(beside.quadruple, 4).result(60))
            """
        ),
        encoding="utf-8",
    )
    (package / "beside.py").write_text("def quadruple(value):\n    return 4 * value\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "package"],
        cwd=tmp_path,
        env=variables(PATH),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("12 16\n", "")


def test_a_script_started_from_elsewhere_finds_what_lies_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "beside.py").write_text("def quadruple(value):\n    return 4 * value\n", encoding="utf-8")
    (folder / "program.py").write_text(
        "import coldfork\nimport beside\n"
        'if __name__ == "__main__":\n'
        "    with coldfork.WorkerPool(1, preload=['beside']) as pool:\n"
        "        print(pool.submit(beside.quadruple, 4).result(60))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(folder / "program.py")],
        cwd=os.sep,
        env=variables(PATH),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("16\n", "")
