"""The JSON of `coldfork report`: schema_version 1, stable, described by `schemas/report.schema.json`.

Every process and every import is on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

from typing import Any

from coldfork.model.timelines import Departure, Process, Recording, Wake
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.summary.import_effects import marks
from coldfork.report.recordings.summary.outcomes import Outcome, outcome
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, frame_object, headed, optional, waker_object
from coldfork.report.shared.options import Options


def render(recording: Recording, options: Options) -> str:
    """Write the recording as JSON in plain ASCII."""
    contents = {
        "recording": recording_object(recording),
        "verdict": verdict_object(outcome(recording)),
        "processes": [_process(process) for process in recording.processes],
        "imports": [item for process in recording.processes for item in _imports(process)],
        "troubles": [
            {
                "at": _time(trouble.at),
                "process": trouble.process,
                "what": well_formed(trouble.what),
                "detail": well_formed(trouble.detail),
            }
            for trouble in recording.troubles
        ],
    }
    return dump(headed(contents, options))


def recording_object(recording: Recording) -> dict[str, Any]:
    """Return the source of the recording, and what is missing from it."""
    damage, cut = recording.damage, recording.cut
    return {
        "name": well_formed(recording.name),
        "tool": well_formed(recording.tool),
        "started": well_formed(recording.started),
        "python": well_formed(recording.python),
        "platform": well_formed(recording.platform),
        "command": [well_formed(word) for word in recording.command],
        "cwd": well_formed(recording.cwd),
        "device": well_formed(recording.device),
        "seconds": _time(recording.end),
        "cut": None
        if cut is None
        else {"at": _time(cut.at), "reason": well_formed(cut.reason), "dropped": cut.dropped},
        "damage": {
            "cut_short": damage.cut_short,
            "lines": damage.lines,
            "first": damage.first,
            "reason": well_formed(damage.reason),
            "unknown_events": {well_formed(kind): count for kind, count in damage.foreign.items()},
        },
    }


def verdict_object(summed_up: Outcome) -> dict[str, Any]:
    """Return the outcome of the recording."""
    process = summed_up.wake_process
    return {
        "standing": summed_up.standing.value,
        "headline": well_formed(summed_up.headline),
        "accelerator": optional(summed_up.accelerator),
        "process": None if process is None else process.number,
        "wake": None if summed_up.wake is None else wake_object(summed_up.wake),
        "poisoned": [one.number for one in summed_up.poisoned],
        "escaped": [one.number for one in summed_up.escaped],
        "notes": [well_formed(note) for note in summed_up.notes],
        "doubts": [well_formed(doubt) for doubt in summed_up.doubts],
        "next_command": well_formed(summed_up.next_command),
    }


def wake_object(wake: Wake) -> dict[str, Any]:
    """Return a wake with its waker as a JSON object."""
    return {
        "at": _time(wake.at),
        "accelerator": well_formed(wake.accelerator),
        "level": None if wake.level is None else wake.level.value,
        "waker": None if wake.waker is None else waker_object(wake.waker),
    }


def _process(process: Process) -> dict[str, Any]:
    return {
        "number": process.number,
        "pid": process.pid,
        "parent": process.parent,
        "how": process.how.value,
        "command": [well_formed(word) for word in process.command],
        "begin": _time(process.begin),
        "end": _time(process.end),
        "watched": process.watched,
        "python": optional(process.python),
        "unseen": optional(process.unseen or None),
        "running": process.running,
        "ended": process.ended,
        "status": process.status,
        "signal": process.signal,
        "imports": sum(1 for _ in walk(process.imports)),
        "import_seconds": _time(sum(span.seconds for span in process.imports)),
        "wakes": [wake_object(wake) for wake in process.wakes],
        "starts": [_departure(going) for going in process.departures],
        "states": [
            {
                "accelerator": well_formed(stretch.accelerator),
                "status": stretch.status.value,
                "level": None if stretch.level is None else stretch.level.value,
                "begin": _time(stretch.begin),
                "end": _time(stretch.end),
                "reason": optional(stretch.reason),
                "inferred": stretch.inferred,
            }
            for stretch in process.stretches
        ],
    }


def _departure(going: Departure) -> dict[str, Any]:
    return {
        "at": _time(going.at),
        "how": going.how.value,
        "method": well_formed(going.method),
        "child": going.child,
        "site": None if going.site is None else frame_object(going.site),
        "stack": [frame_object(frame) for frame in going.stack],
    }


def _imports(process: Process) -> list[dict[str, Any]]:
    marked = marks(process)
    return [
        {
            "process": process.number,
            "depth": depth,
            "module": well_formed(span.module),
            "path": optional(span.path),
            "start": _time(span.start),
            "seconds": _time(span.seconds),
            "own_seconds": _time(span.own_seconds),
            "finished": span.finished,
            "effects": [well_formed(mark.text) for mark in marked.of(span)],
        }
        for span, depth in walk(process.imports)
    ]


def _time(seconds: float) -> float:
    return round(seconds, 6)
