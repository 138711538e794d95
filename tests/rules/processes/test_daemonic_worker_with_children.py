"""Daemons that start processes: CPython refuses them their children."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.processes.lines import ended, is_run, lines_of, marked, program

RULE = "daemonic-worker-with-children"
HEAD = """import concurrent.futures, multiprocessing, subprocess

def inner(i=0):
    return i

def process(i=0):
    one = multiprocessing.Process(target=inner)
    one.start()
    one.join()

def pool(i=0):
    with multiprocessing.Pool(1) as pool:
        pool.map(inner, range(2))

def executor(i=0):
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        pool.submit(inner).result()

def without(folder):
    import pathlib
    if not pathlib.Path(folder):
        process()

def program(i=0):
    subprocess.run(["true"], check=True)

"""
DAEMON = "one = multiprocessing.Process(target={}, daemon=True)\none.start(){}\none.join()"
FAULTS = {
    "a-process": DAEMON.format("process", "  # fault"),
    "a-pool": DAEMON.format("pool", "  # fault"),
    "an-executor": DAEMON.format("executor", "  # fault"),
    "by-attribute": (
        "one = multiprocessing.Process(target=process)\none.daemon = True\none.start()  # fault\none.join()"
    ),
    "by-spawn": (
        'one = multiprocessing.get_context("spawn").Process(target=process, daemon=True)\n'
        "one.start()  # fault\none.join()"
    ),
    "a-worker-of-a-pool": (
        "with multiprocessing.Pool(1) as workers:  # fault\n    workers.map(process, range(2))"
    ),
}
SOUND = {
    "no-daemon": DAEMON.format("process", "").replace(", daemon=True", ""),
    "no-children": DAEMON.format("inner", ""),
    "none-without-a-folder": DAEMON.format("without, args=(__file__,)", ""),
    "another-program": DAEMON.format("program", ""),
    "a-worker-of-an-executor": (
        "with concurrent.futures.ProcessPoolExecutor(1) as workers:\n    workers.submit(process).result()"
    ),
}
EVERY = {**FAULTS, **SOUND}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_said_is_what_happens(name: str, tmp_path: Path) -> None:
    text = program(HEAD, EVERY[name])
    (tmp_path / "run.py").write_text(text)
    assert lines_of(RULE, tmp_path, "3.11") == marked(text)
    if is_run(name, EVERY):
        told = ended(tmp_path).stderr
        assert ("daemonic processes are not allowed to have children" in told) is (name in FAULTS), told


def test_a_class_of_processes_may_be_one_of_daemons(tmp_path: Path) -> None:
    head = (
        f"{HEAD}class Worker(multiprocessing.Process):\n    daemon = True\n\n"
        "    def run(self):\n        process()\n\n"
    )
    text = program(head, "worker = Worker()\nworker.start()  # fault\nworker.join()")
    (tmp_path / "run.py").write_text(text)
    found = lines_of(RULE, tmp_path, "3.11")
    assert found == marked(text)
