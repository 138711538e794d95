"""The modules that a server refuses to preload, and its words."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from coldfork.launch.server.zygote.handle import ZygoteWarning, zygote
from coldfork.model.errors import ColdforkError, UsageError, ZygoteError
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT

Module = Callable[[str, str], str]

RAISES = "def begin():\n    raise RuntimeError('no such file')\n\nbegin()\n"
THREAD = """
    import threading

    def tick():
        threading.Event().wait()

    threading.Thread(target=tick, name="ticker", daemon=True).start()
"""
PROCESS = """
    import subprocess
    import sys

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
"""
FORK = """
    import os

    if os.fork() == 0:
        pass
    else:
        os.wait()
"""
DEVICE = """
    import ctypes

    from coldfork import virtual

    virtual.install(*virtual.parse("h100"))


    def count():
        return ctypes.CDLL("libcuda.so.1").cuInit(0)


    DEVICES = count()
"""
EXITS = "import os\nos._exit(3)\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write a module that the server finds."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def write(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return name

    return write


def refusal(*preload: str) -> ZygoteError:
    with zygote(preload) as made, pytest.raises(ZygoteError) as raised:
        made.wait(LIMIT)
    return raised.value


def test_a_module_that_raises_is_named_with_its_traceback(module: Module, tmp_path: Path) -> None:
    error = refusal("json", module("raising", RAISES))
    assert error.module == "raising"
    # Newer Pythons underline what raised.
    lines = [line for line in str(error).splitlines() if line.strip("~^ ")]
    assert "\n".join(lines) == (
        "importing raising raised:\n"
        "Traceback (most recent call last):\n"
        f'  File "{tmp_path}/raising.py", line 4, in <module>\n'
        "    begin()\n"
        f'  File "{tmp_path}/raising.py", line 2, in begin\n'
        "    raise RuntimeError('no such file')\n"
        "RuntimeError: no such file"
    )


def test_a_module_that_does_not_exist_is_named() -> None:
    error = refusal("nobody_has_written_this")
    assert str(error).endswith("ModuleNotFoundError: No module named 'nobody_has_written_this'")


def test_a_module_that_starts_a_thread_is_named_with_the_function(module: Module, tmp_path: Path) -> None:
    error = refusal(module("ticking", THREAD))
    assert str(error) == (
        "cannot preload ticking: a child forked after its import would break:\n"
        f"the thread 'ticker' runs: tick, {tmp_path}/ticking.py:4"
    )


def test_a_module_that_leaves_a_process_is_named_and_the_process_ended(
    module: Module, ended: Callable[[Iterable[int]], list[int]]
) -> None:
    error = refusal(module("leaving", PROCESS))
    pid = int(str(error).partition("the process ")[2].partition(" ")[0])
    assert "was started and still runs" in str(error)
    assert ended([pid]) == []


def test_a_child_that_a_module_forks_is_no_second_server(module: Module) -> None:
    with zygote([module("forking", FORK)]) as made:
        process = made.context.Process(target=targets.leave, args=(5,))
        process.start()
        process.join(LIMIT)
        assert process.exitcode == 5


def test_a_server_that_ends_while_it_imports_says_where(module: Module) -> None:
    error = refusal("json", module("ending", EXITS))
    assert "ended while it imported ending" in str(error)


@pytest.mark.must_hold
def test_a_module_that_wakes_a_device_is_refused_with_its_line(
    module: Module, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(cache))
    module("devices", DEVICE)
    error = refusal("json", module("engine", "import devices\n"))
    assert error.module == "engine"
    # Before Python 3.12, nobody sees a call of a C function.
    assert str(error).replace("by cuInit in devices", "by devices") == (
        "cannot preload engine: a child forked after its import would break:\n"
        "cuda is awake\n"
        f"  woken by devices, {tmp_path}/devices.py:13\n"
        f"    through count, {tmp_path}/devices.py:10\n"
        f"    imported by engine, {tmp_path}/engine.py:1"
    )


def test_what_cannot_be_preloaded_may_be_left_out_with_a_warning(module: Module) -> None:
    names = ["json", module("raising", RAISES), module("ticking", THREAD), "http.client"]
    with zygote(names, on_error="warn") as made:
        with pytest.warns(ZygoteWarning) as said:
            made.wait(LIMIT)
        told = [re.split("[,:]", str(one.message))[0] for one in said]
        assert told == ["cannot preload ticking", "raising was not preloaded"]
        assert said[0].filename == __file__
        answers = made.context.Queue()
        process = made.context.Process(target=targets.tell_imported, args=(answers, [*names]))
        process.start()
        assert answers.get(timeout=LIMIT) == ["json", "http.client"]
        process.join(LIMIT)


def test_or_without_a_word(module: Module, recwarn: pytest.WarningsRecorder) -> None:
    with zygote([module("ticking", THREAD)], on_error="ignore") as made:
        made.wait(LIMIT)
    assert list(recwarn) == []


def test_the_main_module_may_be_preloaded(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "print('imported as', __name__, flush=True)\n"
        "def work():\n    print('works', flush=True)\n"
        "if __name__ == '__main__':\n"
        "    import coldfork\n"
        "    context = coldfork.get_context('zygote', preload=['__main__'])\n"
        "    for _ in range(2):\n"
        "        process = context.Process(target=work)\n"
        "        process.start()\n"
        "        process.join()\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert done.stdout.splitlines() == ["imported as __main__", "imported as __mp_main__", "works", "works"]
    assert done.stderr == ""


def test_what_was_asked_for_wrongly_is_an_error() -> None:
    with pytest.raises(UsageError, match="preload has to be a list of"):
        zygote("torch")
    with pytest.raises(UsageError, match='no on_error \'maybe\'; choose "fail", "warn", "ignore"'):
        zygote((), on_error="maybe")
    made = zygote()
    made.close()
    with pytest.raises(ColdforkError, match="this zygote was closed"):
        made.wait()


def test_elsewhere_than_on_linux_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(
        UsageError, match=r"^a zygote needs Linux 5\.4 or newer with /proc, but this is darwin$"
    ):
        zygote()


def test_no_server_of_these_tests_is_left() -> None:
    tasks = Path("/proc/self/task").iterdir()
    pids = [pid for task in tasks for pid in (task / "children").read_text(encoding="ascii").split()]
    assert [pid for pid in pids if b"zygote.server" in Path(f"/proc/{pid}/cmdline").read_bytes()] == []


def test_a_zygote_made_at_the_top_of_the_main_module_is_made_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os\n"
        "import coldfork\n"
        "zygote = coldfork.zygote(['json'])\n"
        "def work():\n    print(zygote.pid, zygote is coldfork.get_context('zygote').zygote, flush=True)\n"
        "if __name__ == '__main__':\n"
        "    for context in (zygote.context, coldfork.get_context('spawn')):\n"
        "        process = context.Process(target=work)\n"
        "        process.start()\n"
        "        process.join()\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=LIMIT, check=True
    )
    # Neither has a server of its own: the worker has that of its caller, and the other none until it asks.
    assert done.stdout.splitlines()[0] == "None True"
    assert done.stdout.splitlines()[1].startswith("None ")
