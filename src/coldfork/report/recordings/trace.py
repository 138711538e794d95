"""A recording in the Trace Event Format, which Perfetto and Chromium's tracing page can open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from coldfork.model.states import Status
from coldfork.model.timelines import Process, Recording, Wake
from coldfork.report.recordings.assembly.import_trees import in_microseconds, threads
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.doubts import reasons
from coldfork.report.recordings.summary.import_effects import marks
from coldfork.report.shared.characters import printable
from coldfork.report.shared.options import Options

_Event = dict[str, Any]


def render(recording: Recording, options: Options) -> str:
    """Write the trace as one JSON object, with one event per line."""
    events = ",\n".join(json.dumps(event) for event in _Trace(recording).events())
    doubts = _doubts(recording)
    other = {
        "tool": f"coldfork {options.version}".strip(),
        "command": printable(" ".join(recording.command)),
        "recorded": printable(recording.started),
        **({"incomplete": "; ".join(doubts)} if doubts else {}),
    }
    head = f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(other)}, "traceEvents": [\n'
    return f"{head}{events}\n]}}\n"


class _Trace:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._pids = _distinct_pids(recording)
        self._ids = count(1)

    def events(self) -> Iterator[_Event]:
        """Yield the names, then for each process its imports, wakes, states and started processes."""
        for process in self._recording.processes:
            yield from self._names(process)
            yield from self._imports(process)
            yield from (self._wake(process, wake) for wake in process.wakes)
            yield from self._states(process)
            yield from self._starts(process)
        yield from self._doubts()

    def _doubts(self) -> Iterator[_Event]:
        """Yield a mark at the end of the recording for each reason why it may be incomplete."""
        for process in self._recording.processes[:1]:
            for doubt in _doubts(self._recording):
                mark = self._at(process, "i", f"incomplete: {doubt}", self._recording.end)
                yield {**mark, "s": "g", "cat": "doubt", "args": {}}

    def _at(self, process: Process, phase: str, name: str, at: float, thread: int = 0) -> _Event:
        pid = self._pids[process.number]
        tid = pid if thread in (0, process.pid) else thread
        return {"ph": phase, "name": printable(name), "pid": pid, "tid": tid, "ts": round(at * 1e6)}

    def _names(self, process: Process) -> Iterator[_Event]:
        name = f"{phrases.pid(process)} {phrases.arrival(process)} {phrases.command(process)}".strip()
        yield {**self._at(process, "M", "process_name", 0), "args": {"name": printable(name)}}
        yield {**self._at(process, "M", "process_sort_index", 0), "args": {"sort_index": process.number}}
        yield {**self._at(process, "M", "thread_name", 0), "args": {"name": "main thread"}}
        begin = self._at(process, "X", f"begins ({process.how.value})", process.begin)
        yield {**begin, "dur": 1, "cat": "process", "args": {}}

    def _imports(self, process: Process) -> Iterator[_Event]:
        marked = marks(process)
        for thread, imports in threads(process.imports).items():
            for span, _, begin, end in in_microseconds(imports):
                details = {
                    "path": printable(span.path or ""),
                    "finished": span.finished,
                    "effects": [printable(mark.text) for mark in marked.of(span)],
                }
                event = self._at(process, "X", span.module or "?", 0, thread)
                yield {**event, "ts": begin, "dur": end - begin, "cat": "import", "args": details}

    def _wake(self, process: Process, wake: Wake) -> _Event:
        waker = wake.waker
        details = (
            {}
            if waker is None
            else {
                "place": printable(phrases.place(waker.path, waker.line)),
                "module": printable(waker.module or ""),
                "call": printable(waker.call or ""),
            }
        )
        event = self._at(process, "i", f"wakes {wake.accelerator}", wake.at, wake.thread)
        return {**event, "s": "p", "cat": "wake", "args": details}

    def _states(self, process: Process) -> Iterator[_Event]:
        for stretch in process.stretches:
            if stretch.status is Status.ABSENT:
                continue
            name = f"{stretch.accelerator} {phrases.state(stretch)}"
            shared = {"cat": "state", "id": f"{next(self._ids):#x}", "args": {}}
            yield {**self._at(process, "b", name, stretch.begin), **shared}
            yield {**self._at(process, "e", name, stretch.end), **shared}

    def _starts(self, process: Process) -> Iterator[_Event]:
        for going in process.departures:
            name = phrases.departure(going)
            place = printable(phrases.frame_place(going.site))
            start = self._at(process, "X", name, going.at, going.thread)
            yield {**start, "dur": 1, "cat": "process", "args": {"place": place}}
            if going.child is None:
                continue
            child = self._recording.processes[going.child]
            flow = {"cat": "process", "id": next(self._ids)}
            yield {**self._at(process, "s", name, going.at, going.thread), **flow}
            yield {**self._at(child, "f", name, child.begin), **flow, "bp": "e"}


def _doubts(recording: Recording) -> list[str]:
    return [printable(doubt) for doubt in reasons(recording)]


def _distinct_pids(recording: Recording) -> dict[int, int]:
    """Return a distinct pid for each process, by its number; unknown and repeated pids are replaced."""
    fresh = count(max((process.pid or 0 for process in recording.processes), default=0) + 1_000_000)
    used: set[int] = set()
    given: dict[int, int] = {}
    for process in recording.processes:
        pid = process.pid
        if not pid or pid in used:
            pid = next(fresh)
        used.add(pid)
        given[process.number] = pid
    return given
