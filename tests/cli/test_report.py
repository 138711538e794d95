"""`coldfork report`: formats, files, refusals, and what it says beside the result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.report.recorded import AWAKE, Tape, cold, frame, poisoned

Run = Callable[..., Result]


@pytest.fixture
def recording(project: Path) -> Path:
    """A recording of a server whose workers were poisoned."""
    file = project / "run.coldfork"
    file.write_bytes(poisoned(2).content)
    return file


def test_text_goes_to_standard_output(run: Run, recording: Path) -> None:
    result = run("report", recording.name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("poisoned: cuda was awake in process 100")
    assert "\x1b[" not in result.stdout


def test_colour_follows_the_flag_and_no_color(run: Run, recording: Path) -> None:
    assert "\x1b[" in run("report", recording.name, "--color", "always").stdout
    assert "\x1b[" in run("report", recording.name, env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[" not in run("report", recording.name, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert "\x1b[" not in run("report", recording.name, "--color", "always", "--format", "json").stdout


@pytest.mark.parametrize("form", ["html", "json", "trace", "speedscope"])
def test_formats_for_programs_are_pure(run: Run, recording: Path, form: str) -> None:
    result = run("report", recording.name, "--format", form)
    assert (result.exit_code, result.stderr) == (0, "")
    if form == "html":
        assert result.stdout.startswith("<!doctype html>")
    else:
        assert json.loads(result.stdout)


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("out.html", "<!doctype html>"),
        ("out.json", '{\n  "schema_version": 1'),
        ("out.trace.json", '{"displayTimeUnit"'),
        ("out.speedscope.json", '{"$schema"'),
        ("out.txt", "poisoned: "),
    ],
)
def test_the_ending_of_the_output_says_the_format(
    run: Run, recording: Path, project: Path, name: str, beginning: str
) -> None:
    result = run("report", recording.name, "--output", name, "--color", "always")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"coldfork: wrote {name}\n")
    written = (project / name).read_text(encoding="utf-8")
    assert written.startswith(beginning)
    assert "\x1b[" not in written


def test_the_flag_is_stronger_than_the_ending(run: Run, recording: Path, project: Path) -> None:
    assert run("report", recording.name, "--output", "out.html", "--format", "json").exit_code == 0
    assert json.loads((project / "out.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("missing.coldfork",), "coldfork: cannot read missing.coldfork: No such file or directory\n"),
        (
            ("pyproject.toml",),
            ("coldfork: pyproject.toml is not a recording: its first line is not a recording's header\n"),
        ),
        (
            ("run.coldfork", "--output", "run.pdf"),
            "coldfork: the format cannot be told from the name run.pdf; add --format\n",
        ),
        (
            ("run.coldfork", "run.coldfork", "--format", "trace"),
            "coldfork: two recordings cannot be compared as trace; choose one of text, html, json\n",
        ),
        (
            ("run.coldfork", "--output", "no/where.html"),
            "coldfork: cannot write no/where.html: No such file or directory\n",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    run: Run, recording: Path, project: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (project / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    result = run("report", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", complaint)


def test_a_recording_that_was_cut_off_is_shown_up_to_there(run: Run, recording: Path) -> None:
    recording.write_bytes(recording.read_bytes()[:-40])
    result = run("report", recording.name)
    assert result.exit_code == 0
    assert "   ! the file ends in the middle of a line; it was read up to there\n" in result.stdout


def test_two_recordings(run: Run, recording: Path, project: Path) -> None:
    (project / "after.coldfork").write_bytes(cold().content)
    result = run("report", recording.name, "after.coldfork")
    assert (result.exit_code, result.stderr) == (0, "")
    before, after = result.stdout.splitlines()[:2]
    assert before.startswith("before  run.coldfork: poisoned: cuda was awake in process 100, and 2 processes")
    assert after == "after   after.coldfork: cold: no accelerator was woken"
    written = json.loads(run("report", recording.name, "after.coldfork", "--format", "json").stdout)
    assert written["same"] is False
    page = run("report", recording.name, "after.coldfork", "--format", "html").stdout
    assert page.startswith("<!doctype html>")


def source_tape(path: str, started: str) -> Tape:
    stack = [frame(path, 2)]
    tape = Tape(started=started).process().wake(1.0, path=path, line=2, stack=stack, import_chain=[])
    return tape.exit(2.0, states=AWAKE)


@pytest.mark.must_hold
def test_source_lines_are_quoted_only_with_consent_and_only_from_unchanged_python(
    run: Run, project: Path
) -> None:
    module, notes = project / "core.py", project / "notes.txt"
    for file in (module, notes):
        file.write_text("import torch\nSECRET = torch.cuda.device_count()\n", encoding="utf-8")
    tapes = {
        "after": source_tape(str(module), "2999-01-01T00:00:00Z"),
        "before": source_tape(str(module), "2001-01-01T00:00:00Z"),
        "notes": source_tape(str(notes), "2999-01-01T00:00:00Z"),
        "undated": source_tape(str(module), "yesterday"),
    }
    for name, tape in tapes.items():
        (project / name).write_bytes(tape.content)
    for form in ("text", "html", "json"):
        assert "SECRET" not in run("report", "after", "--format", form).stdout
    for form in ("text", "html"):
        assert (
            "SECRET = torch.cuda.device_count()"
            in run("report", "after", "--format", form, "--with-source").stdout
        )
        for name in ("before", "notes", "undated"):
            assert "SECRET" not in run("report", name, "--format", form, "--with-source").stdout, name


def test_a_reader_that_goes_away_is_no_error(recording: Path) -> None:
    recording.write_bytes(poisoned(400).content)
    command = [sys.executable, "-m", "coldfork", "report", str(recording), "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), complaint) == (0, b"")


def test_a_page_is_for_its_owner_until_he_shares_it(run: Run, recording: Path, project: Path) -> None:
    page = project / "out.html"
    for _ in range(2):
        assert run("report", recording.name, "--output", page.name).exit_code == 0
        assert page.stat().st_mode & 0o777 == 0o600
        # One that everybody could read before is closed, too.
        page.chmod(0o644)
