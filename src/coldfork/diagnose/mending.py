"""Looks up whether a newer version of the package at fault has repaired the line that a story is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case, Waking
from coldfork.diagnose.installed import step_at
from coldfork.knowledge import repairs
from coldfork.knowledge.repairs import Repair
from coldfork.model.diagnosis import Step, Story


def with_versions(story: Story, case: Case) -> Story:
    """Return the story; if a published fault woke the device, with a newer version as a remedy."""
    ways = [tuple(way) for way in _to_the_device(story, case)]
    found = {_repair(way, story.name) for way in ways}
    repair = found.pop() if len(found) == 1 else None
    if repair is None:
        return story
    paths = [step.path for way in ways for step in way]
    return _compared(story, repair, case.installed(repair.distribution, paths))


def _repair(way: Sequence[Step], story: str) -> Repair | None:
    known = (repair for step in way for repair in repairs.of_call(step.path, step.function, step.text))
    return next((repair for repair in known if story in repair.stories), None)


def _to_the_device(story: Story, case: Case) -> Iterator[Iterable[Step]]:
    """Yield chains of calls to the device: the observed one, or else one for each certain suspect."""
    if case.wakings:
        yield _seen(case.wakings[0])
        return
    lines = {line.line for line in story.evidence}
    for error in case.log.errors:
        site = stacks.import_site(error.frames) if error.line_number in lines else None
        if site is not None:
            below = error.frames[error.frames.index(site) :]
            yield (Step(stacks.joined(frame), frame.function, frame.text) for frame in below)
            return
    yield from (suspect.steps for suspect in story.suspects if suspect.reason.startswith("certain"))


def _seen(waking: Waking) -> Iterator[Step]:
    """Yield the calls of a recorded wake, or its line if no calls are known."""
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
            f"Upgrade {name} to {fixed} or newer, where this is mended: {repair.change} "
            f"({repair.source}). The version behind this log was not found; `--python PATH` names its "
            "environment."
        )
    elif version < Version(fixed):
        remedy = (
            f"Upgrade {name} to {fixed} or newer, where this is mended: {repair.change} ({repair.source}). "
            f"{version} is installed."
        )
    else:
        said = (
            f"{name} {fixed} mended this line ({repair.source}), and {version} is installed: the log "
            "comes from another version, or another call reached the same line."
        )
        return replace(story, cause=f"{story.cause} {said}")
    return replace(story, remedies=(remedy, *story.remedies))


def _version(text: str | None) -> Version | None:
    try:
        return Version(text) if text is not None else None
    except InvalidVersion:
        return None
