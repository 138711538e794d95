"""`coldfork check --confirm`: real packages, imported in real interpreters, before a virtual device."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result

from coldfork.report.formats import FORMATS
from tests.cli.stalled import STALL, is_gone, stalled
from tests.limits import overrun

Run = Callable[..., Result]
Write = Callable[..., None]
Answers = Callable[..., dict[tuple[str, int], tuple[str | None, str | None]]]

DRIVER = """\
import ctypes

def start():
    return ctypes.CDLL("libcuda.so.1").cuInit(0)
"""
"""A library that wakes the driver in a way that a real one would, and that check knows from the settings."""

KNOWN = """\
[[tool.coldfork.knowledge.effect]]
calls = ["tinydriver.start"]
does = "initialises-driver"
accelerator = "cuda"
source = "the test that wrote it"
"""

CLASS_BODY = """\
import tinydriver

def version():
    return tinydriver.start()

class Builder:
    support = version()
"""

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler to build the virtual driver"
    ),
]


@pytest.fixture
def write(
    project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, configure: Callable[[str], Path]
) -> Write:
    """Write modules of `src/engine`; `tinydriver` lies beside, as an installed package does."""
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(cache))
    (project / "beside").mkdir()
    (project / "beside" / "tinydriver.py").write_text(DRIVER, encoding="utf-8")
    configure('site-packages = ["beside"]\n' + KNOWN)
    (project / "src" / "engine" / "core.py").unlink()

    def write(**modules: str) -> None:
        for name, text in modules.items():
            file = project / "src" / "engine" / f"{name}.py"
            file.write_text(textwrap.dedent(text), encoding="utf-8")

    return write


@pytest.fixture
def answers(run: Run) -> Answers:
    """Return what --confirm says, by module and line."""

    def ask(*arguments: str, virtual: str | None = "h100") -> dict[tuple[str, int], Any]:
        given = ("--virtual", virtual) if virtual else ()
        result = run("check", "--confirm", *given, "--format", "json", *arguments)
        assert result.exit_code in (0, 1), result.output
        assert result.stderr == ""
        return {
            (finding["module"], finding["line"]): (finding["confirmed"], finding["confirmation"])
            for finding in json.loads(result.stdout)["findings"]
        }

    return ask


def test_the_line_that_woke_the_device_is_confirmed_and_later_ones_are_hidden(
    write: Write, answers: Answers
) -> None:
    write(caps=CLASS_BODY + "\nagain = tinydriver.start()\n")
    # Before Python 3.12 a call of ctypes is known by its line only.
    call = ", by cuInit" if sys.version_info >= (3, 12) else ""
    assert answers() == {
        ("engine.caps", 7): (
            "woken",
            f"a fresh interpreter woke cuda at this line, on virtual:h100{call}",
        ),
        ("engine.caps", 9): ("not-testable", "engine/caps.py:7 had woken cuda before the line ran"),
    }


def test_an_import_is_confirmed_by_what_it_leads_to(write: Write, answers: Answers) -> None:
    write(__init__="import json\nfrom engine.caps import Builder\n", caps=CLASS_BODY, quiet="X = 1\n")
    found = answers()
    confirmed, said = found["engine", 2]
    assert confirmed == "woken"
    assert said is not None
    assert "at this line, on virtual:h100, through engine/caps.py:7" in said
    # `import engine.caps` runs engine/__init__.py first.
    assert found["engine.caps", 7][0] == "woken"


def test_a_package_that_wakes_by_itself_hides_its_modules(write: Write, answers: Answers) -> None:
    write(__init__="import tinydriver\ntinydriver.start()\n", caps=CLASS_BODY)
    assert answers()["engine.caps", 7] == (
        "not-testable",
        "cuda was awake before the module ran: woken by engine/__init__.py:2",
    )


def test_a_condition_that_does_not_hold_leaves_the_device_cold(write: Write, answers: Answers) -> None:
    write(
        caps="""\
        import os
        import tinydriver

        if os.path.exists("/nowhere/at/all"):
            tinydriver.start()
        """
    )
    assert answers() == {
        ("engine.caps", 5): (
            "cold",
            "a fresh interpreter that imported the module stayed cold, on virtual:h100",
        )
    }


def test_a_line_that_was_passed_before_another_woke_is_cold(write: Write, answers: Answers) -> None:
    write(
        caps="""\
        import os
        import tinydriver

        if os.path.exists("/nowhere/at/all"):
            tinydriver.start()
        tinydriver.start()
        """
    )
    found = answers()
    assert found["engine.caps", 5] == (
        "cold",
        "the line had not woken cuda by the time engine/caps.py:6 did, on virtual:h100",
    )
    assert found["engine.caps", 6][0] == "woken"


def test_an_import_that_fails_says_something_about_the_lines_before(write: Write, answers: Answers) -> None:
    write(
        early="import tinydriver\nimport nothing_of_this_name\ntinydriver.start()\n",
        late="""\
        import os
        import tinydriver
        if os.path.exists("/nowhere/at/all"):
            tinydriver.start()
        import nothing_of_this_name
        """,
        woken="import tinydriver\ntinydriver.start()\nimport nothing_of_this_name\n",
    )
    missing = "the import failed with ModuleNotFoundError: No module named 'nothing_of_this_name'"
    found = answers()
    assert found["engine.early", 3] == ("not-testable", missing)
    assert found["engine.late", 4] == (
        "cold",
        f"the import passed the line, and cuda stayed cold, on virtual:h100; at line 5 {missing}",
    )
    confirmed, said = found["engine.woken", 2]
    assert (confirmed, (said or "").rpartition("; ")[2]) == ("woken", f"afterwards {missing}")


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("import os; os._exit(0)", "the import ended the process with exit status 0"),
        ("raise KeyboardInterrupt", "the import failed with KeyboardInterrupt"),
        ("import ctypes; ctypes.string_at(0)", "the import crashed: SIGSEGV"),
    ],
)
def test_imports_that_break_before_the_line(write: Write, answers: Answers, before: str, reason: str) -> None:
    # Behind a call, so that check cannot see that the line is never reached.
    write(caps=f"import tinydriver\ndef leave():\n    {before}\nleave()\ntinydriver.start()\n")
    assert answers().get(("engine.caps", 5), ("not-testable", reason)) == ("not-testable", reason)


def test_an_import_that_never_ends(write: Write, answers: Answers) -> None:
    write(caps="import time\nimport tinydriver\ntime.sleep(600)\ntinydriver.start()\n")

    def answer(limit: int) -> tuple[str | None, str | None]:
        try:
            return answers("--timeout", str(limit))["engine.caps", 4]
        except AssertionError as error:
            # Too little for the interpreter's start alone, which check says in so many words.
            if "although there was nothing to import" not in str(error):
                raise
            return None, None

    limit, (confirmed, said) = overrun(answer, lambda found: "line 3 in <module>" in (found[1] or ""))
    assert confirmed == "not-testable"
    assert said is not None
    assert said.startswith(f"the import did not end within {limit} s; it was in ")
    assert 'caps.py", line 3 in <module>' in said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_who_is_stopped_gets_the_findings_and_what_was_seen_by_then(write: Write, project: Path) -> None:
    write(
        caps="import tinydriver\ntinydriver.start()\n",
        slow=f"import tinydriver\n{STALL}tinydriver.start()\n",
    )
    arguments = ["--confirm", "--virtual", "h100", "--jobs", "1", "--format", "json", "--exit-zero"]
    process, importer = stalled(project, "check", *arguments)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.decode() == (
        "\ncoldfork: interrupted: findings count as not testable where modules were not imported\n"
    )
    found = json.loads(out)["findings"]
    assert [(one["module"], one["confirmed"]) for one in found] == [
        ("engine.caps", "woken"),
        ("engine.slow", "not-testable"),
    ]
    assert found[1]["confirmation"] == "the imports were interrupted before it was tested"
    assert is_gone(importer)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("question", ["-c", "-I"])
def test_who_is_stopped_before_the_first_import_gets_the_findings_all_the_same(
    question: str, number: signal.Signals, write: Write, project: Path
) -> None:
    """The interpreter is asked for its version (-I), and to import nothing (-c); here it never answers."""
    write(caps="import tinydriver\ntinydriver.start()\n")
    slow = project / "slow-python"
    slow.write_text(
        f'#!/bin/sh\nif [ "$1" = "{question}" ]; then echo $$ >pid; exec sleep 600; fi\n'
        f'exec {sys.executable} "$@"\n'
    )
    slow.chmod(0o755)
    arguments = ["--confirm", "--virtual", "h100", "--python", str(slow), "--site-packages", "beside"]
    process, asked = stalled(project, "check", *arguments, "--format", "json", "--exit-zero")
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.decode().startswith("\ncoldfork: interrupted: ")
    (finding,) = json.loads(out)["findings"]
    assert (finding["confirmed"], finding["confirmation"]) == (
        "not-testable",
        "the imports were interrupted before it was tested",
    )
    assert is_gone(asked)


def test_many_imports_are_announced_before_the_first(write: Write, project: Path) -> None:
    write(**{f"m{number}": f"import tinydriver\n{STALL}tinydriver.start()\n" for number in range(11)})
    arguments = ["--confirm", "--virtual", "h100", "--jobs", "2", "--timeout", "90", "--exit-zero"]
    process, _ = stalled(project, "check", *arguments)
    assert process.stderr is not None
    said = [process.stderr.readline().decode() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert said[0] == (
        "coldfork: --confirm imports 11 modules, 2 at a time, and imports those that wake a device again to "
        "find the line: up to 22 fresh interpreters, about 55 s if each takes 5 s, and at most 90 s each "
        "(--timeout)\n"
    )
    assert said[1] == (
        "coldfork: narrow it with PATHS, --entry, --rules or --changed-since; Ctrl-C ends it and prints what "
        "was seen\n"
    )


def test_another_thread_is_never_taken_for_the_line(write: Write, answers: Answers) -> None:
    write(
        caps="""\
        import threading
        import tinydriver

        ready = threading.Event()
        def work():
            tinydriver.start()
            ready.set()
        threading.Thread(target=work, name="warmer").start()
        ready.wait()
        tinydriver.start()
        """
    )
    confirmed, said = answers()["engine.caps", 10]
    assert confirmed == "not-testable", said


def test_what_presumes_a_package_is_not_tested_without_it(
    write: Write, answers: Answers, project: Path
) -> None:
    """`tinydriver` was read beside, and the interpreter that is given does not have it."""
    (project / "src" / "pyproject.toml").write_text("[project]\ndependencies = ['tinydriver']\n", "utf-8")
    write(
        caps="""\
        try:
            import tinydriver
        except ImportError:
            tinydriver = None
        if tinydriver is not None:
            tinydriver.start()
        """
    )
    assert answers()["engine.caps", 6][0] == "woken"
    shutil.rmtree(project / "beside")
    (project / "beside").mkdir()
    assert answers()["engine.caps", 6] == (
        "not-testable",
        "it presumes that tinydriver is installed, which the interpreter does not find",
    )


def test_programs_are_not_imported(write: Write, answers: Answers, project: Path) -> None:
    write(__main__="import tinydriver\nopen('ran', 'w').close()\ntinydriver.start()\n")
    assert answers() == {
        ("engine.__main__", 3): ("not-testable", "it is a program, and an import would run it")
    }
    assert not (project / "ran").exists()


def test_an_installed_copy_is_not_taken_for_the_code_that_was_checked(
    write: Write, answers: Answers, project: Path
) -> None:
    """The folder one stands in comes first, as it does for `python -c`."""
    write(caps=CLASS_BODY)
    shutil.copytree(project / "src" / "engine", project / "engine")
    copy = project / "engine" / "caps.py"
    assert answers("src") == {
        ("engine.caps", 7): ("not-testable", f"the interpreter imports engine.caps from {copy}")
    }
    copy.write_text("X = 1\n", encoding="utf-8")
    assert answers("src")["engine.caps", 7][0] == "not-testable"


def test_without_a_device_nothing_is_imported_and_the_way_out_is_named(
    write: Write, answers: Answers, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coldfork.launch.probe.comparison._NODES", ())
    monkeypatch.setattr("coldfork.launch.probe.comparison._OF_CUDA", ())
    write(caps="open('ran', 'w').close()\n" + CLASS_BODY)
    assert answers(virtual=None) == {
        ("engine.caps", 8): (
            "not-testable",
            (
                "this machine has no cuda device to wake; "
                "give it one with coldfork check --confirm --virtual h100"
            ),
        )
    }
    assert not (project / "ran").exists()


def test_a_device_of_another_make_says_nothing(write: Write, answers: Answers) -> None:
    write(caps=CLASS_BODY)
    assert answers(virtual="mi300x")["engine.caps", 7] == (
        "not-testable",
        "virtual:mi300x has no cuda device to wake; give it one with coldfork check --confirm --virtual h100",
    )


def test_several_paths_find_one_another(write: Write, answers: Answers, project: Path) -> None:
    write(caps=CLASS_BODY)
    (project / "tools").mkdir()
    (project / "tools" / "bench.py").write_text(
        "import engine\nimport tinydriver\ntinydriver.start()\n", encoding="utf-8"
    )
    found = answers("src", "tools")
    assert {place: confirmed for place, (confirmed, _) in found.items()} == {
        ("engine.caps", 7): "woken",
        ("bench", 3): "woken",
    }


def test_what_the_baseline_accepts_is_not_imported(write: Write, run: Run, project: Path) -> None:
    write(caps="open('ran', 'w').close()\n" + CLASS_BODY)
    assert run("baseline", "write").exit_code == 0
    result = run(
        "check", "--confirm", "--virtual", "h100", "--baseline", "coldfork-baseline.json", "--format", "json"
    )
    assert (result.exit_code, json.loads(result.stdout)["findings"]) == (0, [])
    assert not (project / "ran").exists()


@pytest.mark.parametrize("form", FORMATS["finding"])
def test_every_format_shows_the_answer_and_the_reason(write: Write, run: Run, form: str) -> None:
    write(caps=CLASS_BODY, broken="import nothing_of_this_name\nimport tinydriver\ntinydriver.start()\n")
    result = run("check", "--confirm", "--virtual", "h100", "--format", form)
    assert (result.exit_code, result.stderr) == (1, "")
    shown = result.stdout
    if form == "junit":
        shown = "\n".join(ET.fromstring(shown).itertext())
    shown = " ".join(shown.split())
    assert "No module named 'nothing_of_this_name'" in shown
    assert "woken" in shown or "confirmed: a fresh interpreter woke cuda at this line" in shown


def test_the_summary_counts_the_answers(write: Write, run: Run) -> None:
    write(caps=CLASS_BODY, broken="import nothing_of_this_name\nimport tinydriver\ntinydriver.start()\n")
    text = run("check", "--confirm", "--virtual", "h100").stdout
    assert "2 failing the check; 1 confirmed, 1 not testable; " in text


@pytest.mark.parametrize("flag", [("--virtual", "h100"), ("--timeout", "5")])
def test_what_only_imports_need_is_refused_without_them(run: Run, flag: tuple[str, str]) -> None:
    result = run("check", *flag)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"coldfork: {flag[0]} needs --confirm or --prove: nothing is imported without them\n"
    )


def test_the_configuration_may_name_a_device_for_probe_alone(
    run: Run, engine: Any, effect: Any, configure: Callable[[str], Path]
) -> None:
    configure('virtual = "h100"\n')
    engine.sees(effect())
    result = run("check", "--format", "json")
    assert json.loads(result.stdout)["findings"][0]["confirmed"] is None


def test_findings_about_no_device_are_left_alone(write: Write, run: Run) -> None:
    write(caps="X = 1  # coldfork: ignore[device-init-at-import] nothing here\n")
    document = json.loads(run("check", "--confirm", "--virtual", "h100", "--format", "json").stdout)
    (finding,) = document["findings"]
    assert (finding["rule"], finding["confirmed"], finding["confirmation"]) == ("unused-ignore", None, None)


def test_an_environment_is_named_by_its_folder_as_well(write: Write, answers: Answers, project: Path) -> None:
    venv = project / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    write(caps="import sys\nassert 'environment' in sys.prefix, sys.prefix\n" + CLASS_BODY)
    assert answers("--python", str(venv))["engine.caps", 9][0] == "woken"
    assert answers("--python", str(venv / "bin" / "python"))["engine.caps", 9][0] == "woken"


def test_progress_is_for_terminals(write: Write, project: Path) -> None:
    import pty

    write(**{f"caps{number}": CLASS_BODY for number in range(4)})
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "coldfork", "check", "--confirm", "--virtual", "h100", "--jobs", "1"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=120,
        check=False,
    )
    os.close(theirs)
    written = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 1
    assert "importing [" in written
    assert "/4" in written
    assert b"importing [" not in done.stdout
