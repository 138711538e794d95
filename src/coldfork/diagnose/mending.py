"""Says whether a version of the package at fault mends the line that a story is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case, Waking
from coldfork.diagnose.enclosing import step_at
from coldfork.knowledge import repairs
from coldfork.knowledge.repairs import Repair
from coldfork.model.diagnosis.evidence import Step
from coldfork.model.diagnosis.stories import Story


def with_versions(story: Story, case: Case) -> Story:
    """The story with the remedy that a newer version is, where its culprit is a published fault."""
    steps = tuple(_to_the_device(story, case))
    for step in steps:
        for repair in repairs.of_call(step.path, step.function, step.text):
            if story.name in repair.stories:
                installed = case.installed(repair.distribution, [other.path for other in steps])
                return _compared(story, repair, installed)
    return story


def _to_the_device(story: Story, case: Case) -> Iterator[Step]:
    """The calls from the culprit's line to the device: as they were seen, else as the sources have them."""
    if case.wakings:
        yield from _seen(case.wakings[0])
        return
    lines = {line.line for line in story.evidence}
    for error in case.log.errors:
        site = stacks.import_site(error.frames) if error.line_number in lines else None
        if site is not None:
            below = error.frames[error.frames.index(site) :]
            for frame in below:
                yield Step(stacks.joined(frame), frame.function, frame.text)
            return
    for suspect in story.suspects:
        if suspect.place == story.culprit:
            yield from suspect.steps


def _seen(waking: Waking) -> Iterator[Step]:
    """The stack that a recording has; where only the line is known, that line."""
    yield from waking.steps
    if not waking.steps and waking.place.line is not None:
        step = step_at(waking.place.path, waking.place.line)
        if step is not None:
            yield step


def _compared(story: Story, repair: Repair, installed: str | None) -> Story:
    name, fixed = repair.distribution, repair.fixed
    if fixed is None:
        read = ", ".join(repair.buggy)
        said = (
            f"No version of {name} is known to mend this (read in {read}): {repair.change}; {repair.source}."
        )
        return replace(story, cause=f"{story.cause} {said}")
    version = _version(installed)
    if version is None:
        remedy = (
            f"Upgrade {name} to {fixed} or newer, where this is mended: {repair.change} ({repair.source}). "
            "Which version this log is of was not found; `--python PATH` names its environment."
        )
    elif version < Version(fixed):
        remedy = (
            f"Upgrade {name} to {fixed} or newer, where this is mended: {repair.change} ({repair.source}). "
            f"{version} is installed."
        )
    else:
        said = (
            f"{name} {fixed} mended this line ({repair.source}), and {version} is installed: the log is of "
            "another version, or another call has come to the same place."
        )
        return replace(story, cause=f"{story.cause} {said}")
    return replace(story, remedies=(remedy, *story.remedies))


def _version(text: str | None) -> Version | None:
    try:
        return Version(text) if text is not None else None
    except InvalidVersion:
        return None
