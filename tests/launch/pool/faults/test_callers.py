"""The fate of workers when their program is killed, interrupted, or written carelessly."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.conftest import PATH, Script
from tests.launch.pool.faults.leftovers import command, descendants, not_ended
from tests.launch.pool.faults.tasks import LIMIT
from tests.launch.sidebyside import variables
from tests.launch.terminals import PROMPT, Screen

BUSY = """
    import json
    import sys
    import threading
    from pathlib import Path

    import coldfork
    from tests.launch.pool.faults import tasks


    def begin():
        global pool
        pool = coldfork.WorkerPool(3)
        pool.submit(tasks.compute_for_ever, "one")
        pool.submit(tasks.fork_and_wait, "two")
        pids = [tasks.noted(Path(name)) for name in ("one", "two", "two.child", "two.grandchild")]
        print(json.dumps(pids), flush=True)


    if __name__ == "__main__":
        if sys.argv[1] == "thread":
            thread = threading.Thread(target=begin)
            thread.start()
            thread.join()
        else:
            begin()
        threading.Event().wait()
"""


@pytest.mark.parametrize("thread", ["main", "thread"])
def test_nothing_is_left_of_a_program_that_was_killed(script: Script, thread: str) -> None:
    program = script(BUSY, thread)
    assert program.stdout is not None
    pids = json.loads(program.stdout.readline())
    started = descendants(program.pid)
    assert set(pids) <= started
    program.kill()
    assert not_ended([*started, *pids]) == []


@pytest.mark.parametrize("stopped", ["server", "workers"])
def test_nothing_is_left_though_some_of_it_was_stopped(script: Script, stopped: str) -> None:
    program = script(BUSY, "main")
    assert program.stdout is not None
    pids = json.loads(program.stdout.readline())
    # multiprocessing's own, which is not the pool's to end.
    started = {pid for pid in descendants(program.pid) if b"resource_tracker" not in command(pid)}
    for pid in pids if stopped == "workers" else started - set(pids):
        os.kill(pid, signal.SIGSTOP)
    program.kill()
    try:
        assert not_ended([*started, *pids]) == []
    finally:
        for pid in started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def test_the_end_of_the_thread_that_made_the_pool_ends_nothing(script: Script) -> None:
    text = """
        import threading

        import coldfork
        from tests.launch.pool.faults import tasks

        if __name__ == "__main__":
            made = []

            def begin():
                made.append(coldfork.WorkerPool(2))
                made[0].submit(tasks.double, 2).result(60)

            thread = threading.Thread(target=begin)
            thread.start()
            thread.join()
            for number in range(3):
                print(made[0].submit(tasks.double, number).result(60))
                made[0].submit(tasks.leave, 1).exception(60)
            made[0].shutdown()
    """
    output, errors = script(text).communicate(timeout=LIMIT)
    assert output.split() == ["0", "2", "4"], errors


FORGETFUL = """
    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        pool = coldfork.WorkerPool(2)
        later = [pool.submit(tasks.write_to_standard_output, f"task {number}") for number in range(3)]
"""


def test_a_program_that_forgets_to_shut_down_ends_when_its_tasks_are_done(script: Script) -> None:
    program = script(FORGETFUL)
    output, errors = program.communicate(timeout=LIMIT)
    assert (sorted(output.splitlines()), program.returncode, errors) == (
        ["task 0", "task 1", "task 2"],
        0,
        "",
    )


def test_a_program_that_forgets_its_pool_altogether(script: Script) -> None:
    text = """
        import gc

        import coldfork
        from tests.launch.pool.faults import tasks
        from tests.launch.pool.faults.leftovers import children

        if __name__ == "__main__":
            for number in range(5):
                print(coldfork.WorkerPool(1).submit(tasks.double, number).result(60))
            gc.collect()
    """
    program = script(text)
    output, errors = program.communicate(timeout=LIMIT)
    assert (output.split(), program.returncode, errors) == (["0", "2", "4", "6", "8"], 0, "")


@pytest.mark.parametrize("how", ["raise SystemExit(3)", "raise ValueError", "os._exit(3)", "os.abort()"])
def test_nothing_is_left_however_a_program_ends(script: Script, how: str) -> None:
    text = f"""
        import os
        from pathlib import Path

        import coldfork
        from tests.launch.pool.faults import tasks
        from tests.launch.pool.faults.leftovers import descendants

        if __name__ == "__main__":
            pool = coldfork.WorkerPool(2)
            going = pool.submit(tasks.wait_for, "go", "begun")
            tasks.noted(Path("begun"))
            print(*descendants(os.getpid()), flush=True)
            Path("go").touch()
            {how}
    """
    program = script(text)
    output, _ = program.communicate(timeout=LIMIT)
    assert len(output.split()) >= 2
    assert not_ended(map(int, output.split())) == []


DEAF = """
    import signal

    import coldfork
    from tests.launch.pool.faults import tasks

    if __name__ == "__main__":
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.valid_signals()))
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        with coldfork.WorkerPool(1) as pool:
            print(type(pool.submit(tasks.leave, 3).exception(60)).__name__, flush=True)
            late = pool.submit(tasks.wait_for_ever, "one", timeout=0.2)
            print(type(late.exception(60)).__name__, flush=True)
            print(pool.submit(tasks.double, 4).result(60), flush=True)
"""


def test_a_caller_that_hears_no_signal_hears_of_its_workers(script: Script) -> None:
    program = script(DEAF)
    output, errors = program.communicate(timeout=2 * LIMIT)
    assert output.split() == ["WorkerDiedError", "TaskTimeoutError", "8"], errors


NO_GUARD = """
    import coldfork
    from tests.launch.pool.faults import tasks

    print("main is run", flush=True)
    pool = coldfork.WorkerPool(2)
    print(pool.submit(tasks.double, 4).result(60), flush=True)


    def triple(value):
        return 3 * value


    print(pool.submit(triple, 4).result(60), flush=True)
    print(list(pool.map(lambda value: value + 1, [1, 2])), flush=True)
    pool.shutdown()
"""


def test_a_script_without_the_guard_is_run_once_or_told_about_it(script: Script) -> None:
    program = script(NO_GUARD)
    output, errors = program.communicate(timeout=LIMIT)
    assert output.count("main is run") == 1, errors
    assert output.splitlines()[1:] == ["8", "12", "[2, 3]"], errors
    assert (program.returncode, errors) == (0, "")


WITHOUT_FILE = """
import coldfork

def triple(value):
    return 3 * value

with coldfork.WorkerPool(2) as pool:
    print(pool.submit(triple, 4).result(60), list(pool.map(triple, range(3))))
"""


@pytest.mark.parametrize("given", [["-c", WITHOUT_FILE], ["-"], []], ids=["-c", "-", "nothing"])
def test_programs_that_are_no_file(tmp_path: Path, given: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *given],
        input=WITHOUT_FILE if "-c" not in given else None,
        cwd=tmp_path,
        env=variables(PATH),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("12 [0, 3, 6]\n", "")


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    """A terminal with a shell."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("there is no bash")
    opened = Screen(tmp_path, shell)
    yield opened
    opened.close()


INTERRUPTED = """\
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
import coldfork
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.leftovers import descendants
if __name__ == "__main__":
    with coldfork.WorkerPool(2) as pool:
        going = [pool.submit(tasks.{name}, "one"), pool.submit(tasks.{name}, "two")]
        waiting = pool.submit(tasks.note, "three")
        tasks.noted(Path("one")), tasks.noted(Path("two"))
        Path("all").write_text(" ".join(map(str, descendants(os.getpid()))))
        try:
            print("at work", flush=True)
            going[0].result()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            pool.shutdown(wait=False, cancel_futures=True)
            for each in going:
                each.kill()
            raise SystemExit(5)
"""


@pytest.mark.parametrize("name", ["wait_for_ever", "compute_for_ever"])
def test_control_c_ends_a_program_and_its_workers_without_a_word_from_them(
    screen: Screen, tmp_path: Path, name: str
) -> None:
    (tmp_path / "program.py").write_text(
        INTERRUPTED.format(root=PATH["PYTHONPATH"], name=name), encoding="utf-8"
    )
    screen.type(f"{sys.executable} program.py\n")
    screen.expect("at work")
    screen.type("\x03")
    screen.expect("interrupted")
    screen.expect(PROMPT)
    screen.type("echo status=$?\n")
    screen.expect("status=5")
    assert not_ended(map(int, (tmp_path / "all").read_text().split())) == []
    assert "Traceback" not in screen.shows(sys.executable)
    assert not (tmp_path / "three").exists()


UNPREPARED = """\
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
import coldfork
from tests.launch.pool.faults import tasks
from tests.launch.pool.faults.leftovers import descendants
if __name__ == "__main__":
    with coldfork.WorkerPool(2) as pool:
        going = [pool.submit(tasks.wait_for_ever, "one"), pool.submit(tasks.compute_for_ever, "two")]
        tasks.noted(Path("one")), tasks.noted(Path("two"))
        Path("all").write_text(" ".join(map(str, descendants(os.getpid()))))
        print("at work", flush=True)
        going[0].result()
"""


def test_control_c_twice_ends_what_was_not_prepared_for_it(screen: Screen, tmp_path: Path) -> None:
    """As with concurrent.futures, leaving the `with` waits for the tasks; a second Ctrl-C ends that."""
    (tmp_path / "program.py").write_text(UNPREPARED.format(root=PATH["PYTHONPATH"]), encoding="utf-8")
    screen.type(f"{sys.executable} program.py\n")
    screen.expect("at work")
    screen.type("\x03")
    assert not_ended([tasks.noted(tmp_path / "one")][:0]) == []
    for _ in range(2):
        screen.type("\x03")
    screen.expect(PROMPT)
    assert not_ended(map(int, (tmp_path / "all").read_text().split())) == []
    assert screen.shows(sys.executable).count("Traceback") <= 3


def test_a_fork_of_the_program_leaves_the_pool_alone(script: Script) -> None:
    text = """
        import os
        import sys

        import coldfork
        from tests.launch.pool.faults import tasks

        if __name__ == "__main__":
            pool = coldfork.WorkerPool(2)
            print(pool.submit(tasks.double, 1).result(60), flush=True)
            child = os.fork()
            if child == 0:
                try:
                    pool.submit(tasks.double, 2).result(60)
                except RuntimeError as error:
                    print(type(error).__name__, flush=True)
                sys.exit(4)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            print(pool.submit(tasks.double, 3).result(60), flush=True)
            with coldfork.WorkerPool(1) as another:
                print(another.submit(tasks.double, 4).result(60), flush=True)
            pool.shutdown()
    """
    program = script(text)
    output, errors = program.communicate(timeout=2 * LIMIT)
    lines = output.split()
    # The child may refuse, or serve itself from a pool of its own; it may not hang, nor disturb its parent.
    assert lines[0] == "2", errors
    assert lines[-3:] == ["4", "6", "8"], errors


def test_a_child_made_by_multiprocessing_fork_can_have_its_own_pool(script: Script) -> None:
    text = """
        import multiprocessing

        import coldfork
        from tests.launch.pool.faults import tasks


        def work(answers):
            with coldfork.WorkerPool(1) as own:
                answers.put(own.submit(tasks.double, 5).result(60))


        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            answers = context.Queue()
            process = context.Process(target=work, args=(answers,), daemon=True)
            process.start()
            print(answers.get(timeout=60))
            process.join(60)
            print(process.exitcode)
    """
    output, errors = script(text).communicate(timeout=2 * LIMIT)
    assert output.split() == ["10", "0"], errors


def test_standard_output_of_workers_is_the_program_s(script: Script) -> None:
    text = """
        import coldfork
        from tests.launch.pool.faults import tasks

        if __name__ == "__main__":
            with coldfork.WorkerPool(1) as pool:
                pool.submit(tasks.write_to_standard_output, "from a worker").result(60)
    """
    output, errors = script(text).communicate(timeout=LIMIT)
    assert (output, errors) == ("from a worker\n", "")


def test_a_pipeline_ends_with_its_program(tmp_path: Path) -> None:
    """Whoever reads the program's output sees its end, though a worker was busy when it was killed."""
    text = """
import os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
import coldfork
from tests.launch.pool.faults import tasks
if __name__ == "__main__":
    pool = coldfork.WorkerPool(2)
    pool.submit(tasks.wait_for_ever, "one")
    tasks.noted(Path("one"))
    os.kill(os.getpid(), signal.SIGKILL)
""".format(root=PATH["PYTHONPATH"])
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    done: Any = subprocess.run(
        f"{sys.executable} program.py 2>&1 | cat",
        shell=True,
        cwd=tmp_path,
        env=variables(PATH),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.stdout == ""
