"""Memory, disks and descriptors that run out cost the task that ran them out, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.pool.errors import MemoryCapError, WorkerDiedError
from coldfork.model.errors import ColdforkError, UsageError
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.conftest import Script
from tests.launch.pool.faults.leftovers import not_ended
from tests.launch.pool.faults.tasks import LIMIT
from tests.launch.somebody_else import somebody_else

pytestmark = pytest.mark.once

Make = Callable[..., Any]
MEGABYTE = 1 << 20


def test_a_task_that_finds_no_memory_raises_and_its_worker_goes_on(make: Make) -> None:
    pool = make(1, initializer=tasks.limit_memory, initargs=(200 * MEGABYTE,))
    pid = pool.submit(tasks.process).result(LIMIT)
    for _ in range(3):
        with pytest.raises(MemoryError):
            pool.submit(tasks.allocate, 400 * MEGABYTE).result(LIMIT)
    assert pool.submit(tasks.allocate, 20 * MEGABYTE).result(LIMIT) == 20 * MEGABYTE
    assert pool.submit(tasks.process).result(LIMIT) == pid


def test_a_result_for_which_there_is_no_memory_in_the_worker(make: Make) -> None:
    pool = make(1, initializer=tasks.limit_memory, initargs=(200 * MEGABYTE,))
    error = pool.submit(tasks.many_pieces, 150).exception(LIMIT)
    assert isinstance(error, (MemoryError, ColdforkError, WorkerDiedError))
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


@pytest.mark.parametrize("name", ["hold_slowly", "hold_in_a_child"])
def test_a_cap_on_memory_counts_what_the_task_starts(make: Make, tmp_path: Path, name: str) -> None:
    pool = make(2, max_memory=150 * MEGABYTE)
    with pytest.raises(MemoryCapError) as raised:
        pool.submit(getattr(tasks, name), str(tmp_path / "task")).result(LIMIT)
    assert "150" in str(raised.value)
    assert not_ended([tasks.noted(tmp_path / "task")]) == []
    assert pool.submit(tasks.double, 4).result(LIMIT) == 8


def test_descriptors_that_run_out_in_a_task(make: Make) -> None:
    pool = make(1)
    pid = pool.submit(tasks.process).result(LIMIT)
    assert pool.submit(tasks.open_all).result(LIMIT) == "Too many open files"
    assert pool.submit(tasks.process).result(LIMIT) == pid


def test_descriptors_that_have_run_out_in_a_worker_for_good(make: Make) -> None:
    pool = make(1)
    assert pool.submit(tasks.open_all_and_keep).result(LIMIT) > 0
    # It cannot receive a memory file any more, nor make one: that is said, and no task is lost or hangs.
    for each in (
        pool.submit(tasks.give_back, bytes(3_000_000)),
        pool.submit(tasks.zeros, 3_000_000),
        pool.submit(tasks.double, 4),
    ):
        error = each.exception(LIMIT)
        assert error is None or isinstance(error, (OSError, ColdforkError))


SIXTY_FOUR = """
    import resource
    import sys

    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        with coldfork.WorkerPool(int(sys.argv[1])) as pool:
            print([each.result(60) for each in [pool.submit(tasks.double, n) for n in range(200)]][-1])
"""
NONE_LEFT = """
    import os
    import resource

    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        with coldfork.WorkerPool(1) as pool:
            assert pool.submit(tasks.double, 4).result(60) == 8
            held = []
            try:
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                pass
            # Small tasks need none. Large ones do, and so does a worker in another's place.
            print(pool.submit(tasks.double, 4).result(60))
            for what in ((tasks.give_back, bytes(3_000_000)), (tasks.zeros, 3_000_000)):
                try:
                    pool.submit(*what).result(60)
                except OSError as error:
                    print("Too many open files" in str(error))
                except coldfork.ColdforkError as error:
                    print("Too many open files" in str(error))
            victim = pool.submit(tasks.leave, 3)
            print(type(victim.exception(60)).__name__)
            for each in held:
                os.close(each)
            try:
                print(pool.submit(tasks.double, 5).result(60))
            except coldfork.ColdforkError as error:
                print("Too many open files" in str(error), error)
"""


def test_sixty_four_descriptors_are_enough_for_two_workers(script: Script) -> None:
    program = script(SIXTY_FOUR, "2")
    output, errors = program.communicate(timeout=LIMIT)
    assert (output.strip(), program.returncode) == ("398", 0), errors


def test_too_many_workers_for_the_descriptors_are_told_in_a_line(script: Script) -> None:
    program = script(SIXTY_FOUR, "60")
    output, errors = program.communicate(timeout=LIMIT)
    if program.returncode != 0:
        assert "Too many open files" in errors.splitlines()[-1]
    else:
        assert output.strip() == "398"


def test_descriptors_that_run_out_in_the_caller(script: Script) -> None:
    program = script(NONE_LEFT)
    output, errors = program.communicate(timeout=2 * LIMIT)
    first, *large, victim, last = output.splitlines()
    assert (first, large, victim) == ("8", ["True", "True"], "WorkerDiedError"), errors
    assert last == "10" or last.startswith("True")


FULL = """
    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        with coldfork.WorkerPool(1, log_dir="logs") as pool:
            for number in range(5):
                pool.submit(tasks.write_to_standard_output, "x" * 50_000).result(60)
            print(pool.submit(tasks.double, 4).result(60))
            print(len(pool.submit(tasks.zeros, 3_000_000).result(60)))
            error = pool.submit(tasks.say_and_leave, "last words").exception(60)
            print(type(error).__name__, error.exitcode)
            print(pool.submit(tasks.double, 5).result(60))
"""


@pytest.mark.parametrize("room", ["64k", "4k"])
def test_a_full_disk_for_logs_loses_no_result(script: Script, tmp_path: Path, room: str) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Urm", "true"], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    (tmp_path / "logs").mkdir()
    mount = f'mount -t tmpfs -o size={room} none logs && exec "$@"'
    program = script(FULL, before=(unshare, "-Urm", "sh", "-c", mount, "sh"))
    output, errors = program.communicate(timeout=2 * LIMIT)
    assert output.splitlines() == ["8", "3000000", "WorkerDiedError 1", "10"], errors


def test_a_log_folder_that_cannot_be_written_is_told_in_a_line(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises((ColdforkError, OSError), match="file"):
        make(1, log_dir=tmp_path / "file" / "logs").submit(tasks.double, 4).result(LIMIT)


def test_a_read_only_home_does_not_matter(script: Script) -> None:
    text = """
        import os

        os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = "/proc/nowhere"
        import coldfork
        from tests.launch.pool.faults import tasks

        if __name__ == "__main__":
            with coldfork.WorkerPool(1) as pool:
                print(pool.submit(tasks.double, 4).result(60))
    """
    program = script(text)
    output, errors = program.communicate(timeout=LIMIT)
    assert (output, program.returncode) == ("8\n", 0), errors


NO_PROCESSES = """
    import resource

    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        for most in range(1, 12):
            resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
            try:
                with coldfork.WorkerPool(1) as pool:
                    print(most, pool.submit(tasks.double, 4).result(60))
            except (coldfork.ColdforkError, OSError) as error:
                is_told = "Resource temporarily unavailable" in str(error)
                print(most, type(error).__name__, is_told, repr(error))
"""


def test_processes_that_cannot_be_had_are_told_in_a_line(script: Script) -> None:
    if os.getuid() == 0:
        # The limit does not hold for root.
        with somebody_else(tasks.__name__) as other:
            done = other.run(NO_PROCESSES)
        output, errors = done.stdout, done.stderr
    else:
        output, errors = script(NO_PROCESSES).communicate(timeout=LIMIT)
    if output.startswith("1 8"):
        pytest.skip("the limit does not hold here")
    assert output, errors
    first, *more = [line.split()[1:3] for line in output.splitlines()]
    # As with any server that cannot be started, when the pool is made.
    assert first == [UsageError.__name__, "True"], (output, errors)
    assert len(more) == 10, (output, errors)
    assert all(said == ["8"] or said[1] == "True" for said in more), output
