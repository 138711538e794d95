"""The imports of a recording in speedscope's file format: one profile for each thread with imports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from coldfork.model.timelines import Import, Process, Recording
from coldfork.report.recordings.assembly.import_trees import in_microseconds, threads
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.outcomes import outcome
from coldfork.report.shared.characters import printable
from coldfork.report.shared.options import Options

#: The URL that identifies the file format; nothing is downloaded from it.
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


#: The name of a module, and its file.
_Frame = tuple[str, str | None]


def render(recording: Recording, options: Options) -> str:
    """Write the imports as one JSON object, with one profile per line."""
    frames: dict[_Frame, int] = {}
    summed_up = outcome(recording)
    woken = summed_up.wake_process
    # The title is the only place where speedscope shows a sentence from the file.
    missing = f" ({'; '.join(summed_up.doubts)})" if summed_up.doubts else ""
    profiles: list[dict[str, Any]] = []
    active = 0
    for process in recording.processes:
        for thread, imports in threads(process.imports).items():
            if process is woken and not active:
                active = len(profiles)
            profiles.append(_profile(process, thread, imports, frames))
    head = {
        "$schema": SCHEMA,
        "exporter": f"coldfork {options.version}".strip(),
        "name": printable((" ".join(recording.command) or recording.name) + missing),
        "activeProfileIndex": active,
        "shared": {"frames": [_frame(*frame) for frame in frames]},
    }
    written = ",\n".join(json.dumps(profile) for profile in profiles)
    return f'{json.dumps(head)[:-1]}, "profiles": [\n{written}\n]}}\n'


def _frame(module: str, path: str | None) -> dict[str, str]:
    return {"name": printable(module) or "?", **({} if path is None else {"file": printable(path)})}


def _profile(
    process: Process, thread: int, imports: Iterable[Import], frames: dict[_Frame, int]
) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    open_frames: list[dict[str, Any]] = []
    for span, depth, begin, end in in_microseconds(imports):
        while len(open_frames) > depth:
            events.append(open_frames.pop())
        frame = frames.setdefault((span.module, span.path), len(frames))
        open_frames.append({"type": "C", "frame": frame, "at": end})
        events.append({"type": "O", "frame": frame, "at": begin})
    events += reversed(open_frames)
    name = f"{phrases.pid(process)} {phrases.arrival(process)} {phrases.command(process)}".strip()
    if thread not in (0, process.pid):
        name += f", thread {thread}"
    return {
        "type": "evented",
        "name": printable(name),
        "unit": "microseconds",
        "startValue": events[0]["at"],
        "endValue": events[-1]["at"],
        "events": events,
    }
