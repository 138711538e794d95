"""CUDA's own account of who initialised it, in processes that inherit it from one another."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.observe.processes import SOURCES, run, variables, write

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="the injection library needs Linux"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler to build it with"
    ),
]

PROGRAM = """
import ctypes, json, os, subprocess, sys
from coldfork import virtual
from coldfork.observe.injection import Injection, build

virtual.install("h100")
injection = Injection(build())
assert injection.arm()
if len(sys.argv) > 1:
    sys.exit(subprocess.run([sys.executable, __file__], timeout=60).returncode)


def wake():
    ctypes.CDLL("libcuda.so.1").cuInit(0)


wake()
seen = injection.seen("cuda")
print([(frame["line"], frame["function"]) for frame in seen.frames], injection.seen("cuda"))
"""


@pytest.mark.parametrize("arguments", [[], ["in a child"]], ids=["by itself", "inherited"])
def test_a_process_that_inherits_the_library_tells_its_wake_once(
    arguments: list[str], tmp_path: Path
) -> None:
    write(tmp_path, {"program.py": PROGRAM})
    environment = {**variables(SOURCES), "COLDFORK_CACHE_DIR": str(tmp_path / "cache")}
    process = run([str(tmp_path / "program.py"), *arguments], environment, tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    wake, call = (PROGRAM.splitlines().index(line) + 1 for line in ("def wake():", "wake()"))
    assert process.stdout == f"{[(call, '<module>'), (wake + 1, 'wake')]} None\n"


ARMED = """
import ctypes, faulthandler, os, signal, subprocess, sys, threading
from coldfork import virtual
from coldfork.observe.injection import VARIABLE, Injection, build

virtual.install("h100")
cuda = ctypes.CDLL("libcuda.so.1")
# Calls that keep the interpreter's lock, as extension modules do.
holding = ctypes.PyDLL("libcuda.so.1")
injection = Injection(build())
assert injection.arm()


def told():
    seen = injection.seen("cuda")
    return None if seen is None else [frame["function"] for frame in seen.frames]
"""

#: What a program does, and what it prints; each one has to end well.
PROGRAMS = {
    "on another thread": (
        """
def work():
    cuda.cuInit(0)

thread = threading.Thread(target=work)
thread.start()
native = thread.native_id
thread.join()
seen = injection.seen("cuda")
print(seen.native == native, [frame["function"] for frame in seen.frames][-1])
""",
        "True work",
    ),
    "while the interpreter's lock is held": ("holding.cuInit(0)\nprint(told())", "['<module>']"),
    "with another thread that wants the interpreter": (
        """
stop = False
def work():
    while not stop:
        pass

for _ in range(3):
    threading.Thread(target=work).start()
holding.cuInit(0)
stop = True
print(told())
""",
        "['<module>']",
    ),
    "on a thread that Python does not know": (
        """
libc = ctypes.CDLL(None)
thread = ctypes.c_ulong()
assert not libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(cuda.cuInit, ctypes.c_void_p), None)
assert not libc.pthread_join(thread, None)
print(told())
""",
        "[]",
    ),
    "after the handler was taken away": (
        "faulthandler.unregister(injection._signal)\ncuda.cuInit(0)\nprint(told())",
        "None",
    ),
    "after the program put a handler of its own there": (
        """
heard = []
signal.signal(injection._signal, lambda *rest: heard.append(rest))
cuda.cuInit(0)
print(told(), heard)
""",
        "None []",
    ),
    "while the signal is blocked": (
        """
signal.pthread_sigmask(signal.SIG_BLOCK, [injection._signal])
cuda.cuInit(0)
print(told())
injection.disarm()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [injection._signal or signal.SIGRTMIN + 5])
""",
        "[]",
    ),
    "after the program closed all files": (
        "os.closerange(3, 1000)\nown = os.open('/dev/null', os.O_RDONLY)\ncuda.cuInit(0)\nprint('fine')",
        "fine",
    ),
    "in a forked child that is not watched": (
        """
child = os.fork()
if not child:
    os._exit(cuda.cuInit(0))
print(os.waitpid(child, 0)[1], told())
""",
        "0 None",
    ),
    "in a forked child that is": (
        """
child = os.fork()
if not child:
    injection.forked()
    cuda.cuInit(0)
    os._exit(len(told()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told())
""",
        "1 None",
    ),
    "in a program that was started, where no handler is": (
        """
own = "import ctypes; from coldfork import virtual; virtual.install('h100'); "
call = "ctypes.CDLL('libcuda.so.1').cuInit(0)"
done = subprocess.run([sys.executable, "-c", own + call])
print(done.returncode, told())
""",
        "0 None",
    ),
    "after it was disarmed": (
        "injection.disarm()\ncuda.cuInit(0)\nprint(os.environ.get(VARIABLE), 'fine')",
        "None fine",
    ),
    "for another accelerator": ("cuda.cuInit(0)\nprint(injection.seen('rocm'))", "None"),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of programs that share what is compiled for them."""
    return {**variables(SOURCES), "COLDFORK_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.mark.must_hold
@pytest.mark.parametrize("name", PROGRAMS)
def test_cuda_tells_who_woke_it_and_nobody_is_killed_or_locked_up(
    name: str, tmp_path: Path, built: dict[str, str]
) -> None:
    """Never a lock, never a signal without its handler: what cannot be told is left out."""
    body, expected = PROGRAMS[name]
    write(tmp_path, {"program.py": ARMED + body})
    process = run([str(tmp_path / "program.py")], built, tmp_path)
    assert (process.returncode, process.stderr, process.stdout) == (0, "", expected + "\n")


def test_a_library_that_was_there_before_is_called_too(tmp_path: Path, built: dict[str, str]) -> None:
    """CUDA knows one injection library: another tool's keeps its turn."""
    source = '#include <stdio.h>\nint InitializeInjection(void) { puts("the other one"); return 1; }\n'
    write(tmp_path, {"other.c": source, "program.py": ARMED + "cuda.cuInit(0)\nprint(told(), flush=True)\n"})
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))
    other = tmp_path / "other.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(other), str(tmp_path / "other.c")], check=True, timeout=60
    )
    process = run([str(tmp_path / "program.py")], {**built, "CUDA_INJECTION64_PATH": str(other)}, tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert sorted(process.stdout.splitlines()) == ["['<module>']", "the other one"]


def test_without_a_compiler_there_is_none(tmp_path: Path) -> None:
    """It is built where it can be, and the watch does without elsewhere."""
    from coldfork.observe.injection import build

    nothing = {"PATH": str(tmp_path), "COLDFORK_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    assert build(nothing) is None
