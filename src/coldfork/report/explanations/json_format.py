"""The JSON of `coldfork explain`: schema_version 1, stable, described by `schemas/explain.schema.json`."""

from __future__ import annotations

from typing import Any

from coldfork.model.diagnosis import Evidence, Explanation, Onward, Participant, Place, Story, Suspect
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, headed, optional
from coldfork.report.shared.options import Options


def render(explanation: Explanation, options: Options) -> str:
    """Write the result as JSON in plain ASCII, which no stream can garble."""
    contents = {
        "stories": [_story(story) for story in explanation.stories],
        "unexplained": [
            {**_evidence(error.evidence), "reason": well_formed(error.reason)}
            for error in explanation.unexplained
        ],
        "onward": _onward(explanation.onward),
        "notes": [well_formed(note) for note in explanation.notes],
    }
    return dump(headed(contents, options))


def _onward(onward: Onward | None) -> dict[str, Any] | None:
    if onward is None:
        return None
    return {
        **_evidence(onward.evidence),
        "whose": well_formed(onward.whose),
        "place": _place(onward.place),
        "next": well_formed(onward.next),
    }


def _story(story: Story) -> dict[str, Any]:
    return {
        "story": story.name,
        "title": well_formed(story.title),
        "confidence": story.confidence.value,
        "accelerator": optional(story.accelerator),
        "cause": well_formed(story.cause),
        "processes": [_process(process) for process in story.processes],
        "culprit": _place(story.culprit),
        "blame": story.blame.value,
        "parts": [
            {"role": part.role.value, "owner": optional(part.owner), **(_place(part.place) or {})}
            for part in story.parts
        ],
        "suspects": [_suspect(suspect) for suspect in story.suspects],
        "evidence": [_evidence(line) for line in story.evidence],
        "remedies": [well_formed(remedy) for remedy in story.remedies],
        "alternatives": [well_formed(other) for other in story.alternatives],
        "next": well_formed(story.next),
    }


def _process(process: Participant) -> dict[str, Any]:
    return {
        "name": optional(process.name),
        "pid": process.pid,
        "role": process.role,
        "started": process.started,
        "framework": optional(process.framework),
        "fork": _place(process.fork),
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "path": well_formed(place.path),
        "line": place.line,
        "call": optional(place.call),
        "text": well_formed(place.text),
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    return {
        **(_place(suspect.place) or {}),
        "reason": well_formed(suspect.reason),
        "chain": [well_formed(step) for step in suspect.chain],
    }


def _evidence(line: Evidence) -> dict[str, Any]:
    return {"file": optional(line.file), "line": line.line, "text": well_formed(line.text)}
