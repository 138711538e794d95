"""Reads a log: turns its bytes into lines of processes, errors and dumped stacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from coldfork.diagnose.logs import dumps, tears, tracebacks
from coldfork.diagnose.logs.layers import peeled
from coldfork.diagnose.logs.records import Log, LogLine, Speaker, Stack
from coldfork.diagnose.logs.streaming import Excerpt, Passage, Signs, excerpt


def read(stream: BinaryIO, name: str | None, signs: Signs) -> Log:
    """Read a log; of a large one, only the parts around the stories' signs."""
    kept = excerpt(stream, signs)
    if kept.binary:
        return Log(name, (), (), (), ("it is not text: most of it is not made of lines",))
    if not kept.size:
        return Log(name, (), (), (), ("it is empty",))
    lines, torn = tears.separated(line for passage in _joined(kept.passages) for line in _lines(passage))
    spoken = _by_speaker(lines)
    errors = sorted(
        (error for said in spoken for error in tracebacks.errors(said)), key=lambda error: error.line_number
    )
    dumped = [stack for said in spoken for stack in dumps.stacks(said)]
    # A dump looks like a truncated traceback, so its calls are left out.
    known = {call.line_number for stack in dumped for call in stack.frames}
    errors = [error for error in errors if error.kind or error.frames[-1].line_number not in known]
    if torn:
        errors = list(tears.reunited(errors))
    turned = [stack for error in errors if (stack := dumps.upside_down(error)) is not None]
    found = sorted((*dumped, *turned), key=_place)
    return Log(name, lines, tuple(errors), tuple(found), _remarks(kept), kept.passages, _all(lines), torn)


def _all(lines: Iterable[LogLine]) -> str:
    return "\n".join(line.text for line in lines)


def _place(stack: Stack) -> int:
    return stack.line_number


def _remarks(kept: Excerpt) -> tuple[str, ...]:
    if not kept.left_out:
        return ()
    size = kept.left_out // (1024 * 1024) or 1
    return (f"{size} MB in its middle were not read: they hold too many signs of failures",)


def _joined(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Yield the passages, with adjoining ones joined."""
    current: Passage | None = None
    for passage in passages:
        if current is not None and current.first + current.data.count(b"\n") == passage.first:
            current = Passage(current.first, current.data + passage.data)
            continue
        if current is not None:
            yield current
        current = passage
    if current is not None:
        yield current


def _lines(passage: Passage) -> list[LogLine]:
    text = passage.data.decode("utf-8", "replace")
    return peeled(enumerate(text.split("\n"), passage.first))


def _by_speaker(lines: Iterable[LogLine]) -> tuple[tuple[LogLine, ...], ...]:
    spoken: dict[Speaker, list[LogLine]] = {}
    for line in lines:
        spoken.setdefault(line.speaker, []).append(line)
    return tuple(tuple(said) for said in spoken.values())
