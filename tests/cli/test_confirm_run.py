"""`coldfork check --confirm=run`: real programs, really run, before a virtual device."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result

from coldfork.launch.plumbing.ask import Ended, until_its_end
from coldfork.launch.probe import programs, proofs
from coldfork.report.formats import FORMATS
from coldfork.rules.registry import NAMES
from tests.cli.stalled import SOURCE, STALL, is_gone, stalled
from tests.limits import overrun

Run = Callable[..., Result]
Write = Callable[..., None]
Answer = tuple[str | None, str | None]
Answers = Callable[..., dict[tuple[str, int], Answer]]

FORKING = """\
import multiprocessing, sys, torch

def work():
    torch.ones(1, device="cuda")

if __name__ == "__main__":
    torch.cuda.init()
    one = multiprocessing.get_context("fork").Process(target=work)
    one.start()
    one.join()
"""
UNGUARDED = """\
import multiprocessing

def work():
    pass

one = multiprocessing.get_context("spawn").Process(target=work)
one.start()
one.join()
"""
SENDING = """\
import multiprocessing

def main():
    one = multiprocessing.get_context("spawn").Process(target=lambda: 1)
    one.start()
    one.join()

if __name__ == "__main__":
    main()
"""
IN_A_POOL = """\
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

def main():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        def local(i):
            return i
        task = pool.submit(local, 1)
        task.result()

if __name__ == "__main__":
    main()
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
    """Write files of the project by their paths; packages are not read."""
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(cache))
    (project / "empty").mkdir()
    configure('site-packages = ["empty"]\n')
    shutil.rmtree(project / "src")

    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            file = project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")

    return write


@pytest.fixture
def answers(run: Run) -> Answers:
    """Return what --confirm=run says of the rules about programs, by file and line."""

    def ask(*arguments: str, virtual: str | None = "h100") -> dict[tuple[str, int], Answer]:
        given = ("--virtual", virtual) if virtual else ()
        result = run("check", "--confirm=run", *given, "--format", "json", "--exit-zero", *arguments)
        assert result.exit_code == 0, result.output
        return {
            (finding["file"], finding["line"]): (finding["confirmed"], finding["confirmation"])
            for finding in json.loads(result.stdout)["findings"]
            if finding["program"]
        }

    return ask


def has_ended(pid: int) -> bool:
    """Whether a process that was killed ends within our patience; not everywhere does somebody bury it."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def torch() -> None:
    pytest.importorskip("torch")


@pytest.mark.usefixtures("torch")
def test_a_program_that_forks_too_late_is_confirmed_at_the_line(write: Write, run: Run) -> None:
    write({"train.py": FORKING})
    result = run("check", "--confirm=run", "--virtual", "h100", "--format", "json", "--exit-zero")
    assert result.stderr == (
        "coldfork: --confirm=run runs a program for real, for 120 s (--timeout) at most:\n  python train.py\n"
    )
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["line"], finding["confirmed"], finding["confirmation"]) == (
        9,
        "woken",
        "python train.py forked 1 process at this line, and it used cuda at train.py:4, on virtual:h100",
    )
    assert finding["program"] == {"module": "train", "path": "train.py", "file": "train.py", "function": None}


def test_without_a_finding_nothing_is_run(write: Write, run: Run, project: Path) -> None:
    write({"train.py": FORKING.replace('"fork"', '"spawn"') + "    open('ran', 'w').close()\n"})
    result = run("check", "--confirm=run", "--virtual", "h100")
    assert (result.exit_code, result.stderr) == (0, "")
    assert not (project / "ran").exists()


@pytest.mark.usefixtures("torch")
def test_what_only_an_argument_brings_about_is_not_confirmed(write: Write, answers: Answers) -> None:
    woken = FORKING.replace("torch.cuda.init()", "if len(sys.argv) > 1: torch.cuda.init()")
    forked = FORKING.replace("one.start()", "if len(sys.argv) > 1: one.start()").replace("one.join()", "")
    write({"waking.py": woken, "forking.py": forked})
    assert answers() == {
        ("waking.py", 9): (
            "cold",
            "python waking.py forked 1 process at this line before anything woke cuda, on virtual:h100",
        ),
        ("forking.py", 9): ("cold", "python forking.py ended without forking at this line, on virtual:h100"),
    }


@pytest.mark.usefixtures("torch")
def test_a_child_that_does_not_come_to_the_device_is_told(write: Write, answers: Answers) -> None:
    write({"train.py": FORKING.replace("    torch.ones", "    if len(sys.argv) > 1: torch.ones")})
    assert answers()["train.py", 9] == (
        "cold",
        "python train.py forked 1 process at this line, and none was seen to use cuda, on virtual:h100",
    )


@pytest.mark.usefixtures("torch")
def test_a_program_that_wants_arguments_is_not_testable(write: Write, answers: Answers) -> None:
    parsing = "    parser = argparse.ArgumentParser()\n    parser.add_argument('--n', required=True)\n"
    text = FORKING.replace("import multi", "import argparse, multi").replace(
        "    torch.cuda.init()", f"{parsing}    parser.parse_args()\n    torch.cuda.init()"
    )
    write({"train.py": text})
    assert answers()["train.py", 12] == (
        "not-testable",
        "python train.py wants arguments: train.py: error: the following arguments are required: --n",
    )


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("input('yes?')", "EOFError: EOF when reading a line"),
        ("sys.exit(3)", None),
    ],
)
def test_a_program_that_fails_before_the_line_is_not_testable(
    write: Write, answers: Answers, instead: str, said: str | None
) -> None:
    # Behind a condition: else check would see that the line is never reached.
    leaving = f"import sys\n\ndef leave():\n    if len(sys.argv) < 2:\n        {instead}\n\n"
    write({"send.py": leaving + SENDING.replace("    one = ", "    leave()\n    one = ")})
    status = 3 if said is None else 1
    ending = f"python send.py ended with exit status {status} before it could show this"
    assert answers()["send.py", 12] == (
        "not-testable",
        ending if said is None else f"{ending}: {said}",
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_program_that_does_not_end_is_ended_with_what_it_started(
    write: Write, answers: Answers, project: Path
) -> None:
    waiting = (
        "import pathlib, subprocess, time\n\ndef wait():\n    child = subprocess.Popen(['sleep', '600'])\n"
        "    pathlib.Path('pid').write_text(str(child.pid))\n    time.sleep(600)\n\n"
    )
    write({"send.py": waiting + SENDING.replace("    one = ", "    wait()\n    one = ")})
    limit, answer = overrun(
        lambda limit: answers("--timeout", str(limit))["send.py", 13],
        lambda _: (project / "pid").exists() and (project / "pid").stat().st_size > 0,
    )
    assert answer == (
        "not-testable",
        f"python send.py did not end within {limit} s, and had not failed in that way by then",
    )
    assert has_ended(int((project / "pid").read_text()))


def test_a_program_that_waits_for_ever_once_all_was_seen_is_ended_early(
    write: Write, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool starts its failing workers again and again."""
    monkeypatch.setattr(programs, "_GRACE_SECONDS", 0.2)
    monkeypatch.setattr(programs, "_LOOK_SECONDS", 0.2)
    ends: list[Ended] = []

    def noted(*arguments: Any, **named: Any) -> Ended:
        ends.append(until_its_end(*arguments, **named))
        return ends[-1]

    monkeypatch.setattr(programs, "until_its_end", noted)
    text = UNGUARDED.partition("one = ")[0] + (
        "with multiprocessing.get_context('spawn').Pool(1) as pool:\n    pool.apply(work)\n"
    )
    write({"pool.py": text})
    confirmed, said = answers("--timeout", "60")["pool.py", 6]
    assert (confirmed, [end.sufficed for end in ends]) == ("woken", [True])
    assert said is not None
    assert said.startswith(
        "python pool.py reached this line again in the process that it had started: RuntimeError: An "
    )


def test_python_s_own_error_confirms_a_missing_guard(write: Write, answers: Answers) -> None:
    write({"start.py": UNGUARDED})
    confirmed, said = answers()["start.py", 7]
    assert confirmed == "woken"
    assert said is not None
    assert said.startswith(
        "python start.py reached this line again in the process that it had started: RuntimeError: "
    )


def test_python_s_own_error_confirms_what_cannot_be_pickled(write: Write, answers: Answers) -> None:
    write({"send.py": SENDING, "pool.py": IN_A_POOL})
    found = answers()
    confirmed, said = found["send.py", 5]
    assert confirmed == "woken"
    assert said is not None
    assert said.startswith("python send.py failed at this line: ")
    assert "pickle" in said
    # Python names the line that asks for the result.
    confirmed, said = found["pool.py", 8]
    assert confirmed == "woken"
    assert said is not None
    assert said.startswith("python pool.py failed to send what this line passes: ")
    assert "main.<locals>.local" in said


def test_an_error_of_another_line_confirms_nothing(write: Write, answers: Answers) -> None:
    other = "import pickle, sys\n\ndef spoil():\n    pickle.dumps(sys.stdout)\n\n"
    write({"send.py": other + SENDING.replace("    one = ", "    spoil()\n    one = ")})
    confirmed, said = answers()["send.py", 11]
    assert confirmed == "not-testable"
    assert said is not None
    assert "before it could show this: TypeError: cannot pickle" in said


def test_another_error_of_the_line_confirms_nothing(write: Write, answers: Answers) -> None:
    text = SENDING.replace("    one.start()\n", "    one.start() if len(sys.argv) > 1 else 1 / 0\n")
    write({"send.py": f"import sys\n{text}"})
    confirmed, said = answers()["send.py", 6]
    assert confirmed == "not-testable"
    assert said is not None
    assert said.endswith("before it could show this: ZeroDivisionError: division by zero")


def test_an_error_that_the_program_handles_is_not_seen(write: Write, answers: Answers) -> None:
    body = "    try:\n        one.start()\n    except Exception:\n        return\n"
    write({"send.py": SENDING.replace("    one.start()\n", body)})
    assert answers()["send.py", 6] == (
        "not-testable",
        "the program handles an error at this line without printing it",
    )


def test_a_notebook_is_not_testable(write: Write, answers: Answers) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for text in (SENDING.partition("if __name__")[0], "main()\n")
    ]
    write({"nb.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    assert list(answers().values()) == [("not-testable", "it is a notebook, whose cells only Jupyter runs")]


def test_a_program_is_run_once_for_all_its_findings(write: Write, answers: Answers, project: Path) -> None:
    text = SENDING.replace(
        "    one.start()\n", "    try: one.start()\n    except AttributeError: pass\n    one.start()\n"
    )
    write({"send.py": f"with open('ran', 'a') as file: file.write('x')\n{text}"})
    found = answers()
    # The first error is handled; only the second one is printed.
    assert {place: confirmed for place, (confirmed, _) in found.items()} == {
        ("send.py", 6): "not-testable",
        ("send.py", 8): "woken",
    }
    assert (project / "ran").read_text() == "x"


def test_programs_in_packages_are_started_by_name_and_a_copy_beside_is_not_taken(
    write: Write, run: Run, project: Path
) -> None:
    command = SENDING.partition("if __name__")[0]
    write(
        {
            "src/engine/__init__.py": "",
            "src/engine/words.py": "GREETING = 'hello'\n",
            "src/engine/serve.py": f"from .words import GREETING\n{SENDING}",
            "src/engine/__main__.py": f"from .words import GREETING\n{SENDING}",
            "src/engine/cli.py": f"from .words import GREETING\n{command}",
            "engine/__init__.py": "raise SystemExit('the copy')\n",
            "pyproject.toml": '[project.scripts]\nengine = "engine.cli:main"\n'
            '[tool.coldfork]\nsite-packages = ["empty"]\n',
        }
    )
    result = run("check", "src", "--confirm=run", "--virtual", "h100", "--format", "json", "--exit-zero")
    findings = json.loads(result.stdout)["findings"]
    assert {(one["path"], one["line"], one["confirmed"]) for one in findings} == {
        ("engine/serve.py", 6, "woken"),
        ("engine/__main__.py", 6, "woken"),
        ("engine/cli.py", 6, "woken"),
    }, findings
    first, *commands = result.stderr.splitlines()
    assert first == (
        "coldfork: --confirm=run runs 3 programs for real, one after another, each for 120 s (--timeout) "
        "at most:"
    )
    assert sorted(commands) == [
        "  python -c 'import sys; from engine.cli import main; sys.exit(main())'",
        "  python -m engine",
        "  python -m engine.serve",
    ]


def test_the_program_that_comes_to_a_line_is_run_and_not_the_file_of_the_line(
    write: Write, answers: Answers
) -> None:
    write({"outer.py": "import inner\n\ninner.main()\n", "inner.py": SENDING.partition("if __name__")[0]})
    assert answers()["inner.py", 5][0] == "woken"


def test_a_statement_of_several_lines_is_one_place(write: Write, answers: Answers) -> None:
    write(
        {
            "send.py": SENDING.replace(
                "    one.start()\n", "    (\n        one\n        .start(\n        )\n    )\n"
            )
        }
    )
    ((_, (confirmed, _)),) = answers().items()
    assert confirmed == "woken"


@pytest.mark.usefixtures("torch")
def test_without_a_device_nothing_that_needs_one_is_run(
    write: Write, answers: Answers, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coldfork.launch.probe.comparison._NODES", ())
    monkeypatch.setattr("coldfork.launch.probe.comparison._OF_CUDA", ())
    write({"train.py": f"open('ran', 'w').close()\n{FORKING}", "send.py": SENDING})
    found = answers(virtual=None)
    assert found["train.py", 10] == (
        "not-testable",
        (
            "this machine has no cuda device to wake; "
            "give it one with coldfork check --confirm=run --virtual h100"
        ),
    )
    assert found["send.py", 5][0] == "woken"
    assert not (project / "ran").exists()


@pytest.mark.parametrize("arguments", [("--confirm",), ("--confirm=run", "--no-confirm"), ()])
def test_only_the_word_has_programs_run(
    write: Write, run: Run, project: Path, arguments: tuple[str, ...]
) -> None:
    write({"send.py": f"open('ran', 'w').close()\n{SENDING}"})
    result = run("check", *arguments, "--format", "json", "--exit-zero")
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["confirmed"], result.stderr) == (None, "")
    assert not (project / "ran").exists()


def test_the_word_is_one_behind_the_sign_only(write: Write, run: Run) -> None:
    write({"run/send.py": SENDING, "other/send.py": SENDING})
    result = run("check", "--confirm", "run", "--format", "json", "--exit-zero")
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["file"], finding["confirmed"], result.stderr) == ("run/send.py", None, "")
    result = run("check", "--exit-zero", "--", "--confirm=run")
    assert result.stderr.startswith("coldfork: --confirm=run: no such file or folder")
    for last in ("--confirm=run", "--confirm=run --confirm"):
        result = run("check", "--no-confirm", *last.split(), "run", "--format", "json", "--exit-zero")
        (finding,) = json.loads(result.stdout)["findings"]
        assert finding["confirmed"] == ("woken" if last == "--confirm=run" else None)


def test_another_word_is_refused(run: Run) -> None:
    result = run("check", "--confirm=walk")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "coldfork: --confirm takes only one value: --confirm=run\n"


def test_neither_a_file_nor_a_variable_has_programs_run(
    write: Write, run: Run, project: Path, configure: Callable[[str], Path]
) -> None:
    write({"send.py": f"open('ran', 'w').close()\n{SENDING}"})
    result = run("check", env={"COLDFORK_CONFIRM": "run"})
    assert (result.exit_code, "'run' is not a valid boolean" in result.stderr) == (2, True)
    configure('confirm = "run"\n')
    result = run("check")
    assert result.exit_code == 2
    assert 'confirm: expected true or false, got "run"' in result.stderr
    assert not (project / "ran").exists()


@pytest.mark.parametrize("form", FORMATS["finding"])
def test_every_format_shows_the_answer_and_the_reason(write: Write, run: Run, form: str) -> None:
    write({"send.py": SENDING.replace("    one = ", "    input()\n    one = "), "start.py": UNGUARDED})
    result = run("check", "--confirm=run", "--virtual", "h100", "--format", form)
    assert result.exit_code == 1
    shown = result.stdout
    if form == "junit":
        shown = "\n".join(ET.fromstring(shown).itertext())
    shown = " ".join(shown.split())
    assert "EOFError: EOF when reading a line" in shown
    assert "woken" in shown or "confirmed: python start.py reached this line again" in shown


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_who_is_stopped_gets_the_findings_and_what_was_seen_by_then(write: Write, project: Path) -> None:
    # Under the name that comes first.
    write({"a.py": SENDING, "b.py": STALL + SENDING})
    arguments = ["--confirm=run", "--virtual", "h100", "--format", "json", "--exit-zero"]
    process, program = stalled(project, "check", *arguments)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.decode().endswith(
        "coldfork: interrupted: findings count as not testable where modules were not imported or "
        "programs not run\n"
    )
    found = {one["file"]: one for one in json.loads(out)["findings"]}
    assert found["b.py"]["confirmed"] == "not-testable"
    assert found["b.py"]["confirmation"] == "the runs were interrupted before it was tested"
    assert found["a.py"]["confirmed"] == "woken"
    assert is_gone(program)


def test_progress_is_for_terminals_and_the_announcement_stands_on_lines_of_its_own(
    write: Write, project: Path
) -> None:
    import pty

    write({"a.py": SENDING, "b.py": SENDING})
    ours, theirs = pty.openpty()
    arguments = ["check", "--confirm=run", "--virtual", "h100", "--exit-zero"]
    done = subprocess.run(
        [sys.executable, "-m", "coldfork", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=120,
        check=False,
    )
    os.close(theirs)
    written = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "/2  python b.py" in written
    lines = written.splitlines()  # what overwrites a line is one of its own here
    assert "  python a.py" in lines
    assert any(line.startswith("coldfork: --confirm=run runs 2 programs") for line in lines)
    assert b"running [" not in done.stdout


def test_the_rules_that_programs_prove_exist() -> None:
    assert set(proofs._PROOFS) <= set(NAMES)


HEAD = """import multiprocessing

def child():
    multiprocessing.Process(target=print).start()

if __name__ == "__main__":
"""
REFUSED = {
    "mixed-contexts": """
    queue = multiprocessing.Queue()
    multiprocessing.get_context("spawn").Process(target=print, args=(queue,)).start()  # fault
""",
    "start-method-too-late": """
    queue = multiprocessing.Queue()
    multiprocessing.set_start_method("spawn")  # fault
""",
    "daemonic-worker-with-children": """
    one = multiprocessing.Process(target=child, daemon=True)
    one.start()  # fault
    one.join()
""",
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_python_refuses_is_seen(rule: str, write: Write, answers: Answers) -> None:
    text = f"{HEAD}{REFUSED[rule]}"
    write({"run.py": text})
    line = next(number for number, one in enumerate(text.split("\n"), 1) if one.endswith("# fault"))
    assert answers("--target-version", "3.11")["run.py", line][0] == "woken"
