"""Who forks: what runs another program at once passes, and a warning points at the line that wanted a process."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from inline_snapshot import snapshot

from coldfork.model.decisions import Reason
from coldfork.model.states import Frame, ImportSite, Waker
from coldfork.observe.forking.purposes import FORK_THEN_EXEC
from coldfork.start.guard import messages
from tests.start.guarding import ROOT, WAKE, needs_compiler, needs_linux, run, told

pytestmark = [needs_linux, needs_compiler]

CGI = """
import coldfork, http.client, http.server, json, os, threading, warnings

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.makedirs("cgi-bin", exist_ok=True)
    with open("cgi-bin/say", "w") as file:
        file.write("#!/bin/sh\\necho 'Content-Type: text/plain'\\necho\\necho said\\n")
    os.chmod("cgi-bin/say", 0o755)
    if os.getuid() == 0:
        http.server.nobody_uid = lambda: 0
    coldfork.guard("strict")
    wake()
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.CGIHTTPRequestHandler)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    connection = http.client.HTTPConnection(*server.server_address, timeout=30)
    connection.request("GET", "/cgi-bin/say")
    print(json.dumps(connection.getresponse().read().decode()))
    thread.join()
"""


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="http.server runs no CGI scripts any more")
def test_a_cgi_script_runs_although_a_device_is_awake(tmp_path: Path) -> None:
    assert told(WAKE + CGI, tmp_path) == "said\n"


def test_the_functions_that_pass_are_there_and_fork() -> None:
    import http.server
    import os
    import pty

    places: list[tuple[ModuleType, object]] = [(os, os.__dict__["_spawnvef"]), (pty, pty.spawn)]
    handler = getattr(http.server, "CGIHTTPRequestHandler", None)
    if handler is not None:
        places.append((http.server, handler.run_cgi))
    for module, function in places:
        assert (module.__name__, function.__name__) in FORK_THEN_EXEC  # type: ignore[attr-defined]
        assert "fork" in function.__code__.co_names  # type: ignore[attr-defined]


OTHERS = {
    "billiard": "import billiard\nstart = lambda: billiard.Process(target=print).start()",
    "multiprocess": "import multiprocess\nstart = lambda: multiprocess.get_context('fork').Process(target=print).start()",
}


@pytest.mark.parametrize("package", OTHERS)
def test_copies_of_multiprocessing_are_refused_before_their_pipes_exist(package: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    program = f"""
import coldfork, gc, json, os
coldfork.guard("strict")
{WAKE}
wake()
{OTHERS[package]}
said = set()
def refused():
    for _ in range(20):
        try:
            start()
        except coldfork.UnsafeForkError as error:
            said.add(error.call.rstrip("0123456789"))
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
before = refused()
print(json.dumps([refused() - before, sorted(said)]))
"""
    leaked, calls = told(program, tmp_path)
    assert leaked == 0
    assert calls in (["multiprocessing Process-"], ["multiprocessing ForkProcess-"])


def test_a_program_in_a_terminal_of_its_own_passes(tmp_path: Path) -> None:
    pytest.importorskip("pexpect")
    program = WAKE + "import coldfork, pexpect, json\ncoldfork.guard('strict')\nwake()\n"
    assert told(program + "print(json.dumps(pexpect.run('echo said').decode().strip()))", tmp_path) == "said"


def test_a_warning_points_at_the_line_that_wanted_a_process(tmp_path: Path) -> None:
    program = (
        WAKE
        + """
import concurrent.futures, multiprocessing, os, coldfork
if __name__ == "__main__":
    coldfork.guard("warn")
    wake()
    context = multiprocessing.get_context("fork")
    pid = os.fork()  # here
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    context.Process(target=print).start()  # here
    with context.Pool(1): pass  # here
    with concurrent.futures.ProcessPoolExecutor(1, context) as executor:
        executor.submit(int).result()  # here
"""
    )
    done = run(program, tmp_path, "-W", "always::RuntimeWarning", "-W", "ignore::DeprecationWarning")
    lines = (tmp_path / "program.py").read_text(encoding="utf-8").splitlines()
    wanted = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
    told_of = [line for line in done.stderr.splitlines() if "UnsafeForkWarning" in line]
    assert [int(line.split(":")[1]) for line in told_of] == wanted
    assert all(line.startswith(str(tmp_path)) for line in told_of)


def test_a_warning_that_is_an_error_stops_the_fork(tmp_path: Path) -> None:
    program = WAKE + "import coldfork, os\ncoldfork.guard('warn')\nwake()\nos.fork()\n"
    done = run(program, tmp_path, "-W", "error::RuntimeWarning")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == snapshot(
        'coldfork.model.errors.UnsafeForkWarning: os.fork hands its child what it cannot use: cuda is awake here (level driver) (woken by __main__); it fails if the child touches cuda; help: start the process with spawn: it begins without any of this; it is allowed because it may work; guard("strict") refuses it'
    )


EXACT = Waker(
    module="engine.attention",
    path="/app/engine/attention.py",
    line=7,
    function="Attention",
    call="torch.cuda.get_device_capability",
    thread="MainThread",
    import_chain=(
        ImportSite("__main__", "/app/run.py", 3),
        ImportSite("engine.attention", "/app/engine/attention.py", 7),
    ),
    stack=(
        Frame("/app/engine/attention.py", 7, "Attention"),
        Frame("/app/engine/attention.py", 3, "supports_fast_path"),
    ),
)


def test_a_refusal_shows_the_stack_of_the_waker_and_what_helps_against_everything() -> None:
    reasons = (
        Reason(
            "cuda-awake",
            "cuda is awake here",
            accelerator="cuda",
            waker=EXACT,
            remedies=("wake it later", "use spawn"),
        ),
        Reason(
            "openmp-pool",
            "OpenMP has a pool",
            accelerator="openmp",
            remedies=("fork from a thread", "use spawn"),
        ),
    )
    assert messages.refusal("os.fork", reasons) == snapshot("""\
os.fork was refused, and no process was started: cuda is awake here; OpenMP has a pool
  cuda was woken by torch.cuda.get_device_capability in engine.attention  /app/engine/attention.py:7, on MainThread
    1. __main__  /app/run.py:3
    2. engine.attention  /app/engine/attention.py:7
       Attention  /app/engine/attention.py:7
       supports_fast_path  /app/engine/attention.py:3
  what woke openmp was not observed; to find out: coldfork run PROGRAM
  = help: use spawn
  = or allow it: with coldfork.allow_fork("reason"): ...\
""")


def test_a_waker_that_nobody_is_sure_of_is_not_named() -> None:
    unsure = Waker(None, None, None, None, None, "unknown: MainThread or loader")
    reason = Reason(
        "cuda-awake", "cuda is awake here", accelerator="cuda", waker=unsure, remedies=("use spawn",)
    )
    assert messages.refusal("os.forkpty", (reason,)) == snapshot("""\
os.forkpty was refused, and no process was started: cuda is awake here
  cuda was woken by one of several running threads: MainThread or loader
  = help: use spawn
  = or allow it: with coldfork.allow_fork("reason"): ...\
""")
    assert messages.line("os.forkpty", (reason,)) == snapshot(
        "os.forkpty hands its child what it cannot use: cuda is awake here; help: use spawn"
    )


def installed(folder: Path, **modules: str) -> str:
    """A folder of installed packages."""
    packages = folder / "site-packages"
    packages.mkdir()
    for name, text in modules.items():
        (packages / f"{name}.py").write_text(text, encoding="utf-8")
    return str(packages)


SERVER = "import os\ndef serve():\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\n"
STARTER = (
    "import multiprocessing\n"
    "def start():\n"
    "    child = multiprocessing.get_context('fork').Process(target=print)\n"
    "    child.start(); child.join()\n"
)
BEGIN = "import coldfork\ncoldfork.guard('warn')\nwake()\n"


def warning(folder: Path, program: str, **modules: str) -> str:
    path = installed(folder, server=SERVER, starter=STARTER, **modules)
    done = run(program, folder, "-W", "ignore::DeprecationWarning", PYTHONPATH=f"{path}:{ROOT / 'src'}")
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stderr.splitlines() if "UnsafeForkWarning" in line)
    return said.removeprefix(f"{folder}/")


SPAWN = "help: start the process with spawn: it begins without any of this"
BY_ITSELF = "help: preload nothing: let {} load the program in each process that it forks"


def test_the_programs_own_line_is_named_and_not_that_of_a_package_that_starts_for_it(tmp_path: Path) -> None:
    said = warning(tmp_path, WAKE + BEGIN + "import starter\nstarter.start()  # here\n")
    lines = (tmp_path / "program.py").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.endswith("# here"))
    assert said.startswith(f"program.py:{number}: ")
    assert SPAWN in said


def test_a_package_that_forks_itself_is_not_told_of_start_methods(tmp_path: Path) -> None:
    said = warning(tmp_path, WAKE + BEGIN + "import server\nserver.serve()\n")
    assert said.startswith("program.py:")
    assert SPAWN not in said
    assert BY_ITSELF.format("server") in said


@pytest.mark.parametrize("forking", ["server", "starter"])
def test_a_server_that_was_started_by_its_own_command_is_named_itself(forking: str, tmp_path: Path) -> None:
    called = "server.serve()" if forking == "server" else "starter.start()"
    command = f"import {forking}, app\n{called}\n"
    options = "'-Wignore::DeprecationWarning', '-m', 'command'"
    program = f"import os, sys\nos.execv(sys.executable, [sys.executable, {options}])\n"
    said = warning(tmp_path, program, command=command, app=WAKE + BEGIN)
    assert said.startswith(f"site-packages/{forking}.py:{3 if forking == 'server' else 4}: ")
    assert BY_ITSELF.format(forking) in said
