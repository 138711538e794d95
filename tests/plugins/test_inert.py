"""The plugin does nothing unless it is asked, and how to ask it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugins.conftest import DRIVER, ENGINE, SOURCES, WATCHED, Run

pytestmark = pytest.mark.once

ASK = """
    import json
    import sys


    def test_it():
        ours = [name for name in sys.modules if name.partition(".")[0] == "coldfork"]
        print("\\nloaded:", json.dumps(sorted(ours)))
"""
WAKING = {"driver.py": DRIVER, "test_it.py": "import driver\n\ndriver.wake()\n\n\ndef test_it():\n    pass\n"}


@pytest.mark.must_hold
def test_unasked_it_is_one_module_and_no_foreign_one() -> None:
    program = (
        "import json, sys, pytest; before = set(sys.modules); import coldfork.plugins.pytest_plugin; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == ["coldfork", "coldfork.plugins", "coldfork.plugins.pytest_plugin"]


@pytest.mark.must_hold
def test_unasked_nothing_is_loaded_while_tests_run(suite: Run) -> None:
    ended = suite({"test_it.py": ASK}, "-s")
    loaded = ended.printed.partition("loaded: ")[2].partition("\n")[0]
    assert json.loads(loaded) == ["coldfork", "coldfork.plugins", "coldfork.plugins.pytest_plugin"]
    assert "coldfork:" not in ended.printed


def test_asked_it_stays_with_the_standard_library(suite: Run) -> None:
    test = """
        import sys


        def test_it(cold_import):
            cold_import("colorsys")
            foreign = {"click", "msgspec", "packaging.version", "pathspec", "psutil", "rich"}
            assert not foreign & set(sys.modules)
    """
    ended = suite({"test_it.py": test}, *WATCHED)
    assert ended.status == 0, ended.printed


def test_a_virtual_device_alone_polices_nobody(suite: Run) -> None:
    assert suite(WAKING, "--coldfork-virtual", "h100").status == 0


@pytest.mark.parametrize("keys", ["coldfork = true\ncoldfork_virtual = h100\n"])
def test_keys_in_the_ini_file_ask_as_well(keys: str, suite: Run) -> None:
    files = {**WAKING, "pytest.ini": f"[pytest]\n{keys}"}
    assert suite(files).status == 2
    assert suite({}, "-o", "coldfork=false").status == 0


def test_its_options_stand_in_the_help(suite: Run) -> None:
    shown = suite({}, "--help").printed
    options = ("--coldfork ", "--coldfork-virtual=NAME[:N]", "--coldfork-exact ", "coldfork (bool):")
    assert [option for option in options if option not in shown] == []


def test_an_unknown_device_is_refused_in_a_sentence(suite: Run) -> None:
    ended = suite({}, "--coldfork-virtual", "z9")
    assert ended.status == 4
    assert "ERROR: --coldfork-virtual z9: there is no virtual device 'z9'; there are a100," in ended.printed
    assert "Traceback" not in ended.printed


def test_the_marker_is_registered_whether_or_not_anybody_watches(suite: Run) -> None:
    test = "import pytest\n\n\n@pytest.mark.wakes_device(forks=True)\ndef test_it():\n    pass\n"
    assert suite({"test_it.py": test}).status == 0
    assert "@pytest.mark.wakes_device(forks=False): " in suite({}, "--markers").printed


def test_python_processes_that_tests_start_have_the_device_too(suite: Run) -> None:
    test = """
        import os
        import subprocess
        import sys

        CHILD = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
        GRANDCHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


        def test_it():
            for program in (CHILD, GRANDCHILD):
                command = [sys.executable, "-c", program]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                assert done.stdout == "0\\n"
    """
    assert suite({"test_it.py": test}, "--coldfork-virtual", "h100").status == 0


def test_what_was_put_into_the_environment_is_taken_out_again(tmp_path: Path) -> None:
    program = """
import os, sys, pytest
os.environ["PYTHONPATH"] = sys.argv[1]
before = dict(os.environ)
asked = ["-p", "coldfork.plugins.pytest_plugin", "--coldfork-virtual", "mi300x"]
status = pytest.main(["-q", *asked, sys.argv[2]])
changed = {name for name, _ in set(os.environ.items()) ^ set(before.items())}
assert not {name for name in changed if not name.startswith("PYTEST_")}, changed
sys.exit(status)
"""
    test = tmp_path / "test_it.py"
    test.write_text("import os\n\n\ndef test_it():\n    assert os.environ['COLDFORK_VIRTUAL'] == 'mi300x'\n")
    done = subprocess.run(
        [sys.executable, "-c", program, str(SOURCES), str(test)],
        env={"PYTHONPATH": str(SOURCES), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_watched_run_inside_a_watched_run_is_its_own(suite: Run) -> None:
    """As in the tests of a plugin: the outer run is not failed for what the inner one found."""
    files = {
        **ENGINE,
        "inner/test_inner.py": "import engine.api\n\n\ndef test_it():\n    pass\n",
        "test_it.py": """
            import subprocess
            import sys


            def test_it():
                command = [sys.executable, "-m", "pytest", "-p", "coldfork.plugins.pytest_plugin", "inner"]
                done = subprocess.run([*command, "--coldfork"], capture_output=True, text=True, check=False)
                assert done.returncode == 2, done.stdout
                assert "collecting inner/test_inner.py woke cuda" in done.stdout
        """,
    }
    ended = suite(files, *WATCHED, "test_it.py")
    assert ended.status == 0, ended.printed
