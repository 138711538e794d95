"""Common parts of stories: their processes, their evidence, and the texts of their troubles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from coldfork.diagnose import roles, stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.frameworks import framework, hosts
from coldfork.diagnose.logs.records import LogFrame, LoggedError
from coldfork.diagnose.stories.recognition import Sighting, sightings
from coldfork.knowledge.troubles import Trouble
from coldfork.model.diagnosis import Confidence, Evidence, Part, Participant, Place, Role, Story

_HEADER = re.compile(r"^Process (?P<name>[\w:.-]+):$")
_MOST_EVIDENCE = 12
MOST_ERRORS = 300
"""If one sign has more errors than this, only the first ones are examined."""
_METHODS = (("Fork", "fork"), ("Spawn", "spawn"), ("ForkServer", "forkserver"))


def by_sign(
    case: Case, trouble: Trouble, title: str, *, bare: str | None = None, asked: bool = False
) -> Iterator[Story]:
    """Yield the story of a trouble that is recognised only by its words; `asked` blames the line that used
    the device.
    """
    found = sightings(case.log, trouble, bare=bare)
    if found:
        told = story(case, trouble, title, found)
        asking = asker([sighting.error for sighting in found]) if asked else None
        yield replace(told, culprit=asking or told.culprit)


def story(case: Case, trouble: Trouble, title: str, found: Sequence[Sighting]) -> Story:
    """Return one story for all these occurrences; three workers with the same traceback are one story."""
    errors = [sighting.error for sighting in found][:MOST_ERRORS]
    sure = any(sighting.sure for sighting in found)
    return Story(
        trouble.name,
        title,
        Confidence.CERTAIN if sure else Confidence.LIKELY,
        " ".join([trouble.cause, *versions(case, trouble, errors)]),
        participants(errors),
        culprit(errors) or written(case, errors),
        (),
        evidence(case, errors),
        trouble.remedies,
        trouble.alternatives,
        f"{trouble.command}" if trouble.command else "",
        parts=parts(errors),
    )


def versions(case: Case, trouble: Trouble, errors: Sequence[LoggedError]) -> Iterator[str]:
    """Yield the installed versions that matter to this trouble, if the log's environment is available."""
    paths = [frame.path for error in errors for frame in error.frames]
    found = ((name, case.installed(name, paths)) for name in trouble.versions)
    installed = [f"{name} {version}" for name, version in found if version is not None]
    if installed:
        yield f"Installed: {', '.join(installed)}."


def culprit(errors: Sequence[LoggedError]) -> Place | None:
    """Return the line to blame, from the first of these errors that shows one."""
    for error in errors:
        call = roles.guilty(error.frames)
        if call is not None:
            return place(call, error.frames)
    return None


_WRITTEN = re.compile(
    r"(?:^|\s)(?P<path>(?:[A-Za-z]:)?[^\s:\[\]\"'()]+\.py):(?P<line>\d+)"
    r"(?:\] |: (?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b)"
)
"""The place of an error that loggers (in glog's form) and pytest write before it."""


def written(case: Case, errors: Sequence[LoggedError]) -> Place | None:
    """Return the place written before the first of these errors, if none of them has a stack."""
    if not errors or any(error.frames for error in errors):
        return None
    found = _WRITTEN.search(case.log.raw(errors[0].line_number))
    if found is None:
        return None
    frame = LogFrame(errors[0].line_number, found["path"], int(found["line"]), "")
    known = roles.role(frame) in (Role.PROGRAM, Role.FRAMEWORK)
    return Place(frame.path, frame.line) if known and not hosts(frame) else None


def asker(errors: Sequence[LoggedError]) -> Place | None:
    """Return the line that used the device, from the first of these errors that shows one."""
    for error in errors:
        call = roles.asking(error.frames)
        if call is not None:
            return place(call, error.frames)
    return None


def parts(errors: Sequence[LoggedError]) -> tuple[Part, ...]:
    """Return the lines of the stack with their roles, from the first of these errors that has any."""
    return next((found for error in errors if (found := roles.parts(error.frames))), ())


def place(frame: LogFrame, frames: Sequence[LogFrame]) -> Place:
    """Return the place of a call on a stack, with the library function by which it touched the device."""
    return Place(frame.path, frame.line, stacks.device_call(frames, frame), frame.text)


def participants(errors: Iterable[LoggedError]) -> tuple[Participant, ...]:
    """Return the processes that reported these errors, each once."""
    alike = {_likeness(error): error for error in errors}
    return tuple(dict.fromkeys(_participant(error) for error in alike.values()))


def _likeness(error: LoggedError) -> tuple[object, ...]:
    """Return a key that similar errors of one process share, so that only one of them is examined."""
    return error.header, error.speaker, len(error.frames), *((f.path, f.line) for f in error.frames[-1:])


def _participant(error: LoggedError) -> Participant:
    header = _HEADER.match(error.header or "")
    name = header["name"] if header else error.speaker.name
    known = framework(error.frames, name)
    started = _method(name, error.frames)
    starting = stacks.starting_call(error.frames)
    is_child = started is not None or stacks.boundary(error.frames) > 0
    return Participant(
        name,
        error.speaker.pid,
        "child" if is_child else "process",
        started,
        known.name if known else None,
        place(starting, error.frames) if starting else None,
    )


def _method(name: str | None, frames: Sequence[LogFrame]) -> str | None:
    for start, method in reversed(_METHODS):
        if name is not None and name.startswith(start):
            return method
    for frame in frames:
        path = stacks.joined(frame)
        if path.endswith("/popen_fork.py") and frame.function == "_launch":
            return "fork"
        if path.endswith("multiprocessing/spawn.py") and frame.function in ("spawn_main", "_main"):
            return "spawn"
        if path.endswith("multiprocessing/forkserver.py") and frame.function == "_serve_one":
            return "forkserver"
    return None


def evidence(case: Case, errors: Iterable[LoggedError]) -> tuple[Evidence, ...]:
    """Return the lines of the log that support the story, each once."""
    lines: dict[int, Evidence] = {}
    for error in errors:
        if error.header is not None and error.begins and not _is_far(error):
            lines[error.begins] = Evidence(case.log.name, error.begins, error.header)
        said = (
            f"{error.kind}: {error.message}" if error.kind and error.message else error.message or error.kind
        )
        lines[error.line_number] = Evidence(case.log.name, error.line_number, said)
        for frame in (roles.guilty(error.frames), stacks.import_site(error.frames)):
            if frame is not None:
                lines.setdefault(frame.line_number, Evidence(case.log.name, frame.line_number, shown(frame)))
    kept = [lines[number] for number in sorted(lines)]
    return tuple(kept[:_MOST_EVIDENCE])


def _is_far(error: LoggedError) -> bool:
    return error.line_number - error.begins > 5000


def shown(frame: LogFrame) -> str:
    """Return a call on a stack as one line of text."""
    where = f"{frame.path}:{frame.line}" if frame.line is not None else frame.path
    said = f"{where} in {frame.function}" if frame.function else where
    return f"{said}: {frame.text}" if frame.text else said


def as_children(processes: Iterable[Participant], method: str) -> tuple[Participant, ...]:
    """Return the processes as children started by this method, which the story itself implies."""
    return tuple(replace(process, role="child", started=process.started or method) for process in processes)
