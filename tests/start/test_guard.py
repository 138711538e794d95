"""The guard in real processes: what it refuses, what it lets pass, and how it is switched."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import coldfork
from coldfork.model.decisions import Reason
from coldfork.model.errors import UnsafeForkError, UsageError
from tests.start.guarding import WAKE, needs_compiler, needs_linux, run, told

pytestmark = [needs_linux, needs_compiler]

OUTCOME = """
import json, os, sys, warnings

def outcome(start):
    try:
        started = start()
    except RuntimeError as error:
        return f"{type(error).__name__} {getattr(error, 'call', '')}".strip()
    pid = started[0] if isinstance(started, tuple) else started
    if pid == 0:
        os._exit(0)
    if isinstance(pid, int):
        os.waitpid(pid, 0)
    return "forked"
"""

EVERY_FORK = """
early_bound = os.fork

def process():
    import multiprocessing
    started = multiprocessing.get_context("fork").Process(target=print)
    started.start()
    started.join()

def pool():
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(1) as made:
        made.apply(int)

def executor():
    import concurrent.futures, multiprocessing
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, context) as made:
        made.submit(int).result()

import posix, pty
FORKS = {"os.fork": os.fork, "early-bound": early_bound, "posix.fork": posix.fork, "os.forkpty": os.forkpty,
         "pty.fork": pty.fork, "process": process, "pool": pool, "executor": executor}
"""


@pytest.mark.must_hold
def test_a_fork_of_every_kind_is_refused_once_a_device_is_awake_and_not_before(tmp_path: Path) -> None:
    program = (
        OUTCOME
        + EVERY_FORK
        + WAKE
        + """
import coldfork
coldfork.guard("strict")
before = {name: outcome(start) for name, start in FORKS.items()}
wake()
after = {name: outcome(start) for name, start in FORKS.items()}
print(json.dumps([before, after]))
"""
    )
    before, after = told(program, tmp_path)
    assert before == dict.fromkeys(before, "forked")
    calls = {name: said.partition(" ")[2].rstrip("0123456789") for name, said in after.items()}
    assert calls == {
        "os.fork": "os.fork",
        "early-bound": "os.fork",
        "posix.fork": "os.fork",
        "os.forkpty": "os.forkpty",
        "pty.fork": "os.forkpty",
        "process": "multiprocessing ForkProcess-",
        "pool": "multiprocessing ForkPoolWorker-",
        "executor": "multiprocessing ForkProcess-",
    }
    assert {said.partition(" ")[0] for said in after.values()} == {"UnsafeForkError"}


@pytest.mark.must_hold
def test_what_starts_another_program_passes_although_a_device_is_awake(tmp_path: Path) -> None:
    program = (
        WAKE
        + """
import json, multiprocessing, os, pty, subprocess, sys
import coldfork

def child():
    pass

def ran(method):
    process = multiprocessing.get_context(method).Process(target=child)
    process.start()
    process.join()
    return process.exitcode

if __name__ == "__main__":
    coldfork.guard("strict")
    wake()
    said = {
        "subprocess": subprocess.run(["true"]).returncode,
        "preexec_fn": subprocess.run(["true"], preexec_fn=child).returncode,
        "os.setsid": subprocess.run(["true"], preexec_fn=os.setsid).returncode,
        "posix_spawn": os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1],
        "system": os.system("true"),
        "popen": os.popen("true").close() or 0,
        "spawnv": os.spawnv(os.P_WAIT, "/bin/true", ["true"]),
        "spawnlpe": os.spawnlpe(os.P_WAIT, "true", "true", {}),
        "pty.spawn": pty.spawn("true", lambda fd: b"", lambda fd: b""),
        "spawn": ran("spawn"),
        "forkserver": ran("forkserver"),
    }
    print(json.dumps(said))
"""
    )
    said = told(program, tmp_path)
    assert said == dict.fromkeys(said, 0)
    assert len(said) == 11


@pytest.mark.must_hold
def test_the_refusal_names_the_import_that_woke_the_device(tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "__init__.py").write_text("from engine import attention\n", encoding="utf-8")
    (engine / "attention.py").write_text(WAKE + "wake()\n", encoding="utf-8")
    program = """
    import coldfork, os
    coldfork.guard("strict")
    import engine
    try:
        os.fork()
    except coldfork.UnsafeForkError as error:
        print(error)
    """
    said = run(program, tmp_path).stdout.replace(str(tmp_path), "/app")
    assert said == snapshot("""\
os.fork was refused, and no process was started: cuda is awake here (level driver) (woken by engine.attention)
  = it fails if the child touches cuda
  cuda was woken by engine.attention  /app/engine/attention.py, on MainThread
    1. __main__  /app/program.py:4
    2. engine  /app/engine/__init__.py:1
    3. engine.attention  /app/engine/attention.py
    to find the line: coldfork probe engine.attention
  = help: start the process with spawn: it begins without any of this
  = help: wake the device only in the processes that use it, after they have been started
  = or allow it: with coldfork.allow_fork("reason"): ...
""")


def test_modes(tmp_path: Path) -> None:
    program = (
        OUTCOME
        + WAKE
        + """
import coldfork, logging
from coldfork.start.guard.process import HERE

class Heard(logging.Handler):
    def emit(self, record):
        lines.append(f"{record.levelname} {record.getMessage()}")

lines = []
logging.getLogger("coldfork").addHandler(Heard())
logging.getLogger("coldfork").setLevel("INFO")
wake()
said = []
def note(what):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        did = outcome(os.fork)
    said.append([what, HERE.mode, did, len(caught), len(lines)])
    lines.clear()

note("before")
coldfork.guard("strict")
note("strict")
with coldfork.guard("warn"):
    note("warn")
    with coldfork.guard("log"):
        note("log")
        with coldfork.guard("off"):
            note("off")
            coldfork.guard("warn")
            note("a plain call inside")
        note("log again")
    with coldfork.allow_fork("it runs exec at once"):
        note("allowed")
note("strict again")
with coldfork.allow_fork("once"):
    note("allowed under strict")
    pid = os.fork()
    if pid == 0:
        os._exit(7 if outcome(os.fork).startswith("UnsafeForkError") else 8)
    said.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    lines.clear()
coldfork.guard("off")
note("off for good")
coldfork.guard("raise")
note("raise")
print(json.dumps(said))
"""
    )
    assert told(program, tmp_path) == [
        ["before", "off", "forked", 0, 0],
        ["strict", "strict", "UnsafeForkError os.fork", 0, 0],
        ["warn", "warn", "forked", 1, 0],
        ["log", "log", "forked", 0, 1],
        ["off", "off", "forked", 0, 0],
        ["a plain call inside", "warn", "forked", 1, 0],
        ["log again", "log", "forked", 0, 1],
        ["allowed", "warn", "forked", 0, 1],
        ["strict again", "strict", "UnsafeForkError os.fork", 0, 0],
        ["allowed under strict", "strict", "forked", 0, 1],
        # The child inherits the block, but not the permission.
        7,
        ["off for good", "off", "forked", 0, 0],
        # A child that nobody knows breaks only if it touches the device.
        ["raise", "raise", "forked", 1, 0],
    ]


def test_without_a_mode_the_variable_decides_and_without_that_it_warns(tmp_path: Path) -> None:
    program = """
    import coldfork, json
    print(json.dumps(coldfork.guard().mode))
    """
    assert told(program, tmp_path) == "warn"
    assert told(program, tmp_path, COLDFORK_GUARD="") == "warn"
    assert told(program, tmp_path, COLDFORK_GUARD="RAISE") == "raise"
    assert told(program.replace("guard()", "guard('log')"), tmp_path, COLDFORK_GUARD="warn") == "log"


def test_a_mode_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError) as refused:
        coldfork.guard("rise")
    assert str(refused.value) == snapshot(
        'there is no guard mode \'rise\'; the modes are "strict", "raise", "warn", "log", "off"'
    )
    monkeypatch.setenv("COLDFORK_GUARD", "yes")
    with pytest.raises(UsageError) as refused:
        coldfork.guard()
    assert str(refused.value) == snapshot(
        "COLDFORK_GUARD=yes is not a mode; choose strict, raise, warn, log, off"
    )


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_fork_is_not_allowed_without_a_reason(reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        coldfork.allow_fork(reason)
    assert str(refused.value) == snapshot(
        'allow_fork() needs a reason: allow_fork("the child runs exec at once")'
    )


def test_the_error_keeps_what_it_knows_when_it_is_pickled() -> None:
    error = UnsafeForkError(
        "no", (Reason("cuda-awake", "cuda is awake here", accelerator="cuda"),), "os.forkpty"
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.reasons, copy.call) == ("no", error.reasons, "os.forkpty")
    assert isinstance(copy, RuntimeError)


def test_blocks_that_end_in_another_order_leave_the_right_mode(tmp_path: Path) -> None:
    program = """
    import coldfork, json
    from coldfork.start.guard.process import HERE
    for _ in range(100):
        coldfork.guard("log")
    said = [HERE.mode, len(HERE._modes)]
    first = coldfork.guard("warn").__enter__()
    second = coldfork.guard("strict").__enter__()
    first.__exit__(None, None, None)
    said.append(HERE.mode)
    second.__exit__(None, None, None)
    said.append(HERE.mode)
    print(json.dumps(said))
    """
    assert told(program, tmp_path) == ["log", 1, "strict", "log"]


@pytest.mark.must_hold
def test_a_guard_that_fails_stops_no_fork_and_says_so_once(tmp_path: Path) -> None:
    program = (
        OUTCOME
        + """
import coldfork
import coldfork.start.evidence.table as evidence

def broken():
    raise ValueError("a bug")

coldfork.guard("strict")
evidence.held_here = broken
print(json.dumps([outcome(os.fork), outcome(os.fork)]))
"""
    )
    done = run(program, tmp_path)
    assert done.stdout == '["forked", "forked"]\n'
    assert done.stderr == "the fork guard failed; the program goes on: os.fork: ValueError: a bug\n"


@pytest.mark.must_hold
def test_another_hook_that_forbids_hooks_is_reported_and_not_ignored(tmp_path: Path) -> None:
    program = """
    import sys
    def forbid(event, arguments):
        if event == "sys.addaudithook":
            raise RuntimeError("no hooks")
    sys.addaudithook(forbid)
    import coldfork
    coldfork.guard("strict")
    """
    done = run(program, tmp_path)
    assert done.returncode == 1
    assert "cannot install the fork guard: another audit hook of this process forbids it" in done.stderr
