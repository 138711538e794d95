"""Records of `coldfork run --follow`: each process in its place, or unknown and why."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coldfork.model.timelines import How, Process, Recording
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.summary.outcomes import Outcome, Standing, outcome
from tests.launch.sidebyside import coldfork_run, said_by, variables

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it asks the kernel's table"),
]

Record = Callable[..., Recording]
PROGRAM = "program.py"
WAKES = (
    "from coldfork import virtual; virtual.install('h100'); "
    "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
)
POOL = """\
import multiprocessing
def square(x): return x * x
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    # Both are there before the pool is ended: one that is killed as it begins has told nothing of itself.
    with context.Pool(2, initializer=context.Barrier(2).wait) as pool:
        pool.map(square, range(5))
"""


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Run a program under `coldfork run --follow`, and read what was recorded."""

    def run(program: str, *options: str, status: int = 0, **extra: str) -> Recording:
        (tmp_path / PROGRAM).write_text(program, encoding="utf-8")
        recording = tmp_path / "run.coldfork"
        recording.unlink(missing_ok=True)
        words = [*coldfork_run("--quiet", *(options or ("--follow",))), "--output", str(recording), PROGRAM]
        ended = said_by(words, tmp_path, "", extra)
        assert ended.status == status, ended.errors
        return files.read(recording)

    return run


def line_of(recording: Recording, process: Process) -> int | None:
    """The line of the program that started a process."""
    assert process.parent is not None
    (going,) = (one for one in recording.processes[process.parent].departures if one.child == process.number)
    return None if going.site is None else going.site.line


def lines(recording: Recording) -> dict[str, int | None]:
    """The last word of each command below the program, with the line that started it."""
    return {process.command[-1]: line_of(recording, process) for process in recording.processes[1:]}


def doubts(recording: Recording) -> tuple[Standing, str]:
    found: Outcome = outcome(recording)
    return found.standing, "; ".join(found.doubts)


def test_what_coldfork_starts_for_itself_is_none_of_the_programs_processes(record: Record) -> None:
    recording = record(
        "import subprocess, sys, time\n"
        "from coldfork.observe.processes.asking import environment\n"
        "with subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1, env=environment()) as child:\n"
        "    time.sleep(1)\n"
        "    child.communicate(b'end')\n"
    )
    assert len(recording.processes) == 1
    assert doubts(recording) == (Standing.COLD, ""), recording


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (
            "subprocess.run([sys.executable, '-c', code], env={'HOME': os.environ.get('HOME', '/')})",
            "it was started with its own environment, which lacks the variables that load coldfork",
        ),
        (
            "subprocess.run([sys.executable, '-I', '-c', code])",
            "its option -I makes Python ignore PYTHONPATH",
        ),
        (
            "subprocess.run([sys.executable, '-XXdev', '-SE', '-c', code])".replace("XX", ""),
            "its option -S keeps Python from importing sitecustomize",
        ),
        (
            "os.posix_spawn(sys.executable, [sys.executable, '-c', code], {}); os.wait()",
            "it was started with its own environment, which lacks the variables that load coldfork",
        ),
        (
            "subprocess.run(['env', '-i', sys.executable, '-c', code])",
            "",
        ),
        (
            "subprocess.run([sys.executable, '-c', code], env={}, preexec_fn=os.setsid)",
            "it was started with its own environment, which lacks the variables that load coldfork",
        ),
    ],
)
def test_a_python_that_could_not_be_watched_is_unknown(record: Record, start: str, why: str) -> None:
    recording = record(f"import os, subprocess, sys\ncode = 'import csv'\n{start}\n")
    standing, said = doubts(recording)
    assert standing is Standing.UNKNOWN
    assert why in said
    (hidden,) = recording.processes[1:]
    assert not hidden.watched
    assert hidden.python is not None
    assert hidden.unseen
    assert line_of(recording, hidden) == 3


def test_a_child_that_woke_the_device_out_of_sight_is_not_called_cold(record: Record) -> None:
    source = str(Path(__file__).resolve().parents[2] / "src")
    code = f"import sys; sys.path.insert(0, {source!r}); {WAKES}"
    program = f"import subprocess, sys\nsubprocess.run([sys.executable, '-I', '-c', {code!r}])\n"
    assert doubts(record(program))[0] is Standing.UNKNOWN


def test_without_follow_a_python_that_was_started_is_a_doubt(record: Record) -> None:
    recording = record("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])\n", "--limit=1M")
    standing, said = doubts(recording)
    assert standing is Standing.UNKNOWN
    assert "only with --follow" in said


def test_another_program_is_no_doubt(record: Record) -> None:
    recording = record("import subprocess\nsubprocess.run(['sh', '-c', ':'])\n")
    assert doubts(recording) == (Standing.COLD, ""), recording


@pytest.mark.parametrize("executed", [False, True])
def test_what_is_seen_between_fork_and_exec_is_its_parents(
    record: Record, tmp_path: Path, executed: bool
) -> None:
    record("import subprocess\nsubprocess.run(['sh', '-c', ':'])\n")
    place = tmp_path / "run.coldfork"
    lines = [json.loads(line) for line in place.read_text(encoding="ascii").splitlines()]
    (started,) = (line for line in lines if line["event"] == "spawn")
    # Once by its parent, and once more where somebody else saw it end first.
    ended = next(line for line in lines if line["event"] == "exit" and line.get("start") == started["start"])
    seen = {
        "event": "seen",
        "t": started["t"],
        "pid": started["child"],
        "ppid": started["pid"],
        "start": ended["start"],
        "command": [sys.executable, PROGRAM],
        "executed": executed,
        "python": sys.executable,
        "hidden": None,
    }
    others = [line for line in lines if line["event"] != "seen"]
    others.insert(others.index(started) + 1, seen)
    place.write_text("".join(json.dumps(line) + "\n" for line in others), encoding="ascii")
    standing, said = doubts(files.read(place))
    assert standing is (Standing.UNKNOWN if executed else Standing.COLD)
    assert ("became Python" in said) is executed


def test_a_pool_is_cold(record: Record) -> None:
    recording = record(POOL)
    assert doubts(recording) == (Standing.COLD, ""), recording
    assert [process.ended for process in recording.processes] == [True] * 3


def test_each_process_stands_on_its_own_line(record: Record) -> None:
    recording = record(
        "import subprocess, sys\n"
        "subprocess.run(['sh', '-c', ': two'])\n"
        "subprocess.run([sys.executable, '-c', 'three = 3'])\n"
        "a = subprocess.Popen([sys.executable, '-c', 'four = 4'])\n"
        "b = subprocess.Popen([sys.executable, '-c', 'five = 5'])\n"
        "c = subprocess.Popen(['sh', '-c', f\"exec {sys.executable} -c 'six=6'\"])\n"
        "b.wait(); a.wait(); c.wait()\n"
    )
    assert lines(recording) == {": two": 2, "three = 3": 3, "four = 4": 4, "five = 5": 5, "six=6": 6}


def test_a_shell_between_is_a_process_of_its_own(record: Record) -> None:
    recording = record(
        "import subprocess, sys\n"
        "subprocess.run(['sh', '-c', ':'])\n"
        "subprocess.run(['sh', '-c', f\"{sys.executable} -c 'below = 1'; :\"])\n"
    )
    below = next(process for process in recording.processes if process.command[-1:] == ("below = 1",))
    assert below.parent is not None
    shell = recording.processes[below.parent]
    assert shell.command[:1] == ("sh",)
    assert (shell.watched, line_of(recording, shell), shell.status) == (False, 3, 0)


def test_a_descriptor_that_is_left_open_starts_one_process_and_not_two(record: Record) -> None:
    recording = record("import subprocess\nsubprocess.run(['true'], close_fds=False)\n")
    assert [process.command for process in recording.processes[1:]] == [("true",)]


def test_what_is_done_before_exec_is_no_process_of_its_own(record: Record) -> None:
    recording = record("import os, subprocess\nsubprocess.run(['true'], preexec_fn=os.setsid)\n")
    (other,) = recording.processes[1:]
    assert (other.how, other.command, other.watched) == (How.SPAWN, ("true",), False)


@pytest.mark.parametrize(
    ("start", "ending"),
    [
        ("subprocess.run([sys.executable, '-c', 'raise SystemExit(7)'])", (7, None)),
        ("subprocess.run([sys.executable, '-c', 'import os; os.abort()'])", (None, 6)),
        ("p = subprocess.Popen(['sleep', '60']); p.kill(); p.wait()", (None, 9)),
        ("p = subprocess.Popen(['sh', '-c', 'exit 4']); os.waitid(os.P_PID, p.pid, os.WEXITED)", (4, None)),
        ("os.spawnv(os.P_WAIT, sys.executable, [sys.executable, '-c', 'raise SystemExit(5)'])", (5, None)),
        # Nobody in the program waits for this one.
        ("subprocess.Popen(['sh', '-c', 'kill -9 $$'])", (None, 9)),
    ],
)
def test_how_a_process_ended_is_told(record: Record, start: str, ending: tuple[object, object]) -> None:
    recording = record(f"import os, subprocess, sys\n{start}\n")
    last = recording.processes[-1]
    assert last.ended
    assert (last.status, last.signal) == ending


def test_who_lives_on_is_said_to(record: Record) -> None:
    program = "import os, time\nif not os.fork():\n    os.closerange(0, 3)\n    time.sleep(60)\n"
    recording = record(program)
    os.kill(recording.processes[1].pid or 0, signal.SIGKILL)
    standing, said = doubts(recording)
    assert standing is Standing.UNKNOWN
    assert said == "1 process was still running when the recording ended"


def test_who_is_killed_with_a_device_loaded_may_have_woken_it(record: Record) -> None:
    program = (
        "import ctypes, os, signal\nctypes.CDLL('libcuda.so.1')\n"
        "child = os.fork()\nif not child:\n    os.kill(os.getpid(), signal.SIGKILL)\nos.waitpid(child, 0)\n"
    )
    standing, said = doubts(record(program, "--follow", "--virtual", "h100"))
    assert standing is Standing.UNKNOWN
    assert "was killed by signal 9 with cuda loaded" in said


def test_the_first_run_names_the_line_of_an_ordinary_wake(record: Record) -> None:
    pytest.importorskip("torch")
    program = "import torch\n\n\ndef main():\n    torch.cuda.init()\n\n\nmain()\n"
    recording = record(program, "--virtual", "h100")
    found = outcome(recording).wake
    assert found is not None
    assert found.waker is not None
    assert (found.waker.line, found.waker.call) == (8, "torch.cuda.init")
    assert [frame.line for frame in found.waker.stack[:2]] == [8, 5]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the module has another name")
@pytest.mark.parametrize(("end", "status"), [("raise SystemExit(9)", 9), ("1 / 0", 1)])
def test_a_subinterpreter_leaves_the_exit_status_alone(record: Record, end: str, status: int) -> None:
    recording = record(f"import _xxsubinterpreters as s\ns.create()\n{end}\n", status=status)
    assert recording.processes[0].status == status


STARTUP = Path(__file__).resolve().parents[2] / "src/coldfork/observe/startup"


def foreign_pythons() -> list[str]:
    """Interpreters of this machine that are too old to be watched."""
    found = [shutil.which(f"python{version}") for version in ("2.7", "3.6", "3.7", "3.8", "3.9", "3.10")]
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found += [str(path) for path in sorted(root.glob("*/bin/python"))]
    return [path for path in dict.fromkeys(found) if path is not None and _is_old(path)]


def _is_old(python: str) -> bool:
    question = "import sys; print(sys.version_info < (3, 11) and sys.platform)"
    said = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    return said.stdout.strip() not in ("False", "")


@pytest.mark.parametrize("own", [False, True])
def test_an_older_python_starts_as_without_us(record: Record, tmp_path: Path, *, own: bool) -> None:
    pythons = foreign_pythons()
    if not pythons:
        pytest.skip("no older Python is installed")
    site = tmp_path / "site"
    site.mkdir()
    if own:
        (site / "sitecustomize.py").write_text("import sys\nsys.stderr.write('my own\\n')\n")
    said = "my own\n" if own else ""
    for python in pythons:
        recording = record(
            "import subprocess\n"
            f"ended = subprocess.run([{python!r}, '-c', ''], stderr=subprocess.PIPE, text=True)\n"
            f"assert ended.stderr == {said!r}, ended.stderr\n",
            PYTHONPATH=str(site),
        )
        assert "and coldfork watches 3.11 and newer" in doubts(recording)[1]
    assert [path.name for path in STARTUP.iterdir() if path.name != "__pycache__"] == ["sitecustomize.py"]


def test_a_python_that_seems_older_is_let_alone(tmp_path: Path) -> None:
    """The same without an older Python: this one, which says that it is."""
    startup = STARTUP / "sitecustomize.py"
    (tmp_path / "sitecustomize.py").write_text("print('my own')\n")
    recording = tmp_path / "of ours"
    recording.touch()
    code = (
        "import runpy, sys\nsys.version_info = (3, 8, 0)\nsys.modules['sitecustomize'] = sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\nrunpy.run_path({str(startup)!r})\n"
    )
    settings = f'{{"mode":"child","recording":"{recording}","began":1.5}}'
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**variables(), "COLDFORK_WATCH": settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("my own\n", "")
    assert '"reason":"it is Python 3.8, and coldfork watches 3.11 and newer"' in recording.read_text()
