"""A server starts only what would be the same if it were started anew; otherwise the start is cold."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from coldfork.launch.script.call import run_script
from coldfork.launch.server.warm import control
from coldfork.model.errors import UsageError
from tests.launch.scripting import SECONDS, marked, until, variables
from tests.launch.warm.conftest import WarmBench

pytestmark = pytest.mark.once

USES = "import mine; print(mine.VALUE)"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path for imports."""
    folder = tmp_path / "library"
    folder.mkdir()
    inherited = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), inherited])))
    return folder


def settle(*files: Path) -> None:
    """Wait until a change is older than the clock of the file system can hide."""
    import time

    last = max(file.stat().st_ctime for file in files)
    until(lambda: time.time() > last + 0.05, "a later moment")


def stale(bench: WarmBench, change: object, before: str, after: str, **how: object) -> str:
    """Run warm, have something changed, and run again: cold with the new value, and warm with it at last."""
    assert bench.warm(USES, modules=["mine"]).stdout == f"{before}\n"
    assert callable(change)
    change()
    result = bench.run(USES, warm=["mine"], **how)
    assert result.stdout == f"{after}\n"
    assert not result.warm
    until(lambda: bench.run(USES, warm=["mine"], **how).warm, "a new server")
    assert bench.warm(USES, modules=["mine"], **how).stdout == f"{after}\n"
    return str(result.cold_because)


@pytest.mark.must_hold
def test_an_edited_module_is_imported_anew(bench: WarmBench, library: Path) -> None:
    module = library / "mine.py"
    module.write_text("VALUE = 1")
    settle(module)
    bench.prepare(["mine"])
    times = module.stat()

    def edit() -> None:
        # As long as before, and with its times put back.
        module.write_text("VALUE = 2")
        os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
        for compiled in library.glob("__pycache__/*"):
            compiled.unlink()

    assert str(module) in stale(bench, edit, "1", "2")


@pytest.mark.must_hold
def test_a_file_that_an_import_read_counts(bench: WarmBench, library: Path) -> None:
    data = library / "data.txt"
    data.write_text("one")
    (library / "mine.py").write_text(f"VALUE = open({str(data)!r}).read()")
    settle(data, library / "mine.py")
    bench.prepare(["mine"])
    assert str(data) in stale(bench, lambda: data.write_text("two"), "one", "two")


@pytest.mark.must_hold
@pytest.mark.parametrize(
    "reads",
    [
        "os.environ['MY_FLAG']",
        "os.environ.get('MY_FLAG')",
        "os.getenv('MY_FLAG')",
        "os.environb[b'MY_FLAG'].decode()",
        "dict(os.environ)['MY_FLAG']",
        "os.environ.copy()['MY_FLAG']",
        "{**os.environ}['MY_FLAG']",
        "[v for k, v in os.environ.items() if k == 'MY_FLAG'][0]",
    ],
)
def test_a_variable_that_an_import_read_counts(
    bench: WarmBench, library: Path, monkeypatch: pytest.MonkeyPatch, reads: str
) -> None:
    module = library / "mine.py"
    module.write_text(f"import os\nVALUE = {reads}")
    settle(module)
    monkeypatch.setenv("MY_FLAG", "one")
    bench.prepare(["mine"])
    why = stale(bench, lambda: monkeypatch.setenv("MY_FLAG", "two"), "one", "two")
    assert "MY_FLAG has changed" in why


def test_a_variable_that_was_not_there_counts(
    bench: WarmBench, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = library / "mine.py"
    module.write_text("import os\nVALUE = os.environ.get('MY_FLAG', 'none')")
    settle(module)
    bench.prepare(["mine"])
    assert "MY_FLAG" in stale(bench, lambda: monkeypatch.setenv("MY_FLAG", "two"), "none", "two")


def test_a_variable_that_nobody_read_is_the_scripts_own(bench: WarmBench) -> None:
    bench.prepare()
    text = "import os; print(os.environ['OF_MINE'])"
    assert [bench.warm(text, env={"OF_MINE": value}).stdout for value in "ab"] == ["a\n", "b\n"]


def test_a_variable_that_an_import_sets_is_set_in_the_script(bench: WarmBench, library: Path) -> None:
    module = library / "mine.py"
    module.write_text(
        "import os\nos.environ['SET_AT_IMPORT'] = 'yes'\nos.environ.pop('TAKEN', None)\nVALUE = 1"
    )
    settle(module)
    bench.prepare(["mine"])
    text = "import os, mine; print(os.environ.get('SET_AT_IMPORT'), os.environ.get('TAKEN'))"
    result = bench.run(text, warm=["mine"], env={"TAKEN": None})
    assert (result.warm, result.stdout) == (True, "yes None\n")


def test_the_working_directory_counts_where_an_import_read_it(
    bench: WarmBench, library: Path, tmp_path: Path
) -> None:
    module = library / "mine.py"
    module.write_text("import os\nVALUE = os.path.basename(os.getcwd())")
    settle(module)
    here, there = Path.cwd().name, tmp_path / "there"
    there.mkdir()
    bench.prepare(["mine"])
    assert "working directory" in stale(bench, lambda: None, here, "there", cwd=there)


def test_another_working_directory_is_the_scripts_own_otherwise(bench: WarmBench, tmp_path: Path) -> None:
    bench.prepare()
    assert bench.warm("import os; print(os.getcwd())", cwd=tmp_path).stdout == f"{tmp_path}\n"


@pytest.mark.must_hold
def test_a_file_beside_the_script_that_takes_a_modules_name_is_imported(bench: WarmBench) -> None:
    bench.prepare()
    bench.write("VALUE = 'beside the script'", "json.py")
    result = bench.run("import json; print(json.VALUE)", warm=["json"])
    assert result.stdout == "beside the script\n"
    assert "json.py in place of a module" in str(result.cold_because)


def test_a_module_beside_the_script_can_be_preloaded(bench: WarmBench) -> None:
    bench.write("VALUE = 'beside'", "mine.py")
    settle(bench.folder / "mine.py")
    assert "one is being started" in bench.cold(USES, modules=["mine"])
    until(lambda: bench.run(USES, warm=["mine"]).warm, "a server")
    assert bench.warm(USES, modules=["mine"]).stdout == "beside\n"
    # Another folder has another module of this name, or none.
    other = bench.write(USES, "other/script.py")
    assert not run_script(other, log_dir=bench.runs, timeout=SECONDS, warm=["mine"]).ok


@pytest.mark.must_hold
def test_another_interpreter_has_a_server_of_its_own(bench: WarmBench, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    other = tmp_path / "venv" / "bin" / "python"
    text = "import sys; print(sys.prefix)"
    bench.prepare()
    assert "one is being started" in bench.cold(text, python=other)
    until(lambda: bench.run(text, warm=["json"], python=other).warm, "a server of the other")
    assert bench.warm(text, python=other).stdout == f"{tmp_path / 'venv'}\n"
    assert bench.warm(text).stdout == f"{sys.prefix}\n"


def test_a_preload_list_has_a_server_of_its_own(bench: WarmBench) -> None:
    bench.prepare(["json"])
    assert "decimal" in bench.cold(modules=["json", "decimal"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / 0", "ZeroDivisionError"),
        (
            "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
            "thread",
        ),
        ("import subprocess; subprocess.Popen(['sleep', '600'])", "process"),
        ("import os; os.kill(os.getpid(), 9)", "ended while it imported mine"),
    ],
)
def test_what_cannot_be_preloaded_is_told(bench: WarmBench, library: Path, text: str, why: str) -> None:
    module = library / "mine.py"
    module.write_text(text)
    settle(module)
    with pytest.raises(UsageError, match=why):
        bench.prepare(["mine"])
    assert bench.run("print('ran')", warm=["mine"]).stdout == "ran\n"
    control.stop()
    until(lambda: not marked(f"PYTHONPATH={library}"), "the end of what the import has left")


def test_a_virtual_device_comes_before_every_import(bench: WarmBench) -> None:
    bench.prepare()
    assert "virtual device" in bench.cold(env={"COLDFORK_VIRTUAL": "h100"})


@pytest.mark.must_hold
def test_another_place_in_the_system_makes_a_cold_start(bench: WarmBench) -> None:
    """A property that no process forked elsewhere can have, here its rank for the OOM killer."""
    bench.prepare()
    script = bench.write("print('ran')")
    command = f"echo 77 > /proc/self/oom_score_adj && {sys.executable} -m coldfork exec --warm json {script}"
    done = subprocess.run(
        ["sh", "-c", command], env=variables(), capture_output=True, text=True, timeout=SECONDS, check=True
    )
    assert done.stdout == "ran\n"
    assert "its priority when memory runs out differs from that of the keeper" in done.stderr


def test_a_server_that_was_killed_is_replaced(bench: WarmBench) -> None:
    server = bench.prepare()
    os.kill(server.pid, 9)
    until(lambda: bench.run("pass", warm=["json"]).warm, "another server")


def test_a_keeper_that_was_killed_is_replaced(bench: WarmBench) -> None:
    bench.prepare()
    first = control.status().keeper
    assert first is not None
    os.kill(first, 9)
    until(lambda: bench.run("pass", warm=["json"]).warm, "another keeper")
    assert control.status().keeper != first
