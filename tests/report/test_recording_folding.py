"""Hundreds of equal processes are one row of the page, which opens; what differs keeps a row of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from coldfork.model.states import Level, Status
from coldfork.model.timelines import Happening, How, Process, Recording, Stretch, Wake
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.page import document
from coldfork.report.recordings.summary.alike import MOST_ALIKE, Family
from coldfork.report.shared.options import Options
from tests.report.recorded import AWAKE, COLD, POISONED, Tape, state

pytestmark = pytest.mark.once

#: What a page of 500 equal processes took in bytes before they shared a row.
BEFORE = 717_793


class Rows(HTMLParser):
    """The rows of the tables and the timeline, and which of them have to be opened first."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.closed: list[str] = []
        self.shown: list[str] = []
        self.ids: list[str] = []
        self.summaries: list[str] = []
        self.labels: list[str] = []
        self._open: list[str] = []
        self.feed(content)

    @property
    def _is_closed(self) -> bool:
        return "details" in self._open and "summary" not in self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("meta", "link", "input"):
            return
        attributes = dict(attrs)
        self._open.append(tag)
        if tag == "summary":
            self.summaries.append(attributes.get("aria-label") or "")
        if tag == "text" and attributes.get("class") == "pid":
            self._open[-1] = "pid"
        if tag == "tr" and (attributes.get("id") or "").startswith("process-"):
            self.ids.append(str(attributes["id"]))
        if tag == "tr":
            (self.closed if self._is_closed else self.shown).append("")

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "pid":
            self.labels.append(("closed " if self._is_closed else "") + data)
        elif "tr" in self._open:
            rows = self.closed if self._is_closed else self.shown
            rows[-1] = " ".join(f"{rows[-1]} {data}".split())
        elif "summary" in self._open:
            self.summaries[-1] += data


def rendered(tape: Tape) -> Rows:
    return Rows(document.render(tape.read(), Options()))


def groups(recording: Recording) -> list[int]:
    """How many processes each row stands for."""
    return [len(row.members) for row in Family(recording).rows()]


def server(workers: int = 500, **differs: Any) -> Tape:
    """A server with an awake device and its forked workers; the last one may differ."""
    tape = Tape().process().load("torch", 0.1, 1.2).wake(2.0)
    for number in range(workers):
        at = round(6.1 + number / 100, 3)
        pid = 1000 + number
        last = differs if number == workers - 1 else {}
        tape.fork(at, pid, line=last.get("line", 12))
        states = last.get("states", POISONED)
        command = last.get("command", ["python", "serve.py"])
        tape.process(at + 0.01, pid, 100, "fork", states=states, command=command)
        if "wake" in last:
            tape.wake(at + 0.5, pid)
        tape.exit(round(at + 1, 3), pid, status=last.get("status", 1), states=states)
    return tape.exit(20.0, states=AWAKE)


def test_500_equal_processes_are_one_row_that_says_how_many_and_how_long() -> None:
    read = rendered(server())
    (row,) = [row for row in read.shown if "equal" in row and "first" in row]
    assert row == (
        "\u2514 500 equal processes forked by serve.py:12 python serve.py "
        "first 6.11 s last 12.09 s exit 1 cuda poisoned none"
    )
    assert [label for label in read.labels if not label.startswith("closed")] == ["100", "500 equal"]
    assert read.summaries[0].startswith("500 equal processes, forked: show each")


def test_opening_the_row_shows_each_of_them() -> None:
    read = rendered(server())
    assert sorted(read.ids) == sorted(f"process-{number}" for number in range(501))
    each = [row for row in read.closed if re.match(r"1\d\d\d ", row)]
    assert len(each) == 500
    assert each[0] == "1000 6.11 s 7.10 s none"
    assert each[-1] == "1499 11.10 s 12.09 s none"
    assert [label for label in read.labels if label.startswith("closed")] == [
        f"closed {pid}" for pid in range(1000, 1500)
    ]


def test_the_page_of_500_equal_processes_is_smaller_than_it_was() -> None:
    assert len(document.render(server().read(), Options()).encode()) < BEFORE * 2 / 3


@pytest.mark.parametrize(
    "differs",
    [
        {"command": ["python", "other.py"]},
        {"line": 13},
        {"status": 0},
        {"states": (state("cuda", "unknown", None, "could not be asked"),)},
        {"states": COLD},
        {"wake": True},
    ],
    ids=["command", "start", "end", "state", "cold", "wake"],
)
def test_who_differs_keeps_a_row_of_his_own(differs: dict[str, Any]) -> None:
    read = rendered(server(20, **differs))
    assert [label for label in read.labels if not label.startswith("closed")] == ["100", "19 equal", "1019"]


@pytest.mark.parametrize("last", [{"purpose": "exec"}, {"holds": []}], ids=["purpose", "held"])
def test_a_fork_that_is_judged_otherwise_keeps_its_own_row(last: dict[str, Any]) -> None:
    tape = Tape().process().wake(2.0)
    for number in range(20):
        at = round(6.1 + number / 100, 3)
        held = {"purpose": "plain", "holds": [{"name": "cuda", "doubtful": False}]}
        tape.fork(at, 1000 + number, **{**held, **(last if number == 19 else {})})
        tape.process(at + 0.01, 1000 + number, 100, "fork", states=POISONED)
    assert groups(tape.exit(20.0, states=AWAKE).read()) == [1, 19, 1]


WAKE = Wake(7.0, "cuda", None, None, 1)
STRETCH = Stretch("cuda", 6.0, 7.0, Status.UNKNOWN, None, "could not be asked")


@pytest.mark.parametrize(
    "other",
    [
        {"how": How.SPAWN},
        {"unseen": "killed by signal 9 before it reported anything"},
        {"wakes": (WAKE,)},
        {"happenings": (Happening(7.0, "touches-poisoned", "cuda", 1),)},
        {"stretches": ()},
        {"stretches": (replace(STRETCH, status=Status.POISONED),)},
        {"stretches": (replace(STRETCH, level=Level.CONTEXT),)},
        {"stretches": (replace(STRETCH, inferred=True),)},
        {"stretches": (replace(STRETCH, reason="the driver is too old"),)},
        {"stretches": (replace(STRETCH, accelerator="xpu"),)},
    ],
    ids=str,
)
def test_whatever_the_row_would_hide_keeps_a_row_of_its_own(other: dict[str, Any]) -> None:
    first = Process(0, 100, None, How.RUN, ("python",), 0, 20)
    worker = Process(1, 1000, 0, How.FORK, ("python",), 6, 7, stretches=(STRETCH,))
    workers = [replace(worker, number=number, pid=1000 + number) for number in range(1, 21)]
    recording = Recording("run", processes=(first, *workers))
    assert groups(recording) == [1, 20]
    workers[19] = replace(workers[19], **other)
    assert groups(replace(recording, processes=(first, *workers))) == [1, 19, 1]


def test_only_numbers_and_times_may_differ() -> None:
    first = Process(0, 100, None, How.RUN, ("python",), 0, 20)
    workers = [
        Process(
            number,
            1000 + number,
            0,
            How.SPAWN,
            (
                "python",
                "-c",
                f"from multiprocessing.spawn import spawn_main; spawn_main(pipe_handle={number})",
            ),
            6 + number,
            7 + number,
            stretches=(replace(STRETCH, begin=6 + number, end=7 + number),),
            wakes=(replace(WAKE, at=6.5 + number),),
        )
        for number in range(1, 21)
    ]
    assert groups(Recording("run", processes=(first, *workers))) == [1, 20]


def test_the_row_of_equals_is_drawn_as_long_as_any_of_them_was_there() -> None:
    tape = Tape().process()
    for number, at in enumerate((1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 8, 8.1, 8.2)):
        tape.fork(at, 1000 + number, states=COLD).process(at, 1000 + number, 100, "fork")
        tape.wake(at + 0.2, 1000 + number).exit(at + 0.5, 1000 + number, states=AWAKE)
    content = document.render(tape.exit(9.8).read(), Options())
    (head,) = re.findall(r'<summary aria-label="10 equal.*?</summary>', content)
    bars = re.findall(r'<rect width="([\d.]+)%" x="([\d.]+)%"[^>]*class="state awake">', head)
    assert [(float(x), float(width)) for width, x in bars] == [(12, 9), (82, 5)]
    wakes = re.findall(r'<svg x="([\d.]+)%" y="[\d.]+" class="mark">', head)
    assert len(wakes) == 10
    assert (float(wakes[0]), float(wakes[-1])) == (12, 84)


def test_a_handful_of_equal_processes_is_not_folded() -> None:
    assert "equal" not in " ".join(rendered(server(MOST_ALIKE)).labels)
    assert f"{MOST_ALIKE + 1} equal" in rendered(server(MOST_ALIKE + 1)).labels


def test_equal_processes_with_equal_children_are_shown_with_them() -> None:
    tape = Tape().process()
    for number in range(40):
        at = round(1 + number / 10, 3)
        pid, child = 1000 + 2 * number, 1001 + 2 * number
        tape.fork(at, pid).process(at + 0.01, pid, 100, "fork")
        if number != 39:
            tape.fork(at + 0.02, child, pid, line=50, states=COLD).process(at + 0.03, child, pid, "fork")
            tape.exit(at + 0.04, child)
        tape.exit(at + 0.05, pid)
    read = rendered(tape.exit(9.0))
    assert [label for label in read.labels if not label.startswith("closed")] == ["100", "39 equal", "1078"]
    assert any("1001 forked by serve.py:50" in row for row in read.closed)
    assert len(read.ids) == len(set(read.ids)) == 80


def test_a_line_to_a_row_below_crosses_all_that_can_be_opened_in_between() -> None:
    tape = server()
    for number in range(20):
        tape.fork(12.0, 2000 + number, line=50).process(12.1, 2000 + number, 100, "fork").exit(
            13, 2000 + number
        )
    tape.fork(13.0, 3000, line=90).process(13.01, 3000, 100, "fork").exit(14.0, 3000)
    content = document.render(tape.read(), Options())
    lines = re.findall(r'<line x1="([\d.]+%)" x2="[\d.]+%" y1="([\d.]+)" y2="([\d.]+)"></line></g>', content)
    crossing = [(float(upper), float(lower)) for at, upper, lower in lines if at == "63.7000%"]
    # From the middle of the first row, through both rows that open and all in them, to the middle of the last.
    assert crossing == [(12, 24), (0, 24), (0, 500 * 24), (0, 24), (0, 20 * 24), (0, 12)]


def test_of_very_many_lines_each_row_has_both_ends() -> None:
    tape = Tape().process()
    for number in range(300):
        at, pid = round(1 + number / 100, 3), 1000 + number
        tape.fork(at, pid).process(at + 0.001, pid, 100, "fork", command=["worker", str(number // 10)])
    content = document.render(tape.exit(9.0).read(), Options())
    assert content.count('<text x="32" y="16" class="pid">10 equal</text>') == 30
    heads = re.findall(r'<summary aria-label="10 equal.*?</summary>', content)
    assert len(heads) == 30
    # The end just above the row's own middle, and the dots of the first fork and the last.
    assert all(re.search(r'y1="0(\.0)?" y2="12.0"></line>', head) for head in heads)
    assert [head.count('class="arrival fork"') for head in heads] == [2] * 30
    assert content.count('class="departs"') == 30


def test_500_children_deep_below_each_other_are_no_equals() -> None:
    tape = Tape().process()
    for number in range(500):
        tape.fork(1 + number / 10, 101 + number, 100 + number)
        tape.process(1.01 + number / 10, 101 + number, 100 + number, "fork")
    assert not any(row.is_folded for row in Family(tape.read()).rows())


FORKING = """
import os

children = []
for _ in range(40):
    child = os.fork()
    if not child:
        os._exit(3)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are what this is about")
def test_equal_processes_of_a_real_program_share_a_row(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FORKING, encoding="utf-8")
    target = tmp_path / "run.coldfork"
    command = [sys.executable, "-m", "coldfork", "run", "--follow", "--output", str(target), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert groups(files.read(target)) == [1, 40]
