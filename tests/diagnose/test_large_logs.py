"""A log of any size is read in one pass, and only what can matter of it is kept."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from coldfork.diagnose.explaining import explain, read_log
from coldfork.diagnose.logs.streaming import Signs, excerpt
from coldfork.diagnose.stories import registry
from tests.diagnose.corpus import CAPTURED, captured
from tests.diagnose.stories.test_wordings import ERRORS, LINES

pytestmark = pytest.mark.once

MEGABYTE = 1024 * 1024
LINE = b"INFO 09-30 18:32:41 [loggers.py:127] GPU KV cache usage: 1.2%, CUDA graphs, a fork, no error\n"
NOISE = LINE * (MEGABYTE // len(LINE))


class Parts(io.RawIOBase):
    """A stream that is made while it is read, so that the whole of it never is in memory."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview[int]) -> int:  # type: ignore[override]
        self._rest = self._rest or next(self._parts, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def stream(*parts: tuple[bytes, int]) -> io.BufferedReader:
    """These parts, each so many times."""
    return io.BufferedReader(Parts(part for part, count in parts for _ in range(count)))


@pytest.mark.must_hold
def test_a_story_in_the_middle_of_a_hundred_megabytes_is_found_at_its_line() -> None:
    said = captured("import_in_child-3.11.log").encode()
    log = read_log(stream((NOISE, 50), (said, 1), (NOISE, 50)), None)
    (story,) = explain([log]).stories
    first = NOISE.count(b"\n") * 50 + 1
    assert (story.evidence[0].line, story.evidence[0].text) == (first, "Process ForkProcess-1:")
    assert sum(len(line.text) for line in log.lines) < 6 * MEGABYTE


@pytest.mark.parametrize(
    "said",
    [
        *(error for error, _, _ in ERRORS),
        *(line for line, _ in LINES),
        "aten::mul.Tensor at decode.py:16 reads memory that nothing in the graph has written before",
        "Physical devices cannot be modified after being initialized",
        *(captured(file.name) for file in sorted(CAPTURED.glob("*.log"))),
    ],
)
def test_what_a_story_is_told_from_is_kept_of_a_large_log(said: str) -> None:
    assert registry.signs().stand_in(said.encode())


def test_of_too_many_signs_the_rest_is_left_out_and_told() -> None:
    said = captured("import_in_child-3.11.log").encode()
    kept = excerpt(stream((said, 30 * MEGABYTE // len(said))), Signs((b"Error",), (b"in forked subprocess",)))
    assert sum(len(passage.data) for passage in kept.passages) < 6 * MEGABYTE
    assert kept.left_out > 20 * MEGABYTE
    assert kept.size > 29 * MEGABYTE


def test_a_line_without_an_end_does_not_fill_the_memory() -> None:
    kept = excerpt(stream((b"x" * MEGABYTE, 40)), Signs())
    assert kept.size < 12 * MEGABYTE


def test_lines_are_numbered_across_what_was_left_out() -> None:
    end = b"the last line\n"
    kept = excerpt(stream((NOISE, 20), (end, 1)), Signs())
    last = kept.passages[-1]
    assert last.first + last.data.count(b"\n") - 1 == 20 * NOISE.count(b"\n") + 1
