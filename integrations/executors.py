"""CPython's tests of executors with the worker pool in the executor's place: `./dev integration executors`

Needs a CPython that was installed with its tests of `concurrent.futures`: the one that EXECUTOR_TESTS_PYTHON
names, the one that runs this, or another on the path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from integrations.environment import Ended, undisturbed
from integrations.transcript import Transcript, main
from published.environment import WORKSHOP
from published.errors import UnavailableError
from published.places import ROOT

NAMES = (
    os.environ.get("EXECUTOR_TESTS_PYTHON", ""),
    sys.executable,
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
)
PART = "test_concurrent_futures"
#: The parts that concern an executor, where the tests are a folder; the others test futures and threads.
FILES = ("test_as_completed", "test_deadlock", "test_init", "test_process_pool", "test_shutdown", "test_wait")
#: The classes that are made for one start method of three: ours has none, and one of them is enough.
CLASSES = "ProcessPoolSpawn"
LIMIT = 1200

INSIDE = "looks at the workers and threads inside `ProcessPoolExecutor`"
BREAKS = "asserts that one death breaks the executor for good, which it does not here"
UNREADABLE = (
    "asserts that what cannot be unpickled breaks the executor; here its own task fails, with the reason"
)
INHERITED = "passes a queue of `multiprocessing`, and looks for what `ProcessPoolExecutor` logs there"
#: What is about another class's internals, with the reason.
LEFT_OUT = {
    ".test_killed_child.": BREAKS,
    ".test_saturation.": INSIDE,
    ".test_idle_process_reuse_one.": INSIDE,
    ".test_idle_process_reuse_multiple.": INSIDE,
    ".test_max_tasks_per_child": INSIDE,
    ".test_python_finalization_error.": "forbids the second thread that `ProcessPoolExecutor` starts",
    ".test_traceback.": "asks for the type `concurrent.futures.process._RemoteTraceback`",
    ".test_processes_terminate.": INSIDE,
    ".test_context_manager_shutdown.": INSIDE,
    ".test_del_shutdown.": INSIDE,
    ".test_shutdown_no_wait.": INSIDE,
    ".test_shutdown_deadlock_pickle.": INSIDE,
    ".test_gh105829_should_not_deadlock_if_wakeup_pipe_full": INSIDE,
    "FailingInitializer": INHERITED,
    ".test_exit_at_task_unpickle.": UNREADABLE,
    ".test_error_at_task_unpickle.": UNREADABLE,
    ".test_error_during_result_unpickle_in_result_handler.": UNREADABLE,
    ".test_exit_during_result_unpickle_in_result_handler.": UNREADABLE,
}

INTRODUCTION = """
`./dev integration executors` runs CPython's own tests of executors with `coldfork.WorkerPool` in the place of
`concurrent.futures.ProcessPoolExecutor`, through `integrations/programs/executor_adapter.py`, which
translates the names of the parameters. The tests are those of the interpreter that runs them, unchanged.
Where a case expects `BrokenProcessPool` of a task whose worker has died, `WorkerDiedError` is what it gets.
"""


@dataclass(frozen=True, slots=True)
class Tests:
    """An interpreter, and the names of the test modules that it has."""

    python: str
    modules: tuple[str, ...]


def tests() -> Tests:
    """The first interpreter that has them."""
    for name in NAMES:
        python = shutil.which(name)
        if python is None:
            continue
        told = "import sys, sysconfig; print(sys.executable, sysconfig.get_path('stdlib'), sep='\\n')"
        said = subprocess.run([python, "-I", "-c", told], capture_output=True, text=True, check=False)
        executable, _, stdlib = said.stdout.strip().partition("\n")
        folder = Path(stdlib) / "test"
        if (folder / PART).is_dir():
            return Tests(executable, tuple(f"test.{PART}.{file}" for file in FILES))
        if (folder / f"{PART}.py").is_file():
            return Tests(executable, (f"test.{PART}",))
    raise UnavailableError(
        f"no Python here was installed with its test.{PART}: {', '.join(filter(None, NAMES))}"
    )


def prepared(python: str) -> Path:
    """The interpreter in an environment in which the pool takes the executor's place."""
    folder = WORKSHOP / "executors"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    lines = (
        str(ROOT / "src"),
        str(ROOT / "integrations" / "programs"),
        "import os; os.environ.get('EXECUTOR_TESTS') and __import__('executor_adapter').install()",
    )
    (packages / "executors.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "bin" / "python"


def run() -> Transcript:
    """All cases, those left out by name, and how each of the others ended."""
    found = tests()
    python = prepared(found.python)
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    transcript = Transcript(f"CPython's own tests of executors, {version}", INTRODUCTION)
    ends = ran(python, found.modules)
    left = {name for name, end in ends.items() if end == "left out"}
    passed = {name for name, end in ends.items() if end == "ok"}
    skipped = {name: end for name, end in ends.items() if end.startswith("skipped")}
    bad = {name: end for name, end in ends.items() if name not in left | passed | skipped.keys()}
    told = [f"{len(passed)} cases pass, {len(bad)} fail, {len(skipped)} skip themselves"]
    told += [f"{name}: {_last_line(end)}" for name, end in (skipped | bad).items()]
    transcript.step(f"{len(ends)} cases, of which {len(left)} are left out.", Ended(0, "\n".join(told)))
    transcript.promise(
        "No case fails that is not about the inside of another class.", bool(passed) and not bad
    )
    transcript.step(
        "What was left out, and why.", Ended(0, "\n".join(f"{name}: {reason(name)}" for name in sorted(left)))
    )
    print(*(f"{name}\n{end}" for name, end in bad.items()), sep="\n", file=sys.stderr)
    return transcript


def reason(case: str) -> str:
    """Why a case is left out."""
    return next(why for part, why in LEFT_OUT.items() if part in f"{case}.")


def ran(python: Path, modules: tuple[str, ...]) -> dict[str, str]:
    """How each case has ended."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ends"
        program = ROOT / "integrations" / "programs" / "executor_tests.py"
        command = [
            str(part) for part in (python, program, file, CLASSES, json.dumps(list(LEFT_OUT)), *modules)
        ]
        subprocess.run(
            command,
            env=undisturbed() | {"EXECUTOR_TESTS": "1"},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
        )
        if not file.exists():
            raise UnavailableError("the tests came to no end")
        ends: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return ends


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main("executors", run))
