"""A program run by `coldfork run` is the program that Python runs: nobody outside can tell the difference."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.launch.sidebyside import coldfork_run, said_by, variables, write

SCRIPT = "program.py"
PROGRAMS = re.findall(
    r"^=== (\S+)\n(.*?)(?=^===|\Z)",
    Path(__file__).with_name("programs.txt").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)

HOW_STARTED = (
    "import os, sys\n"
    "print(sys.argv, __name__, sys.path, sys.flags, sys.orig_argv[1:], sys._xoptions, sys.warnoptions)\n"
    "print(globals().get('__file__'), __spec__ and __spec__.name, __package__, sys.executable, __debug__)\n"
    "print(sorted(os.environ.items()), os.getcwd(), sys.stdin.isatty(), sys.stdout.line_buffering)\n"
    "print(sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__, len(sys.meta_path))\n"
)
PACKAGE = {
    "pkg/__init__.py": "print('package', __name__)\n",
    "pkg/__main__.py": HOW_STARTED + "from . import other\nfrom .other import VALUE\nprint(VALUE)\n",
    "pkg/other.py": "VALUE = 42\n",
    "pkg/failing.py": "from . import other\nother.no_such_name\n",
}
FAR_WARNING = {"far.py": "import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)\n"}
SPAWNING = """\
import multiprocessing, sys
class Parcel:
    def __init__(self, value): self.value = value
def double(parcel): return Parcel(parcel.value * 2)
if __name__ == '__main__':
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print([parcel.value for parcel in pool.map(double, [Parcel(1), Parcel(2)])])
        print(double.__module__, Parcel.__module__)
"""
DEATH_SIGNAL = """\
import ctypes
number = ctypes.c_int(-1)
if hasattr(ctypes.CDLL(None), 'prctl'):
    ctypes.CDLL(None).prctl(2, ctypes.byref(number), 0, 0, 0)
print(number.value)
"""
#: Our own process reads the same PYTHONPATH and would say it too.
NOT_OURS = "import sys\nif 'coldfork' not in sys.orig_argv:\n    "
ENDING_SIGNALS = "SIGTERM SIGKILL SIGINT SIGHUP SIGUSR1 SIGALRM SIGPIPE SIGABRT SIGSEGV"


@dataclass(frozen=True)
class Case:
    """A program, and how it is called."""

    name: str
    text: str = ""
    words: tuple[str, ...] = (SCRIPT,)
    files: dict[str, str] = field(default_factory=dict)
    given: str = ""
    path: str = ""


CASES = [
    *(Case(name, f"print('begun', flush=True)\n{text}") for name, text in PROGRAMS),
    *(
        Case(
            f"killed-by-{name}",
            f"import os, signal, time\nos.kill(os.getpid(), signal.{name})\ntime.sleep(1)",
        )
        for name in ENDING_SIGNALS.split(" ")
    ),
    Case("file", HOW_STARTED, (SCRIPT, "one", "--output", "two words", "-c", "--help", "")),
    Case("dash-dash", HOW_STARTED, ("--", SCRIPT, "-x")),
    Case("path-with-dots", HOW_STARTED, (f"./below/../{SCRIPT}",), {"below/empty": ""}),
    Case("code", "", ("-c", HOW_STARTED, "one", "-m", "--virtual")),
    Case("code-in-one-word", "", ("-cprint(__import__('sys').argv)", "one")),
    Case("module", "", ("-m", "pkg", "one", "--follow"), PACKAGE),
    Case("module-in-one-word", "", ("-mpkg.other",), PACKAGE),
    Case("failing-module", "", ("-m", "pkg.failing"), PACKAGE),
    Case("no-such-module", "", ("-m", "no_such_module")),
    Case("no-such-file", "", ("no_such_file.py",)),
    Case("folder", "", ("pkg",), {"pkg/__main__.py": HOW_STARTED}),
    Case("standard-input", "", ("-", "one", "--quiet"), given=HOW_STARTED),
    Case("nothing-but-standard-input", "", (), given=HOW_STARTED + "1 / 0\n"),
    Case("reads-standard-input", "import sys\nprint(input(), sys.stdin.read())\n", given="first\nrest\n"),
    Case("interactive", "x = 5\n", ("-i", SCRIPT), given="x + 1\nexit(3)\n"),
    Case("optimised", HOW_STARTED + "assert False\n", ("-OO", SCRIPT)),
    Case("many-options", HOW_STARTED, ("-Bu", "-X", "dev", "-Wdefault", "-Xutf8=1", "-bb", SCRIPT, "-E")),
    Case("safe-path", HOW_STARTED, ("-P", "-s", SCRIPT)),
    Case("python-path", HOW_STARTED + "import far\n", files=FAR_WARNING, path="lib:."),
    Case("sitecustomize", HOW_STARTED, files={"sitecustomize.py": NOT_OURS + "print(__name__)\n"}, path="."),
    Case("broken-sitecustomize", "1 / 0\n", files={"sitecustomize.py": NOT_OURS + "1 / 0\n"}, path="."),
    Case("same-name-as-ours", "import click\nprint(click.HERE)\n", files={"click.py": "HERE = 1\n"}),
    Case("exception-in-an-import", "import bad", files={"bad.py": "import worse\n", "worse.py": "1 / 0\n"}),
    Case("import-of-nothing", "import bad", files={"bad.py": "import no_such_thing\n"}),
    Case("syntax-error", "print('never')\nx = = 1\n"),
    Case("syntax-error-in-an-import", "import bad", files={"bad.py": "def f(:\n"}),
    Case("warning-as-error", "import far\n", ("-W", "error::DeprecationWarning", SCRIPT), FAR_WARNING),
    Case("warning-from-an-import", "import far\n", ("-Walways", SCRIPT), FAR_WARNING),
    Case("death-signal", DEATH_SIGNAL),
    *(Case(method, SPAWNING, (SCRIPT, method)) for method in ("fork", "spawn", "forkserver")),
]


#: How these end is between the system and the program, whatever the version of Python.
OF_THE_SYSTEM = (
    "abort",
    "becomes-another-program",
    "dash-dash",
    "descriptors",
    "exit-with-",
    "killed-by-",
    "path-with-dots",
    "reads-standard-input",
    "standard-output-closed",
)


def marked(case: Case) -> Any:
    """The case as a parameter; a Ctrl-C is Python's affair."""
    once = case.name.startswith(OF_THE_SYSTEM) and case.name != "killed-by-SIGINT"
    return pytest.param(case, id=case.name, marks=[pytest.mark.once] if once else [])


@pytest.mark.must_hold
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_a_program_says_and_ends_as_with_python(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    write(folder, {**({SCRIPT: case.text} if case.text else {}), **case.files})
    here = {"PYTHONPATH": case.path}
    alone = said_by([sys.executable, *case.words], folder, case.given, here)
    recording = tmp_path / "recording"
    words = [*coldfork_run("--quiet", "--output", str(recording)), *case.words]
    assert said_by(words, folder, case.given, here) == alone
    assert recording.read_bytes().startswith(b'{"event":"header"')


def test_a_zip_file_runs_as_with_python(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", HOW_STARTED + "import beside\n")
        archive.writestr("beside.py", "print(__file__)\n1 / 0\n")
    alone = said_by([sys.executable, "app.pyz", "one"], tmp_path)
    words = [*coldfork_run("--quiet", "--output", "recording"), "app.pyz", "one"]
    assert alone.status == 1
    assert said_by(words, tmp_path) == alone


def test_the_verdict_follows_all_that_the_program_says(tmp_path: Path) -> None:
    write(tmp_path, {SCRIPT: "import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 / 0\n"})
    alone = said_by([sys.executable, SCRIPT], tmp_path)
    told = said_by([*coldfork_run("--output", "recording"), SCRIPT], tmp_path)
    assert (told.status, told.output) == (alone.status, alone.output)
    assert told.errors.removeprefix(alone.errors) == (
        "coldfork: cold: no accelerator was woken\n"
        f"recorded in {tmp_path / 'recording'}\n"
        f"next: coldfork report {tmp_path / 'recording'}\n"
    )


@pytest.mark.must_hold
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere it goes on")
def test_who_kills_the_command_has_killed_the_program(tmp_path: Path) -> None:
    write(tmp_path, {SCRIPT: "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"})
    command = [*coldfork_run("--quiet"), SCRIPT]
    with subprocess.Popen(command, cwd=tmp_path, env=variables(), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        program = os.pidfd_open(int(running.stdout.readline()))
        running.kill()
        assert select.select([program], [], [], 60)[0]
    os.close(program)


NEVER_RUN = "coldfork: unknown: the program was not run, so nothing is known about it"
COLD = "coldfork: cold: no accelerator was woken"


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (("--", "python", SCRIPT), NEVER_RUN),
        (("-m", "no_such_module"), NEVER_RUN),
        (("broken.py",), NEVER_RUN),
        (("empty",), NEVER_RUN),
        (("-c", "x = = 1"), NEVER_RUN),
        (("empty.py",), COLD),
        (("-c", ""), COLD),
        (("-m", "pkg"), COLD),
        (("-m", "json.tool", "--help"), COLD),
        (("pkg",), COLD),
        (("failing.py",), COLD),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_a_program_that_was_run_is_cold(words: tuple[str, ...], verdict: str, tmp_path: Path) -> None:
    package = {"pkg/__init__.py": "", "pkg/__main__.py": ""}
    files = {"broken.py": "x = = 1\n", "empty.py": "", "failing.py": "1 / 0\n", "empty/nothing": ""}
    write(tmp_path, {**package, **files})
    ended = subprocess.run(
        [*coldfork_run(), *words],
        cwd=tmp_path,
        env=variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert verdict in ended.stderr.splitlines()
