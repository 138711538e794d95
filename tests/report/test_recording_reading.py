"""Recordings are read up to where they were cut, and nothing in them ends the reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.model.errors import UsageError
from coldfork.model.states import Level, Status
from coldfork.model.timelines import Damage, How, Recording
from coldfork.report.recordings import json_format, speedscope, trace
from coldfork.report.recordings import text as report
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.assembly.import_trees import in_microseconds, walk
from coldfork.report.recordings.page import document
from coldfork.report.shared.options import Options
from tests.report.recorded import AWAKE, COLD, POISONED, Tape, cold, frame, poisoned, state

pytestmark = pytest.mark.once


def names(recording: Recording, number: int = 0) -> list[tuple[str, int]]:
    return [(span.module, depth) for span, depth in walk(recording.processes[number].imports)]


def read_bytes(content: bytes) -> Recording:
    return files.recording(content.splitlines(keepends=True), "run.coldfork")


def test_a_whole_recording() -> None:
    recording = poisoned(2).read()
    assert (recording.cut, recording.damage) == (None, Damage())
    assert (recording.tool, recording.python, recording.command[:2]) == (
        "coldfork 0.1.0",
        "3.12.4",
        ("python", "serve.py"),
    )
    parent, first, second = recording.processes
    assert (parent.how, first.how, first.parent, second.parent) == (How.RUN, How.FORK, 0, 0)
    assert [going.child for going in parent.departures] == [1, 2]
    assert [(one.status, one.level, one.begin) for one in parent.stretches] == [
        (Status.COLD, None, 0.0),
        (Status.AWAKE, Level.CONTEXT, 1.9),
    ]
    assert first.last_states["cuda"].status is Status.POISONED
    assert recording.end == 6.0


def test_imports_are_nested_as_they_happened() -> None:
    assert names(poisoned().read()) == [
        ("torch", 0),
        ("torch._C", 1),
        ("torch.nn", 1),
        ("engine", 0),
        ("vllm.v1.attention.backends.flash_attn", 1),
    ]


def test_imports_that_begin_at_the_same_moment_are_nested_by_what_caused_them() -> None:
    tape = Tape().process()
    tape.load("first", 1.0, 0.0).load("c", 1.0, 0.1, "b").load("b", 1.0, 0.2, "a").load("a", 1.0, 0.3)
    assert names(tape.read()) == [("first", 0), ("a", 0), ("b", 1), ("c", 2)]


def test_threads_that_import_at_once_are_kept_apart() -> None:
    tape = Tape().process()
    for module, tid, start, parent in (("x.y", 7, 1.1, "x"), ("a.b", 8, 1.15, "a")):
        tape.event("import", 1.5, tid=tid, module=module, path=None, start=start, seconds=0.2, parent=parent)
    for module, tid in (("x", 7), ("a", 8)):
        tape.event("import", 2.0, tid=tid, module=module, path=None, start=1.0, seconds=1.0, parent=None)
    assert names(tape.read()) == [("x", 0), ("x.y", 1), ("a", 0), ("a.b", 1)]


def test_an_import_that_never_ended_is_told_by_those_it_caused() -> None:
    tape = (
        Tape().process().load("torch", 0.1, 0.5).load("x", 0.7, 0.05, "y").load("inner", 0.8, 0.1, "hanging")
    )
    recording = tape.read()
    assert names(recording) == [("torch", 0), ("y", 0), ("x", 1), ("hanging", 0), ("inner", 1)]
    assert [span.finished for span, _ in walk(recording.processes[0].imports)] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_what_a_script_imports_hangs_below_nothing() -> None:
    assert names(Tape().process().load("app", 0.1, 0.2, "__main__").read()) == [("app", 0)]


@pytest.mark.must_hold
def test_a_recording_cut_anywhere_is_read_up_to_the_cut() -> None:
    content = poisoned(3).content
    whole = read_bytes(content)
    header = content.index(b"\n") + 1
    seen = -1
    for end in range(header, len(content) + 1):
        recording = read_bytes(content[:end])
        lines = content[:end].count(b"\n")
        # A line is whole without its line end, too.
        complete = content[:end].endswith(b"\n") or content[end : end + 1] == b"\n"
        assert recording.damage.cut_short is not complete, end
        assert recording.damage.lines == 0
        if lines > seen:
            assert report.render(recording, Options())
            seen = lines
    assert read_bytes(content) == whole


def test_a_cut_in_the_first_line_is_said_and_not_guessed_at() -> None:
    with pytest.raises(
        UsageError, match=r"run\.coldfork cannot be read: it was cut off within its first line"
    ):
        read_bytes(cold().content[:60])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "x is empty: it holds no recording"),
        (b"\n\n", "x is empty: it holds no recording"),
        (b"hello\n", "x is not a recording: its first line is not a recording's header"),
        (b"\x89PNG\r\n\x1a\n", "x is not a recording: its first line is not a recording's header"),
        (b'{"findings": []}\n', "x is not a recording: its first line is not a recording's header"),
        (
            b'{"event": "import", "t": 1}\n',
            "x is not a recording: its first line is not a recording's header",
        ),
        (
            b'{"event": "header", "schema_version": 99}\n',
            "x was recorded by a newer coldfork (schema_version 99); this one reads 1 and older",
        ),
        (b"[" * 100_000, "x is not a recording: its first line is not a recording's header"),
    ],
)
def test_a_foreign_file_is_refused_in_one_sentence(content: bytes, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        files.recording(content.splitlines(keepends=True), "x")
    assert str(caught.value) == complaint


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*missing: No such file or directory"):
        files.read(tmp_path / "missing")
    with pytest.raises(UsageError, match=r"cannot read .*: Is a directory"):
        files.read(tmp_path)


def test_a_line_that_makes_no_sense_is_skipped_and_counted() -> None:
    lines = poisoned(1).lines
    lines[3:3] = [
        '{"event": "import", "t": "soon"}',
        "\x00\x00\x00",
        '{"event": "wake", "t": NaN, "pid": 1}',
        "7",
    ]
    recording = read_bytes("".join(line + "\n" for line in lines).encode())
    assert (recording.damage.lines, recording.damage.first, recording.damage.cut_short) == (4, 4, False)
    assert "`float`" in recording.damage.reason or "missing" in recording.damage.reason
    assert names(recording) == names(poisoned(1).read())


def test_a_line_without_an_end_in_the_middle_is_damage_and_no_cut(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 4096)
    lines = cold().lines
    lines.insert(2, "x" * 6000)
    file = tmp_path / "run.coldfork"
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    recording = files.read(file)
    assert (recording.damage.cut_short, recording.damage.lines) == (False, 2)
    assert [name for name, _ in names(recording)] == ["torch", "torch._C", "app"]


def test_unknown_kinds_are_skipped_and_counted() -> None:
    tape = cold()
    tape.event("weather", 1.5, sky="blue").event("weather", 1.6).event("tide", 1.7)
    recording = tape.read()
    assert recording.damage.foreign == {"weather": 2, "tide": 1}
    assert recording.damage.lines == 0
    assert (
        "3 events of a kind that this version does not know were skipped: 'tide', 'weather'"
        in report.render(recording, Options())
    )


def test_paths_that_are_no_utf8_are_kept() -> None:
    tape = Tape().process()
    tape.event("import", 1.0, module="odd", path="caf\udce9/odd.py", start=0.1, seconds=0.2, parent=None)
    recording = tape.read()
    assert recording.damage.lines == 0
    assert recording.processes[0].imports[0].path == "caf\udce9/odd.py"


def test_a_cut_is_told_with_what_was_dropped() -> None:
    tape = cold()
    tape.event("cut", 1.9, reason="limit", dropped=12)
    recording = tape.read()
    assert recording.cut is not None
    assert (recording.cut.at, recording.cut.reason, recording.cut.dropped) == (1.9, "limit", 12)


def test_a_fork_whose_child_is_not_named_finds_it_by_its_parent() -> None:
    tape = Tape().process().fork(1.0, None, states=COLD).fork(1.01, None, states=COLD)
    tape.process(1.02, 102, 100, "fork").process(1.03, 103, 100, "fork")
    recording = tape.read()
    assert [going.child for going in recording.processes[0].departures] == [1, 2]
    assert len(recording.processes) == 3


def test_a_fork_that_is_written_twice_is_one() -> None:
    tape = Tape().process()
    tape.fork(1.0, None).fork(1.001, 102, stack=[], states=[])
    tape.process(1.01, 102, 100, "fork", states=POISONED)
    recording = tape.read()
    (going,) = recording.processes[0].departures
    assert (going.at, going.child, going.site is not None) == (1.0, 1, True)


def test_a_pid_that_is_used_again_is_another_process() -> None:
    tape = Tape().process()
    tape.fork(1.0, 101, states=COLD).process(1.01, 101, 100, "fork").exit(1.5, 101)
    tape.wake(2.0).fork(3.0, 101).process(3.01, 101, 100, "fork", states=POISONED).exit(
        3.5, 101, states=POISONED
    )
    recording = tape.read()
    assert [process.pid for process in recording.processes] == [100, 101, 101]
    assert [going.child for going in recording.processes[0].departures] == [1, 2]
    assert [process.last_states["cuda"].status for process in recording.processes[1:]] == [
        Status.COLD,
        Status.POISONED,
    ]


def test_a_child_that_nobody_watched_inherits_poison_and_says_that_it_is_inferred() -> None:
    recording = Tape().process().wake(1.0).fork(2.0, 101).exit(3.0, states=AWAKE).read()
    child = recording.processes[1]
    assert (child.watched, child.pid, child.how) == (False, 101, How.FORK)
    (stretch,) = child.stretches
    assert (stretch.status, stretch.inferred) == (Status.POISONED, True)
    assert stretch.reason == "forked from process 100, where it was awake"


def test_a_child_of_a_cold_process_is_not_called_poisoned() -> None:
    recording = Tape().process().fork(2.0, 101, states=COLD).exit(3.0).read()
    assert recording.processes[1].stretches == ()


def test_a_grandchild_is_poisoned_too() -> None:
    tape = Tape().process().wake(1.0).fork(2.0, 101).process(2.01, 101, 100, "fork", states=POISONED)
    tape.fork(2.5, 102, pid=101, states=POISONED)
    (stretch,) = tape.read().processes[2].stretches
    assert (stretch.status, stretch.reason) == (
        Status.POISONED,
        "forked from process 101, where it was poisoned",
    )


def test_a_process_that_became_another_program_and_then_ran_python_again() -> None:
    tape = Tape().process().wake(1.0).event("exec", 2.0, command=["python", "b.py"], stack=[], states=AWAKE)
    tape.process(2.2, 100, 1, "exec", states=COLD).exit(3.0)
    first, second = tape.read().processes
    assert (first.executed_at, first.departures[0].child, second.parent) == (2.0, 1, 0)
    assert second.last_states["cuda"].status is Status.COLD


def test_what_woke_unseen_is_unknown_in_between() -> None:
    tape = Tape().process().event("state", 1.0, at="checkpoint", states=COLD)
    stretches = tape.exit(5.0, states=AWAKE).read().processes[0].stretches
    assert [(one.status, one.begin, one.end) for one in stretches] == [
        (Status.COLD, 0.0, 1.0),
        (Status.UNKNOWN, 1.0, 5.0),
        (Status.AWAKE, 5.0, 5.0),
    ]


def test_a_driver_that_gets_a_context_is_two_stretches() -> None:
    tape = Tape().process().event("wake", 1.0, accelerator="cuda", level="driver", waker=None)
    stretches = tape.wake(2.0).exit(3.0, states=AWAKE).read().processes[0].stretches
    assert [(one.status, one.level) for one in stretches] == [
        (Status.COLD, None),
        (Status.AWAKE, Level.DRIVER),
        (Status.AWAKE, Level.CONTEXT),
    ]


def test_the_site_of_a_start_is_the_line_that_called_the_standard_library() -> None:
    stack = [
        frame("serve.py", 12, "start"),
        frame("/usr/lib/python3.12/multiprocessing/process.py", 121, "start"),
        frame("/usr/lib/python3.12/multiprocessing/popen_fork.py", 66, "_launch"),
    ]
    recording = Tape().process().fork(1.0, 101, stack=stack).read()
    site = recording.processes[0].departures[0].site
    assert site is not None
    assert (site.path, site.line) == ("serve.py", 12)


_times = st.floats(-1, 100, allow_nan=False).map(lambda value: round(value, 6))
_pids = st.sampled_from([1, 100, 101, 102])
_modules = st.sampled_from(["a", "b", "a.c", "", "</script>", "\u202e\x1b[31m", "\udce9"])
_states = st.lists(
    st.builds(
        state,
        st.sampled_from(["cuda", "openmp", "<b>"]),
        st.sampled_from(["absent", "cold", "awake", "poisoned", "unknown"]),
        st.sampled_from([None, "driver", "context"]),
        st.sampled_from(["", "because"]),
    ),
    max_size=3,
)
_stacks = st.lists(st.builds(frame, _modules, st.integers(0, 99)), max_size=3)
_events = st.one_of(
    st.fixed_dictionaries(
        {
            "event": st.just("import"),
            "module": _modules,
            "path": st.none() | _modules,
            "start": _times,
            "seconds": st.floats(0, 9),
            "parent": st.none() | _modules,
        }
    ),
    st.fixed_dictionaries(
        {
            "event": st.just("process"),
            "ppid": _pids,
            "how": st.sampled_from(["run", "fork", "spawn", "exec", "subprocess", "odd"]),
            "states": _states,
        }
    ),
    st.fixed_dictionaries(
        {
            "event": st.sampled_from(["fork", "spawn"]),
            "child": st.none() | _pids,
            "stack": _stacks,
            "states": _states,
        }
    ),
    st.fixed_dictionaries({"event": st.sampled_from(["exec", "exit", "state"]), "states": _states}),
    st.fixed_dictionaries({"event": st.just("wake"), "accelerator": st.sampled_from(["cuda", "jax"])}),
    st.fixed_dictionaries({"event": st.sampled_from(["effect", "cut", "trouble", "odd"]), "kind": _modules}),
)
_lines = st.builds(
    lambda event, t, pid, tid: {**event, "t": t, "pid": pid, "tid": tid}, _events, _times, _pids, _pids
)


@settings(max_examples=80, deadline=None)
@given(st.lists(_lines, max_size=14))
def test_whatever_stands_in_a_recording_every_rendering_takes_it(lines: list[dict[str, object]]) -> None:
    tape = Tape()
    for line in lines:
        tape.write(line)
    recording = tape.read()
    assert all(process.parent is None or process.parent < process.number for process in recording.processes)
    for process in recording.processes:
        for thread in {span.thread for span, _ in walk(process.imports)}:
            open_ends: list[int] = []
            for _, depth, begin, end in in_microseconds(s for s in process.imports if s.thread == thread):
                del open_ends[depth:]
                assert begin <= end
                assert not open_ends or end <= open_ends[-1]
                open_ends.append(end)
    for render in (report.render, document.render, json_format.render, trace.render, speedscope.render):
        assert render(recording, Options())
    json.loads(trace.render(recording, Options()))
    json.loads(speedscope.render(recording, Options()))
    shown = report.render(recording, Options())
    assert all(character == "\n" or character.isprintable() for character in shown)


def test_who_speaks_before_anybody_has_seen_its_parent_has_named_it() -> None:
    above = [
        {"pid": 102, "start": 2, "command": ["xargs", "python"]},
        {"pid": 101, "start": 2, "command": ["sh"]},
    ]
    tape = Tape().process(start=1)
    tape.load("early", 0.4, 0.01, pid=103).process(
        0.5, 103, 102, "subprocess", start=3, ancestors=above, by=100
    )
    tape.event("seen", 0.6, 102, ppid=101, start=2, command=["xargs", "python"])
    tape.event("seen", 0.6, 101, ppid=100, start=2, command=["sh"]).exit(0.9, 103).exit(1.0)
    by_pid = {process.pid: process for process in tape.read().processes}
    assert [by_pid[pid].parent for pid in (101, 102, 103)] == [by_pid[pid].number for pid in (100, 101, 102)]


def test_the_site_of_a_start_is_not_in_a_package_that_starts_for_the_program() -> None:
    packages = "/venv/lib/python3.12/site-packages"
    own, theirs = frame("/srv/train.py", 30), frame(f"{packages}/torch/multiprocessing/spawn.py", 269)
    starter = frame("/usr/lib/python3.12/multiprocessing/process.py", 121)
    tape = Tape().process().fork(1.0, 101, stack=[own, theirs, starter])
    tape.fork(2.0, 102, stack=[frame(f"{packages}/gunicorn/app/base.py", 70), theirs, starter])
    sites = [going.site for going in tape.exit(3.0).read().processes[0].departures]
    assert [site and site.line for site in sites] == [30, 269]
