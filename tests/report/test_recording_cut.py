"""A recording that was cut off anywhere: every rendering shows what is left and says that it is not all."""

from __future__ import annotations

import html
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coldfork.cli.main import cli
from coldfork.model.timelines import Recording
from coldfork.report import formats
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.summary.outcomes import Standing, outcome
from coldfork.report.shared.options import Options
from tests.report.recorded import COLD, Tape, frame

SOURCE = Path(__file__).parents[2] / "src"
FORMATS = ("text", "html", "json", "trace", "speedscope")


def cold_tape() -> Tape:
    """A program that wakes nothing and forks; its files have names that take several bytes a letter."""
    tape = Tape(command=["python", "größe.py"]).process()
    tape.load("größe.日本", 0.1, 0.2, "größe").load("größe", 0.1, 0.3)
    tape.fork(0.5, 101, states=COLD, stack=[frame("größe.py", 3)])
    tape.process(0.6, 101, 100, "fork").load("später", 0.7, 0.1, pid=101).exit(0.9, 101)
    return tape.exit(1.0)


def raw(tape: Tape) -> bytes:
    """The recording as a tool may have written it that escapes no letters."""
    lines = [json.dumps(json.loads(line), ensure_ascii=False) for line in tape.lines]
    return "".join(f"{line}\n" for line in lines).encode()


CONTENT = raw(cold_tape())
HEADER = CONTENT.index(b"\n") + 1


def read(content: bytes) -> Recording:
    return files.recording(content.splitlines(keepends=True), "run.coldfork")


WHOLE = read(CONTENT)


def imports(recording: Recording) -> set[tuple[int | None, str]]:
    return {(one.pid, span.module) for one in recording.processes for span, _ in walk(one.imports)}


def doubts_shown(form: str, shown: str) -> str:
    """The part of a rendering in which a reader of that format finds what is missing."""
    match form:
        case "trace":
            trace = json.loads(shown)
            incomplete = str(trace["otherData"]["incomplete"])
            marks = [one["name"] for one in trace["traceEvents"] if one.get("cat") == "doubt"]
            # A mark belongs to a process, and none may have been recorded.
            assert "; ".join(mark.removeprefix("incomplete: ") for mark in marks) in (incomplete, "")
            return incomplete
        case "speedscope":
            return str(json.loads(shown)["name"])
        case "json":
            return "\n".join(json.loads(shown)["verdict"]["doubts"])
        case "html":
            return html.unescape(shown)
        case _:
            return shown


@pytest.mark.must_hold
def test_the_whole_recording_has_nothing_to_doubt() -> None:
    assert outcome(WHOLE).standing is Standing.COLD
    assert outcome(WHOLE).doubts == ()


@pytest.mark.must_hold
@pytest.mark.once
def test_no_cut_turns_what_is_left_into_a_cold_program() -> None:
    """At every byte: within a letter, within a line, and between two lines."""
    for end in range(HEADER, len(CONTENT) - 1):
        recording = read(CONTENT[:end])
        assert outcome(recording).standing is Standing.UNKNOWN, end
        assert outcome(recording).doubts, end
        assert recording.damage.lines == 0, end
        assert imports(recording) <= imports(WHOLE), end
        assert len(recording.processes) <= len(WHOLE.processes), end


@pytest.mark.must_hold
@pytest.mark.once
@settings(max_examples=40, deadline=None)
@given(st.integers(HEADER, len(CONTENT) - 2))
@example(HEADER)
@example(CONTENT.index("ö".encode(), HEADER) + 1)
@example(CONTENT.index("日".encode(), HEADER) + 2)
@example(CONTENT.rindex(b"\n", 0, -1) + 1)
def test_every_rendering_says_what_is_missing(end: int) -> None:
    recording = read(CONTENT[:end])
    doubts = outcome(recording).doubts
    for form in FORMATS:
        shown = doubts_shown(form, formats.renderer("recording", form)(recording, Options()))
        assert all(doubt in shown for doubt in doubts), form
    for form in formats.FORMATS["difference"]:
        compare = formats.renderer("difference", form)
        for first, second in ((recording, WHOLE), (WHOLE, recording)):
            shown = html.unescape(compare(first, second, Options()))
            assert all(doubt in shown for doubt in doubts), form


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_without_a_whole_header_is_refused_in_one_sentence(tmp_path: Path, form: str) -> None:
    file = tmp_path / "run.coldfork"
    for end in (0, 1, CONTENT.index("ö".encode()) + 1, HEADER - 2):
        file.write_bytes(CONTENT[:end])
        result = CliRunner().invoke(cli, ["report", str(file), "--format", form])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("coldfork: ")
        assert result.stderr.count("\n") == 1


KILLED = """\
import os
import sys

import größe

child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
open("ready", "w").close()
sys.stdin.read()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="kills a whole group of processes")
@pytest.mark.once
def test_a_program_that_was_killed_together_with_coldfork(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(KILLED, encoding="utf-8")
    (tmp_path / "größe.py").write_text("import json\n", encoding="utf-8")
    file = tmp_path / "run.coldfork"
    process = subprocess.Popen(
        [sys.executable, "-m", "coldfork", "run", "--follow", "--output", str(file), "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    recording = files.read(file)
    assert {"größe", "json"} <= {module for _, module in imports(recording)}
    assert [(one.ended, one.status) for one in recording.processes] == [(False, None), (True, 0)]
    assert "the end of 1 process was not recorded" in outcome(recording).doubts
    content = file.read_bytes()
    for end in range(content.index(b"\n") + 1, len(content), 97):
        left = read(content[:end])
        assert outcome(left).standing is Standing.UNKNOWN, end
        assert "incomplete" in formats.renderer("recording", "trace")(left, Options()), end


def test_a_program_whose_end_coldfork_did_not_see() -> None:
    """A program writes that it ends before the last of it has run; how it ended is known to who waited for it."""
    tape = Tape().process().exit(1.0, status=None)
    said = "how the program ended was not recorded, nor what it may have done last"
    assert outcome(tape.read()).standing is Standing.UNKNOWN
    assert outcome(tape.read()).doubts == (said,)
    assert outcome(Tape().process().exit(1.0, status=3).read()).doubts == ()
    assert outcome(Tape().process().exit(1.0, status=None, signal=9).read()).doubts == ()
