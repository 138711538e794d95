"""Starts of processes at import: what is said of a file is what CPython does when it is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import coldfork
from tests.rules.processes.lines import lines_of

RULE = "missing-main-guard"
WORK = "import multiprocessing, sys\n\ndef work(i=0):\n    return i\n\n"
#: By name: what stands below `WORK`; the line that starts processes unguarded ends with `# fault`.
FAULTS = {
    "a-pool": """
context = multiprocessing.get_context("spawn")
with context.Pool(1) as pool:  # fault
    try:
        pool.apply_async(work, (1,)).get(3)
    except multiprocessing.TimeoutError:
        pass
""",
    "a-process": """
multiprocessing.set_start_method("spawn", force=True)
one = multiprocessing.Process(target=work)
one.start()  # fault
one.join()
""",
    "a-function-that-is-called": """
def main():
    one = multiprocessing.get_context("forkserver").Process(target=work, args=(1,))
    one.start()  # fault
    one.join()

main()
""",
    "an-executor": """
from concurrent.futures import ProcessPoolExecutor

with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
    try:
        pool.submit(work, 1).result()  # fault
    except Exception as problem:
        print(problem)
""",
}
FAULTS["a-guard-of-something-else"] = f"""{FAULTS["a-process"]}
if __name__ == "__main__":
    print("done")
"""
SOUND = {
    "a-guard-by-the-name-of-children": """
if __name__ != "__mp_main__":
    one = multiprocessing.get_context("spawn").Process(target=work)
    one.start()
    one.join()
""",
    "a-guard": """
if __name__ == "__main__":
    one = multiprocessing.get_context("spawn").Process(target=work)
    one.start()
    one.join()
""",
    "a-guard-for-what-runpy-runs": """
import pathlib, runpy

pathlib.Path("inner.py").write_text(pathlib.Path("run.py").read_text())
if __name__ == "__main__":
    if pathlib.Path(sys.argv[0]).name == "run.py":
        sys.argv[0] = "inner.py"
        runpy.run_path("inner.py", run_name="__main__")
    else:
        one = multiprocessing.get_context("spawn").Process(target=work)
        one.start()
        one.join()
""",
    "a-module-that-runpy-imports-under-its-name": """
import pathlib, runpy

pathlib.Path("inner.py").write_text('if __name__ == "__main__":\\n    raise SystemExit(work())\\n')
runpy.run_path("inner.py")
""",
    "a-fork": """
one = multiprocessing.get_context("fork").Process(target=work)
one.start()
one.join()
""",
    "the-default-of-3.11": """
one = multiprocessing.Process(target=work)
one.start()
one.join()
""",
    "only-the-main-process": """
if multiprocessing.current_process().name == "MainProcess":
    one = multiprocessing.get_context("spawn").Process(target=work)
    one.start()
    one.join()
""",
    "no-process": """
context = multiprocessing.get_context("spawn")
one = context.Process(target=work)
""",
    "a-function-that-nobody-calls": """
def main():
    multiprocessing.get_context("spawn").Process(target=work).start()
""",
}
EVERY = {**FAULTS, **SOUND}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    text = WORK + EVERY[name]
    (tmp_path / "run.py").write_text(text)
    marked = [n for n, line in enumerate(text.split("\n"), 1) if line.endswith("# fault")]
    assert lines_of(RULE, tmp_path, "3.11") == marked
    if sys.platform == "emscripten":  # where no process can start another one
        return
    ended = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ("bootstrapping phase" in ended.stdout + ended.stderr) is bool(marked), ended.stderr


def test_the_file_that_starts_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "pools.py").write_text(
        "import multiprocessing\n\ndef start(work):\n"
        "    one = multiprocessing.get_context('spawn').Process(target=work)\n    one.start()\n"
    )
    (tmp_path / "run.py").write_text("import pools\n\ndef work(): pass\n\npools.start(work)\n")
    (found,) = coldfork.check([tmp_path], target_version="3.11").findings
    assert (found.rule, found.path, found.line) == (RULE, "pools.py", 5)
    assert found.message == "importing run starts a process, which imports run again"


def test_from_python_3_14_on_it_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(WORK + SOUND["the-default-of-3.11"])
    assert lines_of(RULE, tmp_path, "3.13") == []
    assert len(lines_of(RULE, tmp_path, "3.14")) == 1


def test_who_is_imported_by_a_guarded_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(WORK + FAULTS["a-process"])
    (tmp_path / "run.py").write_text("import pool\n\nif __name__ == '__main__':\n    print(pool.work())\n")
    report = coldfork.check([tmp_path], target_version="3.11")
    assert [finding.path for finding in report.findings if finding.rule == RULE] == ["pool.py"]
