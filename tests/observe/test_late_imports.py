"""Imports that coldfork makes late in a watched program: no child hangs, and they are not the program's.

Each program slows down one import, so that there is time to fork in the middle of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.assembly.import_trees import walk
from tests.launch.sidebyside import coldfork_run, variables

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")

SLOW = """\
import importlib.machinery, os, signal, sys, threading
assert NAME not in sys.modules
begun, over = threading.Event(), threading.Event()


class Slow:
    '''Lets every import of a name wait until somebody has forked, or has shown that he cannot.'''

    def find_spec(self, name, path, target=None):
        if name != NAME or begun.is_set():
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            begun.set()
            over.wait(1.5)
            load(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Slow())


def fork():
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        __import__(NAME)
        os._exit(0)
    return os.waitpid(child, 0)[1]


other = threading.Thread(target=fork)
"""
RUN = """\
other.start()
begun.wait(5)
status = fork()
over.set()
other.join()
sys.exit(status != 0)
"""


def program(name: str, *before: str) -> str:
    return "\n".join([f"NAME = {name!r}", SLOW, *before, RUN])


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=variables(), capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.must_hold
def test_no_child_hangs_for_what_a_recording_imports(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(program("dis"))
    assert run([sys.executable, "forks.py"], tmp_path).returncode == 0
    ended = run([*coldfork_run("--follow", "--output", "run.coldfork"), "forks.py"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "the lock of" not in ended.stderr
    found = files.read(tmp_path / "run.coldfork")
    names = {one.name for process in found.processes for going in process.departures for one in going.held}
    assert names <= {"threads"}
    modules = {load.module for process in found.processes for load, _ in walk(process.imports)}
    assert not {module for module in modules if module == "dis" or module.startswith("coldfork")}


@pytest.mark.must_hold
@pytest.mark.parametrize("mode", ["raise", "strict"])
@pytest.mark.parametrize("name", ["dis", "coldfork.start.guard.examination"])
def test_no_child_hangs_for_what_the_guard_imports(mode: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(program(name, "import coldfork", f"coldfork.guard({mode!r})"))
    ended = run([sys.executable, "forks.py"], tmp_path)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.must_hold
def test_an_import_of_the_program_is_still_its_own(tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text("")
    text = program("slow_module").replace("Thread(target=fork)", "Thread(target=__import__, args=(NAME,))")
    (tmp_path / "forks.py").write_text(text.replace("__import__(NAME)\n        os._exit", "os._exit"))
    ended = run([*coldfork_run("--follow"), "forks.py"], tmp_path)
    assert "1 process was forked with the lock of slow_module" in ended.stderr


def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held(tmp_path: Path) -> None:
    """The program's own thread imports what coldfork wants in the child: the cost is coldfork's."""
    (tmp_path / "forks.py").write_text(
        program("dis")
        .replace("Thread(target=fork)", "Thread(target=__import__, args=(NAME,))")
        .replace(
            "__import__(NAME)\n",
            "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
            "        os._exit(os.waitstatus_to_exitcode(os.waitpid(os.fork() or os._exit(0), 0)[1]))\n",
        )
    )
    assert run([sys.executable, "forks.py"], tmp_path).returncode == 0
    assert run([*coldfork_run("--follow"), "forks.py"], tmp_path).returncode == 0
