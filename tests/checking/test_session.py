"""A session answers as a fresh check does, whatever changed in between."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coldfork
from coldfork.checking.request import configured
from coldfork.report.findings.json_format import document
from coldfork.report.shared.options import Options
from tests.amounts import examples

EXAMPLES = examples(25)

WAKES = "import torch\nX = torch.cuda.get_device_name()\n"
ASKS = "import torch\ndef name():\n    return torch.cuda.get_device_name()\n"
TEXTS = (
    "",
    WAKES,
    ASKS,
    "from pkg.a import name\nX = name()\n",
    "from pkg.b import *\n",
    "from pkg import c\nclass Base(c.Base): pass\n",
    "class Base:\n    def __init_subclass__(cls):\n        import pkg.d\n",
    "import os\nif os.environ.get('FAST'):\n    import pkg.a\n",
    "import pkg.sub.e\n",
    "def broken(:\n",
)
CONFIGURATION = '[tool.coldfork]\nsite-packages = ["packages"]\n'
"""Without an environment of its own, the packages of the one that runs the tests would be read."""
NAMES = ("__init__", "a", "b", "c", "d", "sub/__init__", "sub/e")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    (tmp_path / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "a.py").write_text(ASKS, encoding="utf-8")
    (folder / "b.py").write_text("from pkg.a import name\nX = name()\n", encoding="utf-8")
    return folder


def said(report: coldfork.Report) -> dict[str, Any]:
    """The JSON output, but for the counts of files read and the time taken."""
    return {**document(report, Options(version="test")), "stats": None}


def test_a_session_says_what_the_command_line_says(package: Path) -> None:
    with coldfork.CheckSession() as session:
        answer = document(session.check(package), Options(version=coldfork.__version__))
    command = [sys.executable, "-m", "coldfork", "check", str(package), "--format", "json", "--exit-zero"]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert {**answer, "stats": None} == {**printed, "stats": None}
    assert [cause["line"] for cause in printed["causes"]] == [3]


def test_a_second_request_reads_nothing(package: Path) -> None:
    with coldfork.CheckSession(cache=False) as session:
        assert session.check(package).statistics.read == 3
        assert session.check(package).statistics.read == 0
        (package / "b.py").write_text("", encoding="utf-8")
        after = session.check(package)
    assert after.statistics.read == 1
    assert after.causes == ()


def test_what_a_session_was_first_asked_is_in_the_cache_for_others(package: Path) -> None:
    with coldfork.CheckSession() as session:
        session.check(package)
    assert coldfork.check(package).statistics.read == 0


def test_a_session_without_cache_leaves_nothing_on_disk(package: Path) -> None:
    with coldfork.CheckSession(cache=False) as session:
        session.check(package)
    assert not list((package.parent / "cache").rglob("*.*"))


@pytest.mark.parametrize("hurried", [True, False])
def test_only_a_hurried_session_follows_less_far_from_the_second_answer_on(
    package: Path, hurried: bool
) -> None:
    """Whoever watches wants every answer to be that of a fresh check."""
    request = configured((package,), {}, {})
    with coldfork.CheckSession(hurried=hurried) as session:
        asked = [session.inspect(request).request.hurried for _ in range(2)]
        assert str(package / "a.py") in session.files()
    assert asked == [False, hurried]


EDITS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.one_of(st.none(), st.sampled_from(TEXTS))), min_size=1, max_size=8
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(edits=EDITS, together=st.integers(1, 3))
def test_after_any_edits_a_session_answers_as_a_fresh_check(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str | None]], together: int
) -> None:
    """Files change, come and go; `together` of them between two requests."""
    folder = tmp_path_factory.mktemp("edited") / "pkg"
    (folder.parent / "packages").mkdir()
    (folder.parent / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "sub").mkdir(parents=True)
    (folder / "__init__.py").write_text("", encoding="utf-8")
    with coldfork.CheckSession(cache=False) as session:
        session.check(folder)
        for start in range(0, len(edits), together):
            for name, text in edits[start : start + together]:
                file = folder / f"{name}.py"
                if text is None:
                    file.unlink(missing_ok=True)
                else:
                    file.write_text(text, encoding="utf-8")
            if not list(folder.rglob("*.py")):
                continue
            with coldfork.CheckSession(cache=False) as fresh:
                assert said(session.check(folder)) == said(fresh.check(folder))


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    disk=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), max_size=4),
    overlays=st.lists(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS)), min_size=1, max_size=3
    ),
)
def test_overlays_are_answered_as_if_they_were_on_disk(
    tmp_path_factory: pytest.TempPathFactory, disk: dict[str, str], overlays: list[dict[str, str]]
) -> None:
    """Some stand in for files, some for files that are not there, and folders that are not there."""
    place = tmp_path_factory.mktemp("overlaid")
    shown, written = place / "shown" / "pkg", place / "written" / "pkg"
    for folder in (shown, written):
        write(folder, {"__init__": "", **disk})
    with coldfork.CheckSession(cache=False) as session:
        for texts in (*overlays, {}):
            write(written, {"__init__": "", **disk, **texts})
            buffers = {shown / f"{name}.py": text for name, text in texts.items()}
            with coldfork.CheckSession(cache=False) as fresh:
                asked = {**said(session.check(shown, overlays=buffers)), "environment": None}
                assert asked == {**said(fresh.check(written)), "environment": None}


def write(folder: Path, texts: dict[str, str]) -> None:
    """Make a package of these modules and no others, with an environment of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder.parent / "packages").mkdir(parents=True, exist_ok=True)
    (folder.parent / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")
    for name, text in texts.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_a_file_that_is_nowhere_but_in_an_editor_is_checked(package: Path) -> None:
    buffer = {package.parent / "new.py": WAKES}
    report = coldfork.check(package.parent / "new.py", overlays=buffer)
    assert [(cause.line, cause.verdict) for cause in report.causes] == [(2, "certain")]
    assert [finding.text for finding in report.findings] == ["X = torch.cuda.get_device_name()"]


def test_a_cancelled_check_leaves_a_session_that_goes_on(package: Path) -> None:
    expected = said(coldfork.check(package))
    for allowed in range(200):
        goes_on = iter(range(allowed))

        def cancelled(asked: Iterator[int] = goes_on) -> bool:
            return next(asked, None) is None

        with coldfork.CheckSession(cache=False) as session:
            try:
                session.check(package, cancelled=cancelled)
            except coldfork.CheckCancelledError:
                assert said(session.check(package)) == expected
            else:
                break
    else:
        pytest.fail("a check of three files that asks two hundred times whether it is cancelled")
    assert allowed >= 4, "three files are read, and one function is followed"


def test_a_closed_session_says_so(package: Path) -> None:
    session = coldfork.CheckSession()
    session.close()
    session.close()
    with pytest.raises(coldfork.ColdforkError, match="this session is closed"):
        session.check(package)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"profile": "cdua"}, "there is no profile 'cdua'"),
        ({"target_version": "2.7"}, "not a version of Python 3"),
        ({"baseline": "none.json"}, "no such baseline"),
        ({"entry": "pkg.nowhere"}, "no such module"),
    ],
)
def test_what_cannot_be_asked_is_refused(package: Path, wrong: dict[str, str], message: str) -> None:
    with pytest.raises(coldfork.ColdforkError, match=message):
        coldfork.check(package, **wrong)  # type: ignore[arg-type]


def test_the_configuration_counts_and_an_argument_outranks_it(package: Path) -> None:
    (package.parent / "pyproject.toml").write_text(
        f'{CONFIGURATION}profile = "cpu"\nentry = ["pkg.a"]\n', encoding="utf-8"
    )
    assert coldfork.check(package).profile == "cpu"
    assert coldfork.check(package, profile="cuda").causes == ()
    assert len(coldfork.check(package, profile="cuda", entry="pkg.b").causes) == 1


def test_a_session_needs_neither_the_command_line_s_packages_nor_threads(package: Path) -> None:
    """As in a browser, where there are no threads, no processes and no compiled packages."""
    program = f"""
import sys, threading, os
for name in ("click", "rich", "msgspec"):
    sys.modules[name] = None
del os.fork, os.posix_spawn
threading.Thread.start = None
import coldfork
with coldfork.CheckSession() as session:
    print([cause.line for cause in session.check({str(package)!r}).causes])
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (printed.stdout, printed.stderr) == ("[3]\n", "")


def test_a_question_is_answered_by_another_process(package: Path) -> None:
    question = {
        "paths": [str(package)],
        "entries": ["pkg.b"],
        "search": ["packages"],
        "profile": "cuda",
        "target_version": "3.12",
    }
    command = [sys.executable, "-P", "-m", "coldfork.checking"]
    asked = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, check=True)
    assert [cause["path"] for cause in json.loads(asked.stdout)["causes"]] == ["pkg/a.py"]


@pytest.mark.parametrize(
    ("question", "message"),
    [({}, "names no paths"), ({"paths": ["nowhere"]}, "no such file or folder")],
)
def test_a_question_that_cannot_be_answered_says_why(question: dict[str, Any], message: str) -> None:
    command = [sys.executable, "-P", "-m", "coldfork.checking"]
    asked = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert message in asked.stderr
