"""The lines of a recording, parsed from the file and checked one by one.

A recording may be cut off anywhere, may come from a newer coldfork, and may have been written by anyone: a
line that makes no sense is counted and skipped, and does not end the reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from coldfork.model.recordings import EventKind
from coldfork.model.states import Frame, Level, State, Waker
from coldfork.model.timelines import Damage

#: Thirty years, in seconds: any longer time must be a mistake.
Seconds = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
Duration = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Command = list[str] | str | None

_LONGEST_REASON = 200


class Line(msgspec.Struct, kw_only=True, frozen=True):
    """The fields that all events have in common; each subclass is tagged with its kind of event."""

    t: Seconds
    pid: Number
    tid: Number = 0


class Ancestor(msgspec.Struct, kw_only=True, frozen=True):
    """An ancestor of another process at the time when that process began."""

    pid: Number
    start: Number | None = None
    command: Command = None


class ProcessLine(Line, tag="process", tag_field="event", frozen=True, kw_only=True):
    """The event that a process begins."""

    ppid: int | None = None
    start: Number | None = None
    how: str = ""
    of: int | None = None
    command: Command = None
    ancestors: tuple[Ancestor, ...] = ()
    by: Number | None = None
    watched: bool = True
    reason: str | None = None
    states: tuple[State, ...] = ()


class SeenLine(Line, tag="seen", tag_field="event", frozen=True, kw_only=True):
    """The event that a process was observed from outside."""

    ppid: int | None = None
    start: Number | None = None
    command: Command = None
    executed: bool = True
    python: str | None = None
    hidden: str | None = None
    became: bool = False


class RunningLine(Line, tag="running", tag_field="event", frozen=True, kw_only=True):
    """The event that a process was still running when the recording ended."""

    start: Number | None = None


class ImportLine(Line, tag="import", tag_field="event", frozen=True, kw_only=True):
    """The event that a module finished loading."""

    module: str
    path: str | None = None
    start: Seconds
    seconds: Duration
    parent: str | None = None


class WakeLine(Line, tag="wake", tag_field="event", frozen=True, kw_only=True):
    """The event that an accelerator was woken."""

    accelerator: str
    level: Level | None = None
    waker: Waker | None = None


class StateLine(Line, tag="state", tag_field="event", frozen=True, kw_only=True):
    """The accelerators' states at one moment."""

    at: str = ""
    states: tuple[State, ...] = ()


class EffectLine(Line, tag="effect", tag_field="event", frozen=True, kw_only=True):
    """The event of another important effect."""

    kind: str
    what: str | None = None
    stack: tuple[Frame, ...] = ()
    leaves: bool | None = None


class HeldThing(msgspec.Struct, kw_only=True, frozen=True):
    """Something that the process held at a fork, such as an awake accelerator."""

    name: str
    doubtful: bool = False


class DeedLine(msgspec.Struct, kw_only=True, frozen=True):
    """The event that a forked child acted on something that its parent held at the fork."""

    who: str
    call: str
    steps: tuple[tuple[str, int, str], ...] = ()


class ForkLine(Line, tag="fork", tag_field="event", frozen=True, kw_only=True):
    """The event that the process forked, written by the parent."""

    child: Number | None = None
    start: Number | None = None
    number: int | None = None
    stack: tuple[Frame, ...] = ()
    states: tuple[State, ...] = ()
    thread: str | None = None
    purpose: str | None = None
    holds: tuple[HeldThing, ...] = ()
    does: Mapping[str, DeedLine] = msgspec.field(default_factory=dict)


class ForkedLine(Line, tag="forked", tag_field="event", frozen=True, kw_only=True):
    """The event that this process was created by a fork, written by the child."""

    number: int
    child: Number
    start: Number | None = None


class SpawnLine(Line, tag="spawn", tag_field="event", frozen=True, kw_only=True):
    """The event that the process started another, fresh process."""

    child: Number | None = None
    start: Number | None = None
    method: str = "spawn"
    command: Command = None
    python: str | None = None
    hidden: str | None = None
    stack: tuple[Frame, ...] = ()
    states: tuple[State, ...] = ()


class ExecLine(Line, tag="exec", tag_field="event", frozen=True, kw_only=True):
    """The event that the process replaced itself with another program."""

    command: Command = None
    python: str | None = None
    hidden: str | None = None
    stack: tuple[Frame, ...] = ()
    states: tuple[State, ...] = ()


class ExitLine(Line, tag="exit", tag_field="event", frozen=True, kw_only=True):
    """The event that the process ended."""

    start: Number | None = None
    status: int | None = None
    signal: int | None = None
    python: str | None = None
    begun: bool = True
    states: tuple[State, ...] = ()


class CutLine(msgspec.Struct, tag="cut", tag_field="event", frozen=True, kw_only=True):
    """The event that the recording reached its size limit; its time may be missing for lack of room."""

    t: Seconds | None = None
    pid: Number = 0
    reason: str = ""
    dropped: int | None = None


class TroubleLine(Line, tag="trouble", tag_field="event", frozen=True, kw_only=True):
    """The event that the watcher itself failed at some point and continued."""

    what: str = ""
    detail: str | None = None


Told = (
    ProcessLine
    | SeenLine
    | RunningLine
    | ImportLine
    | WakeLine
    | StateLine
    | EffectLine
    | ForkLine
    | ForkedLine
    | SpawnLine
    | ExecLine
    | ExitLine
    | TroubleLine
)
Event = Told | CutLine


class Lines:
    """Reads the events after the header one by one, and counts the lines that could not be read."""

    def __init__(self, content: Iterable[bytes]) -> None:
        self._content = content
        self._decoder = msgspec.json.Decoder(Event)
        self.damage: Damage = Damage()
        """The damage found so far."""

    def __iter__(self) -> Iterator[Event]:
        # The header is the file's first line, so the events begin at line 2.
        for number, line in enumerate(self._content, 2):
            if self.damage.cut_short:
                # The file does not end here after all: this is the next piece of a line that is too long.
                self.damage = replace(self.damage, cut_short=False)
                self._spoil(number - 1, ValueError("the line is too long for a recording"))
            if line.isspace():
                continue
            try:
                yield self._decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                again = self._second_reading(line, number, error)
                if again is not None:
                    yield again

    def _second_reading(self, line: bytes, number: int, error: Exception) -> Event | None:
        """Parse the line with Python's own parser, which accepts lone surrogates of undecodable paths."""
        try:
            raw = parse(line)
        except (ValueError, RecursionError):
            if not line.endswith(b"\n"):
                self.damage = replace(self.damage, cut_short=True)
            else:
                self._spoil(number, error)
            return None
        kind = raw.get("event") if isinstance(raw, dict) else None
        if isinstance(kind, str) and kind not in set(EventKind):
            met = self.damage.foreign
            self.damage = replace(self.damage, foreign={**met, kind: met.get(kind, 0) + 1})
            return None
        try:
            event: Event = msgspec.convert(raw, Event)
        except (msgspec.ValidationError, RecursionError) as refused:
            self._spoil(number, refused)
            return None
        return event

    def _spoil(self, number: int, error: Exception) -> None:
        self.damage = replace(self.damage, lines=self.damage.lines + 1)
        if self.damage.first is None:
            self.damage = replace(self.damage, first=number, reason=str(error)[:_LONGEST_REASON])


def header(line: bytes) -> dict[str, Any] | None:
    """Return the header from a recording's first line; None if that line is no header."""
    try:
        raw = parse(line)
    except (ValueError, RecursionError):
        return None
    is_header = isinstance(raw, dict) and raw.get("event") == EventKind.HEADER
    return raw if is_header and isinstance(raw.get("schema_version"), int) else None


def words(command: Command | object) -> tuple[str, ...]:
    """Return a command as a list of words, whether it was recorded as a list or a text."""
    if isinstance(command, str):
        return (command,)
    return tuple(str(word) for word in command) if isinstance(command, list | tuple) else ()


def parse(line: bytes) -> Any:
    """Return the JSON value in a line; NaN and infinity are refused, because they are not valid JSON."""
    return json.loads(line, parse_constant=_refuse)


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
