"""The guard's pth file in real interpreters: what it does, what it costs, and that it breaks none."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from coldfork.start.guard import pth_file
from tests.start import venvs
from tests.start.guarding import ROOT, WAKE, needs_compiler, needs_linux
from tests.start.venvs import Venv

pytestmark = needs_linux

MODE = "import sys; print(sys.modules['coldfork.start.guard.process'].HERE.mode)"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """One environment for the tests that leave it as it was."""
    return venvs.make(tmp_path_factory.mktemp("venv") / "venv")


@pytest.fixture
def venv(shared: Venv) -> Venv:
    """The environment with a pth file that refuses forks."""
    shared.install("strict")
    return shared


@pytest.mark.must_hold
@needs_compiler
def test_it_observes_before_anything_is_imported_so_that_the_waker_is_known(
    venv: Venv, tmp_path: Path
) -> None:
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "__init__.py").write_text("from engine import attention\n", encoding="utf-8")
    (engine / "attention.py").write_text(WAKE + "wake()\n", encoding="utf-8")
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, os\n"
        "import engine\n"
        "for start in (os.fork, multiprocessing.get_context('fork').Process(target=print).start):\n"
        "    try:\n"
        "        start()\n"
        "    except RuntimeError as error:\n"
        "        print(type(error).__name__, error.call, error.reasons[0].waker.module,\n"
        "              [site.module for site in error.reasons[0].waker.import_chain])\n",
        encoding="utf-8",
    )
    done = venv.run(str(program), folder=tmp_path)
    chain = "engine.attention ['__main__', 'engine', 'engine.attention']"
    assert done.stdout.splitlines() == [
        f"UnsafeForkError os.fork {chain}",
        f"UnsafeForkError multiprocessing ForkProcess-1 {chain}",
    ], done.stderr


@pytest.mark.must_hold
@needs_compiler
def test_a_program_that_imports_nothing_else_leaks_nothing_when_it_is_refused(
    venv: Venv, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        WAKE + "wake()\n"
        "import multiprocessing, os\n"
        "before = len(os.listdir('/proc/self/fd'))\n"
        "for _ in range(10):\n"
        "    try:\n"
        "        multiprocessing.get_context('fork').Process(target=print).start()\n"
        "    except RuntimeError as error:\n"
        "        said = error.call\n"
        "print(said, len(os.listdir('/proc/self/fd')) - before)\n",
        encoding="utf-8",
    )
    assert venv.run(str(program)).stdout == "multiprocessing ForkProcess-10 0\n"


def test_the_variable_outranks_the_mode_that_was_installed(venv: Venv) -> None:
    assert venv.run("-c", MODE).stdout == "strict\n"
    assert venv.run("-c", MODE, COLDFORK_GUARD="").stdout == "strict\n"
    assert venv.run("-c", MODE, COLDFORK_GUARD="Warn").stdout == "warn\n"
    done = venv.run("-c", MODE, COLDFORK_GUARD="yes")
    assert done.stdout == "strict\n"
    assert done.stderr == (
        "coldfork: COLDFORK_GUARD=yes is not a mode; choose strict, raise, warn, log, off; "
        "the guard uses mode strict\n"
    )


@pytest.mark.must_hold
def test_a_plain_program_gets_a_handful_of_modules_and_none_with_off(venv: Venv) -> None:
    wanted = "('coldfork', 'ctypes', 'typing')"
    ask = f"import sys; print(*sorted(name for name in sys.modules if name.startswith({wanted})))"
    assert venv.run("-c", ask).stdout.split() == [
        "coldfork",
        "coldfork.plugins",
        "coldfork.plugins.startup",
        "coldfork.start",
        "coldfork.start.guard",
        "coldfork.start.guard.process",
    ]
    assert venv.run("-c", ask, COLDFORK_GUARD="off").stdout.split() == []
    assert "coldfork.start" not in venv.run("-c", ask, COLDFORK_GUARD=" OFF ").stdout.split()


@pytest.mark.must_hold
def test_an_interpreter_without_coldfork_starts_without_a_word(venv: Venv) -> None:
    path = (venv.site / venvs.DEVELOPMENT).read_text(encoding="utf-8")
    (venv.site / venvs.DEVELOPMENT).unlink()
    try:
        done = venv.run("-c", "import sys; print([name for name in sys.modules if 'coldfork' in name])")
    finally:
        (venv.site / venvs.DEVELOPMENT).write_text(path, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.must_hold
@pytest.mark.parametrize(
    "file", ["__init__.py", "plugins/startup.py", "start/guard/__init__.py", "start/guard/process.py"]
)
@pytest.mark.parametrize(
    "damage", ["def (:\n", "raise RuntimeError('half removed')\n", "import no_such_module\n", None]
)
def test_an_interpreter_with_a_broken_coldfork_starts_and_says_so_in_one_line(
    file: str, damage: str | None, tmp_path: Path
) -> None:
    venv = venvs.make(tmp_path / "venv", with_coldfork=False)
    venv.install("raise")
    copy = venv.site / "coldfork"
    for part in ("__init__.py", "plugins", "start", "observe", "model"):
        source = ROOT / "src" / "coldfork" / part
        if source.is_dir():
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            copy.mkdir(exist_ok=True)
            shutil.copy(source, copy / part)
    if damage is None:
        (copy / file).unlink()
    else:
        (copy / file).write_text(damage, encoding="utf-8")
    done = venv.run("-c", "print('started')")
    assert (done.returncode, done.stdout) == (0, "started\n")
    told = re.fullmatch(r"(coldfork: the fork guard is not on: \w+Error: .+\n)?", done.stderr)
    assert told, done.stderr
    if damage is not None:
        assert told[1]


@pytest.mark.must_hold
def test_an_interpreter_starts_with_a_pth_file_that_was_cut_off_or_garbled(shared: Venv) -> None:
    whole = pth_file.written("raise", "0.0.1")
    broken = [whole[:cut] for cut in range(0, len(whole), 37)]
    broken += [
        whole.replace("\n", "\r\n"),
        whole + "garbage\n",
        "\x00" + whole,
        whole.replace("begin", "beg in"),
        "é" * 40,
    ]
    try:
        for text in broken:
            shared.pth_file_path.write_text(text, encoding="utf-8")
            done = shared.run("-c", "print('started')")
            assert (done.returncode, done.stdout) == (0, "started\n"), text
    finally:
        shared.pth_file_path.unlink()


@needs_compiler
def test_processes_started_by_spawn_have_the_guard_too(venv: Venv, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        WAKE
        + """
import os

def child(queue):
    wake()
    try:
        os.fork()
    except RuntimeError as error:
        queue.put(type(error).__name__)
    else:
        queue.put("forked")

if __name__ == "__main__":
    import multiprocessing
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(method, queue.get())
        process.join()
""",
        encoding="utf-8",
    )
    done = venv.run(str(program))
    assert done.stdout.splitlines() == ["spawn UnsafeForkError", "forkserver UnsafeForkError"], done.stderr


@needs_compiler
def test_a_server_whose_preload_woke_a_device_refuses_and_says_why(venv: Venv, tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(WAKE + "wake()\n", encoding="utf-8")
    (tmp_path / "program.py").write_text(
        """
import multiprocessing

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["engine"])
    try:
        context.Process(target=print).start()
    except (EOFError, OSError) as error:
        print("the server is gone")
""",
        encoding="utf-8",
    )
    # A server finds what lies beside the program in later versions only (gh-117378).
    done = venv.run("program.py", folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.stdout == "the server is gone\n"
    assert "UnsafeForkError: os.fork was refused" in done.stderr
    assert f"cuda was woken by engine  {tmp_path}/engine.py" in done.stderr


def test_what_a_pth_file_says_is_read_back(shared: Venv) -> None:
    for mode in ("raise", "warn", "log"):
        text = pth_file.written(mode, "1.2.3.dev4")
        assert pth_file.read(text) == pth_file.PthFile(mode, "1.2.3.dev4")
        assert text.count("\n") == 1
        assert text.startswith("import ")
    assert pth_file.read(text + "x") is None
    assert pth_file.read(f"# {text}") is None
    assert pth_file.read(text.replace("begin", "end")) is None
    assert pth_file.read(text.replace("except", "ex cept")) is None
    assert pth_file.read(text.replace("mode log", "mode raise")) is None
    assert pth_file.read(text.replace("'try", "try")) is None
    assert json.dumps(text).isascii()
