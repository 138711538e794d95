"""Explains logs: reads them, matches them against every story, and lists the unexplained errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

from coldfork.diagnose import roles
from coldfork.diagnose.case import Case, Installed, Search, Waking, no_search, none_installed
from coldfork.diagnose.logs.notes import notes
from coldfork.diagnose.logs.reading import read
from coldfork.diagnose.logs.records import Log, LoggedError
from coldfork.diagnose.mending import with_versions
from coldfork.diagnose.onward import onward
from coldfork.diagnose.stories import registry
from coldfork.model.diagnosis import Evidence, Explanation, Place, Story, Unexplained

_MOST_UNEXPLAINED = 20


def read_log(stream: BinaryIO, name: str | None) -> Log:
    """Read a log; of a large log, only the parts around the signs of stories."""
    return read(stream, name, registry.signs())


def explain(
    logs: Iterable[Log],
    search: Search = no_search,
    wakings: Sequence[Waking] = (),
    fork: Place | None = None,
    installed: Installed = none_installed,
) -> Explanation:
    """Return the stories that these logs tell, the surest first, and the unexplained errors."""
    stories: list[Story] = []
    unexplained: list[Unexplained] = []
    remarks: list[str] = []
    every = tuple(logs)
    for log in every:
        case = Case(log, (*wakings, *_noted(log)), search, fork, installed)
        told = tuple(with_versions(story, case) for story in registry.told(case))
        stories += told
        unexplained += _unexplained(log, told)
        remarks += [f"{log.name or 'the log'}: {remark}" for remark in log.remarks]
    ordered = sorted(_merged(stories), key=lambda story: -story.confidence.rank)
    ways = [] if stories else [way for log in every if (way := onward(log)) is not None]
    return Explanation(
        tuple(ordered), tuple(unexplained[:_MOST_UNEXPLAINED]), tuple(remarks), ways[-1] if ways else None
    )


def standing(log: Log) -> Iterator[str]:
    """Yield, for each dumped process, a line that says where it stood, preferably in the program's
    own code.
    """
    for stack in log.stacks:
        outer = tuple(reversed(stack.frames))
        call = roles.guilty(outer) or roles.asking(outer)
        if call is not None and stack.speaker.pid is not None:
            where = f"{call.path}:{call.line}" if call.line is not None else call.path
            yield f"process {stack.speaker.pid} was in {call.function}  {where}"


def _noted(log: Log) -> Iterator[Waking]:
    seen = set()
    for note in notes(log.lines):
        where = (note.path, note.line, note.module)
        if note.path is not None and where not in seen:
            seen.add(where)
            yield Waking(Place(note.path, note.line, note.call), note.module, note.line_number, note.chain)


def _merged(stories: Sequence[Story]) -> Iterator[Story]:
    """Yield the stories, merging those that several logs share."""
    kept: dict[object, Story] = {}
    for story in stories:
        key = (story.name, story.accelerator, story.culprit and (story.culprit.path, story.culprit.line))
        other = kept.get(key)
        if other is not None:
            story = replace(
                other,
                processes=tuple(dict.fromkeys((*other.processes, *story.processes))),
                evidence=(*other.evidence, *story.evidence),
            )
        kept[key] = story
    yield from kept.values()


def _unexplained(log: Log, told: Sequence[Story]) -> Iterator[Unexplained]:
    """Yield one error for each group of similar errors that no story explains."""
    used = {line.line for story in told for line in story.evidence}
    said = {line.text for story in told for line in story.evidence}
    seen = set()
    for error in log.errors:
        text = _text(error)
        if _hands_on(error):
            continue
        if error.line_number in used or text in said or text in seen or error.kind.endswith("Warning"):
            continue
        seen.add(text)
        reason = (
            "this error belongs to no known story"
            if error.kind
            else "the traceback breaks off before its error"
        )
        yield Unexplained(Evidence(log.name, error.line_number, text), reason)


def _hands_on(error: LoggedError) -> bool:
    """Return whether the error merely repeats an error of another process that the log contains as well."""
    carried = (
        error.message.startswith(("Caught ", "\n\n-- Process")) or error.kind == "ProcessRaisedException"
    )
    return carried or error.kind.endswith("RemoteTraceback")


def _text(error: LoggedError) -> str:
    if not error.kind:
        last = error.frames[-1]
        return f'File "{last.path}", line {last.line}, in {last.function}'
    return f"{error.kind}: {error.message}" if error.message else error.kind
