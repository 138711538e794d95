"""`coldfork guard`: what it writes, what it says, and what it refuses, with real environments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from coldfork import __version__
from coldfork.observe.forking.questions import DEADLINE
from coldfork.start.guard import interpreters, pth_file
from tests.start import venvs
from tests.start.guarding import ROOT, environment, needs_linux
from tests.start.venvs import Venv

MODE = "import sys; print(sys.modules['coldfork.start.guard.process'].HERE.mode)"

pytestmark = [pytest.mark.once, needs_linux]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """One environment, in which each test leaves no pth file."""
    return venvs.make(tmp_path_factory.mktemp("venv") / "venv")


@pytest.fixture
def venv(shared: Venv) -> Venv:
    """The environment without a pth file."""
    shared.pth_file_path.unlink(missing_ok=True)
    return shared


class Said:
    """A command's output, with the machine's own names replaced."""

    def __init__(self, venv: Venv, *arguments: str, **variables: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "coldfork", "guard", *arguments],
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.status = done.returncode
        self.out = told(done.stdout, venv)
        self.err = told(done.stderr, venv)


def told(text: str, venv: Venv) -> str:
    """The same on every machine and with every Python."""
    python = ".".join(map(str, sys.version_info[:2]))
    for machine, name in (
        (str(venv.site), "SITE"),
        (str(venv.folder), "VENV"),
        (str(ROOT), "CHECKOUT"),
        (".".join(map(str, sys.version_info[:3])), "3.x.y"),
        (f"python{python}", "python3.x"),
        (f"coldfork {__version__}", "coldfork VERSION"),
        (f"{__version__}, from", "VERSION, from"),
    ):
        text = text.replace(machine, name)
    return text


def test_install_status_and_uninstall(venv: Venv) -> None:
    before = venvs.everything(venv.folder)
    here = ("--python", venv.python)
    assert Said(venv, "status", *here).out == snapshot("""\
The guard is not installed in VENV/bin/python (Python 3.x.y).
Next: coldfork guard install --python VENV/bin/python
""")
    said = Said(venv, "install", *here)
    assert (said.status, said.err) == (0, "")
    assert said.out == snapshot("""\
The guard is on in every program of VENV/bin/python (Python 3.x.y), mode warn.
Wrote SITE/coldfork-guard.pth
Next: COLDFORK_GUARD=off switches it off for one program
""")
    assert Said(venv, "status", *here).out == snapshot("""\
The guard is on in every program of VENV/bin/python (Python 3.x.y), mode warn.
  warn      refuses nothing, but warns; raise and strict refuse
  pth file  SITE/coldfork-guard.pth, written by coldfork VERSION
  coldfork  VERSION, from CHECKOUT/src/coldfork
  bodies    while cuda, rocm or xpu is awake, what a worker will call for certain is read in its
            source, once for a function, in another process that gets 5 seconds
  read: the target of a process, or its run
  read: the initializer of a pool, of an executor or of joblib
  read: a data set's __getitem__, __getitems__ or __iter__, collate_fn and worker_init_fn
  read: a preexec_fn
  not read: the tasks that a pool gets later, and the code after a plain os.fork
  not read: code of installed packages, compiled code, and sources that have changed since they were loaded
  not read: workers of a process in which only a runtime without a device is awake
  not covered: a fork made by C code, such as a library's or uWSGI's, which raises no event in Python
  not covered: Python started with -S, which reads no .pth file; with -I, with -E and with a cleared environment the guard is on, in the installed mode, unless coldfork itself is found only through PYTHONPATH
  not covered: other interpreters, which need their own installation, and subinterpreters
""")
    assert Said(venv, "install", *here, "--mode", "warn").out == snapshot("""\
The guard is on in every program of VENV/bin/python (Python 3.x.y), mode warn.
Wrote SITE/coldfork-guard.pth
Next: COLDFORK_GUARD=off switches it off for one program
""")
    assert Said(venv, "status", *here, COLDFORK_GUARD="log").out == snapshot("""\
The guard is on in every program of VENV/bin/python (Python 3.x.y), mode warn.
  warn      refuses nothing, but warns; raise and strict refuse
  pth file  SITE/coldfork-guard.pth, written by coldfork VERSION
  coldfork  VERSION, from CHECKOUT/src/coldfork
  COLDFORK_GUARD=log is set here, and overrides the mode
  bodies    while cuda, rocm or xpu is awake, what a worker will call for certain is read in its
            source, once for a function, in another process that gets 5 seconds
  read: the target of a process, or its run
  read: the initializer of a pool, of an executor or of joblib
  read: a data set's __getitem__, __getitems__ or __iter__, collate_fn and worker_init_fn
  read: a preexec_fn
  not read: the tasks that a pool gets later, and the code after a plain os.fork
  not read: code of installed packages, compiled code, and sources that have changed since they were loaded
  not read: workers of a process in which only a runtime without a device is awake
  not covered: a fork made by C code, such as a library's or uWSGI's, which raises no event in Python
  not covered: Python started with -S, which reads no .pth file; with -I, with -E and with a cleared environment the guard is on, in the installed mode, unless coldfork itself is found only through PYTHONPATH
  not covered: other interpreters, which need their own installation, and subinterpreters
""")
    assert [path.name for path in venv.site.iterdir() if "guard" in path.name] == [venv.pth_file_path.name]
    assert Said(venv, "uninstall", *here).out == snapshot("Removed SITE/coldfork-guard.pth\n")
    assert venvs.everything(venv.folder) == before
    said = Said(venv, "uninstall", *here)
    assert (said.status, said.out) == (
        0,
        snapshot(
            "There was nothing to remove: the guard is not installed in VENV/bin/python (Python 3.x.y).\n"
        ),
    )


# What earlier versions wrote, to the letter: it lies in the interpreters of their users.
FIRST = r"""import sys; exec('try:\n    from coldfork.plugins.startup import begin\n    begin("raise")\nexcept Exception as error:\n    removed = getattr(error, "name", None) in ("coldfork", "coldfork.plugins", "coldfork.plugins.startup")\n    if sys.stderr is not None and not removed and not hasattr(sys, "coldfork_guard_failed"):\n        sys.coldfork_guard_failed = True\n        sys.stderr.write(f"coldfork: the fork guard is not on: {type(error).__name__}: {error}\\n")\n')  # coldfork 0.0.1: guard, mode raise
"""
SECOND = r"""import os, sys; exec('try:\n    if os.environ.get("COLDFORK_GUARD") != "off":\n        from coldfork.plugins.startup import begin\n        begin("raise")\nexcept Exception as error:\n    removed = getattr(error, "name", None) in ("coldfork", "coldfork.plugins", "coldfork.plugins.startup")\n    if sys.stderr is not None and not removed and not hasattr(sys, "coldfork_guard_failed"):\n        sys.coldfork_guard_failed = True\n        sys.stderr.write(f"coldfork: the fork guard is not on: {type(error).__name__}: {error}\\n")\n')  # coldfork 0.0.1: guard, mode raise
"""


@pytest.mark.must_hold
@pytest.mark.parametrize("text", [FIRST, SECOND], ids=["the first", "the one before"])
def test_what_an_earlier_version_wrote_runs_counts_and_is_uninstalled(text: str, venv: Venv) -> None:
    before = venvs.everything(venv.folder)
    venv.pth_file_path.write_text(text, encoding="ascii")
    assert venv.run("-c", MODE).stdout == "raise\n"
    status = Said(venv, "status", "--python", venv.python).out
    assert "The guard is on in every program of VENV/bin/python (Python 3.x.y), mode raise." in status
    assert "SITE/coldfork-guard.pth, written by coldfork 0.0.1" in status
    listed = json.loads(Said(venv, "status", "--python", venv.python, "--format", "json").out)
    assert [(one["mode"], one["written_by"]) for one in listed["doors"]] == [("raise", "0.0.1")]
    assert Said(venv, "uninstall", "--python", venv.python).out == "Removed SITE/coldfork-guard.pth\n"
    assert venvs.everything(venv.folder) == before


def test_status_tells_what_a_variable_does_without_a_pth_file(venv: Venv) -> None:
    assert Said(venv, "status", "--python", venv.python, COLDFORK_GUARD="warn").out == snapshot("""\
The guard is not installed in VENV/bin/python (Python 3.x.y).
COLDFORK_GUARD=warn is set; only programs that call coldfork.guard() read it.
Next: coldfork guard install --python VENV/bin/python
""")


def test_status_as_json(venv: Venv) -> None:
    venv.install("log")
    said = Said(venv, "status", "--python", venv.python, "--format", "json")
    assert json.loads(said.out) == {
        "schema_version": 1,
        "python": "VENV/bin/python",
        "python_version": "3.x.y",
        "coldfork": __version__,
        "coldfork_from": "CHECKOUT/src/coldfork",
        "variable": None,
        "doors": [{"path": "SITE/coldfork-guard.pth", "mode": "log", "written_by": "0.0.1"}],
        "not_covered": list(pth_file.NOT_COVERED),
        "bodies": {"read": list(interpreters.READ), "seconds": DEADLINE, "unread": list(interpreters.UNREAD)},
    }


def test_a_pth_file_that_was_changed_is_reported_and_written_anew(venv: Venv) -> None:
    venv.install("raise")
    venv.pth_file_path.write_text(venv.pth_file_path.read_text(encoding="utf-8")[:60], encoding="utf-8")
    assert Said(venv, "status", "--python", venv.python).out == snapshot("""\
The guard may be off in VENV/bin/python (Python 3.x.y): SITE/coldfork-guard.pth was damaged or changed by hand.
  coldfork  VERSION, from CHECKOUT/src/coldfork
  bodies    while cuda, rocm or xpu is awake, what a worker will call for certain is read in its
            source, once for a function, in another process that gets 5 seconds
  read: the target of a process, or its run
  read: the initializer of a pool, of an executor or of joblib
  read: a data set's __getitem__, __getitems__ or __iter__, collate_fn and worker_init_fn
  read: a preexec_fn
  not read: the tasks that a pool gets later, and the code after a plain os.fork
  not read: code of installed packages, compiled code, and sources that have changed since they were loaded
  not read: workers of a process in which only a runtime without a device is awake
  not covered: a fork made by C code, such as a library's or uWSGI's, which raises no event in Python
  not covered: Python started with -S, which reads no .pth file; with -I, with -E and with a cleared environment the guard is on, in the installed mode, unless coldfork itself is found only through PYTHONPATH
  not covered: other interpreters, which need their own installation, and subinterpreters
Next: coldfork guard install --python VENV/bin/python writes it again
""")
    assert Said(venv, "install", "--python", venv.python).status == 0
    assert "mode warn" in Said(venv, "status", "--python", venv.python).out


def test_without_coldfork_nothing_is_installed_and_a_pth_file_is_called_idle(tmp_path: Path) -> None:
    bare = venvs.make(tmp_path / "bare", with_coldfork=False)
    before = venvs.everything(bare.folder)
    said = Said(bare, "install", "--python", bare.python)
    assert (said.status, said.err) == (
        2,
        snapshot(
            "coldfork: VENV/bin/python (Python 3.x.y) has no coldfork; install it there first: VENV/bin/python -m pip install coldfork\n"
        ),
    )
    assert venvs.everything(bare.folder) == before
    bare.install("raise")
    assert Said(bare, "status", "--python", bare.python).out == snapshot("""\
The guard is off in VENV/bin/python (Python 3.x.y): coldfork has been removed.
  pth file  SITE/coldfork-guard.pth, written by coldfork 0.0.1
Next: coldfork guard uninstall --python VENV/bin/python
""")
    assert Said(bare, "uninstall", "--python", bare.python).status == 0


def test_an_interpreter_that_does_not_come_on_is_left_as_it_was(venv: Venv) -> None:
    spoiler = venv.site / "zz.pth"
    spoiler.write_text(
        "import sys; sys.modules.pop('coldfork.start.guard.process', None)\n", encoding="utf-8"
    )
    before = venvs.everything(venv.folder)
    try:
        said = Said(venv, "install", "--python", venv.python)
        assert (said.status, said.err) == (
            2,
            snapshot(
                "coldfork: the guard does not turn on in VENV/bin/python (Python 3.x.y), so nothing was changed: it starts without running the pth file\n"
            ),
        )
        assert venvs.everything(venv.folder) == before
    finally:
        spoiler.unlink()


@pytest.mark.parametrize(
    "python",
    ["/no/such/python", "/bin/false", "/bin/echo"],
)
def test_what_is_no_python_is_refused(python: str, venv: Venv) -> None:
    said = Said(venv, "install", "--python", python)
    assert said.status == 2
    assert (
        said.err
        == {
            "/no/such/python": snapshot("coldfork: cannot run /no/such/python: No such file or directory\n"),
            "/bin/false": snapshot("coldfork: /bin/false ended with status 1: it printed nothing\n"),
            "/bin/echo": snapshot("coldfork: /bin/echo does not work as a Python interpreter\n"),
        }[python]
    )


def test_a_pth_file_that_cannot_be_written_is_reported_and_nothing_is_left(venv: Venv) -> None:
    venv.pth_file_path.mkdir()
    try:
        before = sorted(venv.site.iterdir())
        said = Said(venv, "install", "--python", venv.python)
        assert sorted(venv.site.iterdir()) == before
    finally:
        venv.pth_file_path.rmdir()
    assert (said.status, said.err) == (2, "coldfork: cannot write SITE/coldfork-guard.pth: Is a directory\n")


OBSERVES = "import sys; print('coldfork.start.guard.observation' in sys.modules)"


@pytest.mark.parametrize(
    ("hack", "program", "observes"),
    [
        ("", OBSERVES, False),
        ("import json", OBSERVES, False),
        # What a pth file imports may do it in turn.
        ("import other", OBSERVES, True),
        ("", f"import other; {OBSERVES}", True),
    ],
)
def test_what_a_pth_file_imports_is_no_sign_of_a_program(
    venv: Venv, hack: str, program: str, observes: bool
) -> None:
    venv.install("warn")
    # As setuptools does it, behind the file of the guard.
    added = {"zz.pth": "import hack\n", "hack.py": hack, "other.py": ""}
    for name, content in added.items():
        (venv.site / name).write_text(content, encoding="utf-8")
    try:
        done = venv.run("-c", program)
    finally:
        for name in added:
            (venv.site / name).unlink()
    assert (done.stdout, done.stderr) == (f"{observes}\n", "")
