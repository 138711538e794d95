"""JSON, Perfetto and speedscope: what the formats ask for, checked against their schemas and rules."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from coldfork.model.errors import UsageError
from coldfork.report import formats
from coldfork.report.recordings import json_format, speedscope, trace
from coldfork.report.recordings.difference import json_format as difference_json
from coldfork.report.shared.options import Options
from tests.report.recorded import AWAKE, COLD, POISONED, Tape, cold, poisoned

pytestmark = pytest.mark.once

_HERE = Path(__file__).parent


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def ours(name: str) -> Draft202012Validator:
    text = files("coldfork.report").joinpath(f"schemas/{name}.schema.json").read_text(encoding="utf-8")
    return validator(json.loads(text))


def foreign(name: str) -> Draft202012Validator:
    return validator(json.loads((_HERE / f"{name}_subset.schema.json").read_text(encoding="utf-8")))


def threaded() -> Tape:
    """Two threads that import at once, a pid used twice, a child that nobody watched."""
    tape = poisoned(2)
    for module, start in (("a", 3.0), ("b", 3.1)):
        tape.event("import", 4.0, tid=777, module=module, path=None, start=start, seconds=0.2, parent=None)
    tape.fork(4.5, 101).process(4.51, 101, 100, "fork", states=POISONED)
    return tape.fork(4.8, None)


TAPES = pytest.mark.parametrize(
    "tape",
    [cold(), poisoned(3), threaded(), Tape(), Tape().process()],
    ids=["cold", "poisoned", "threaded", "empty", "bare"],
)


@TAPES
def test_json_keeps_to_its_schema(tape: Tape) -> None:
    written = json.loads(json_format.render(tape.read(), Options(version="0.1.0")))
    ours("report").validate(written)


def test_json_says_what_the_recording_says() -> None:
    written = json.loads(json_format.render(poisoned(2).read(), Options(version="0.1.0")))
    assert written["verdict"]["standing"] == "poisoned"
    assert written["verdict"]["poisoned"] == [1, 2]
    assert written["verdict"]["wake"]["waker"]["line"] == 175
    assert [process["pid"] for process in written["processes"]] == [100, 101, 102]
    assert [(one["module"], one["depth"]) for one in written["imports"]][:2] == [
        ("torch", 0),
        ("torch._C", 1),
    ]
    assert written["processes"][0]["starts"][0]["site"] == {
        "path": "serve.py",
        "line": 12,
        "function": "start_workers",
    }


def test_json_of_a_damaged_recording_says_so() -> None:
    tape = poisoned(1)
    tape.lines.insert(2, "garbage")
    tape.event("weather", 3.0).event("cut", 5.0, reason="limit", dropped=7)
    written = json.loads(json_format.render(tape.read(), Options()))
    ours("report").validate(written)
    assert written["recording"]["cut"] == {"at": 5.0, "reason": "limit", "dropped": 7}
    damage = written["recording"]["damage"]
    assert (damage["lines"], damage["first"], damage["unknown_events"]) == (1, 3, {"weather": 1})


@TAPES
def test_the_difference_keeps_to_its_schema(tape: Tape) -> None:
    other = poisoned(1).read()
    for pair in ((tape.read(), other), (other, tape.read())):
        ours("difference").validate(json.loads(difference_json.render(*pair, Options(version="0.1.0"))))


def traced(tape: Tape) -> list[dict[str, Any]]:
    document = json.loads(trace.render(tape.read(), Options(version="0.1.0")))
    foreign("trace_events").validate(document)
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


@TAPES
def test_slices_of_a_trace_nest_on_each_thread(tape: Tape) -> None:
    """A viewer puts slices of one thread into each other by their times: none may stick out of another."""
    threads: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in traced(tape):
        if event["ph"] == "X" and event["cat"] == "import":
            threads.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    for slices in threads.values():
        open_ends: list[int] = []
        for begin, end in sorted(slices, key=lambda pair: (pair[0], -pair[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


@TAPES
def test_what_a_trace_opens_it_closes(tape: Tape) -> None:
    events = traced(tape)
    spans = {event["id"]: event for event in events if event["ph"] == "b"}
    ends = {event["id"]: event for event in events if event["ph"] == "e"}
    assert spans.keys() == ends.keys()
    for key, begin in spans.items():
        assert begin["ts"] <= ends[key]["ts"]
        assert (begin["pid"], begin["name"], begin["cat"]) == (
            ends[key]["pid"],
            ends[key]["name"],
            ends[key]["cat"],
        )


@TAPES
def test_the_arrows_of_a_trace_begin_and_end_in_a_slice(tape: Tape) -> None:
    events = traced(tape)
    slices = [event for event in events if event["ph"] == "X"]
    arrows = [event for event in events if event["ph"] in ("s", "f")]
    starts = sorted(event["id"] for event in arrows if event["ph"] == "s")
    assert starts == sorted(event["id"] for event in arrows if event["ph"] == "f")
    for arrow in arrows:
        assert any(
            (one["pid"], one["tid"]) == (arrow["pid"], arrow["tid"])
            and one["ts"] <= arrow["ts"] <= one["ts"] + one["dur"]
            for one in slices
        )


def test_processes_of_a_trace_do_not_share_a_pid() -> None:
    events = traced(threaded())
    named = [event["pid"] for event in events if event["name"] == "process_name"]
    assert len(named) == len(set(named)) == 5
    wakes = [event for event in events if event["ph"] == "i" and event["cat"] == "wake"]
    assert [(event["name"], event["pid"], event["s"]) for event in wakes] == [("wakes cuda", 100, "p")]
    states = {event["name"] for event in events if event["ph"] == "b"}
    assert {"cuda cold", "cuda awake (context)", "cuda poisoned", "cuda poisoned (inferred)"} <= states


def profiled(tape: Tape) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(speedscope.render(tape.read(), Options(version="0.1.0")))
    foreign("speedscope").validate(document)
    return document


@TAPES
def test_a_speedscope_profile_is_balanced_and_in_order(tape: Tape) -> None:
    document = profiled(tape)
    for profile in document["profiles"]:
        open_frames: list[int] = []
        at = profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= at
            at = event["at"]
            if event["type"] == "O":
                open_frames.append(event["frame"])
            else:
                assert open_frames.pop() == event["frame"]
        assert open_frames == []
        assert at <= profile["endValue"]
    used = {event["frame"] for profile in document["profiles"] for event in profile["events"]}
    assert used == set(range(len(document["shared"]["frames"])))


def test_a_speedscope_file_opens_at_the_process_that_was_woken() -> None:
    tape = Tape().process()
    tape.load("first", 0.1, 0.1).event(
        "spawn", 1.0, child=101, method="spawn", command=[], stack=[], states=COLD
    )
    tape.process(1.1, 101, 100, "spawn").wake(2.0, 101).load("second", 1.5, 0.9, pid=101)
    document = profiled(tape.exit(3.0, 101, states=AWAKE))
    assert len(document["profiles"]) == 2
    assert document["activeProfileIndex"] == 1
    assert document["profiles"][1]["name"].startswith("101 spawned")


@pytest.mark.parametrize(
    ("output", "form"),
    [
        (None, "text"),
        ("run.html", "html"),
        ("a/b.HTM", "html"),
        ("run.json", "json"),
        ("run.trace.json", "trace"),
        ("run.speedscope.json", "speedscope"),
        ("run.txt", "text"),
    ],
)
def test_the_ending_of_a_name_says_the_format(output: str | None, form: str) -> None:
    assert formats.format_of_file(output) == form


def test_other_endings_and_pairs_are_refused() -> None:
    with pytest.raises(UsageError, match=r"the format cannot be told from the name run\.pdf; add --format"):
        formats.format_of_file("run.pdf")
    with pytest.raises(
        UsageError, match="two recordings cannot be compared as trace; choose one of text, html, json"
    ):
        formats.renderer("difference", "trace")
