"""Descriptors that are closed, and their numbers used again, while a thread sees to what was ready."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from coldfork.launch.plumbing.loop import Loop

LIMIT = 60.0


@pytest.fixture(name="loop")
def _loop() -> Iterator[Loop]:
    loop = Loop(shared=True)
    yield loop
    loop.close()


def _full_pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.write(writing, b"x")
    return reading, writing


def test_what_can_be_read_is_seen_to(loop: Loop) -> None:
    pipe = _full_pipe()
    seen: list[int] = []
    loop.watch(pipe[0], lambda: seen.append(os.read(pipe[0], 1)[0]))
    loop.turn(LIMIT)
    assert seen == [ord("x")]
    loop.turn(0)
    assert seen == [ord("x")]
    for descriptor in pipe:
        os.close(descriptor)


def test_an_action_is_not_done_for_a_file_that_has_another_ones_number(loop: Loop) -> None:
    """Two are ready; the first closes the second, and another file takes its number."""
    pipes = [_full_pipe(), _full_pipe()]
    reading = [pipe[0] for pipe in pipes]
    quiet = os.pipe()
    done: list[str] = []

    def close_the_other(mine: int) -> None:
        other = next(descriptor for descriptor in reading if descriptor != mine)
        loop.forget(other)
        loop.forget(mine)
        os.dup2(quiet[0], other)
        loop.watch(other, lambda: done.append("what was never ready"))
        done.append("one")

    for descriptor in reading:
        loop.watch(descriptor, lambda mine=descriptor: close_the_other(mine))  # type: ignore[misc]
    loop.turn(LIMIT)
    assert done == ["one"]
    loop.turn(0)
    assert done == ["one"]
    for descriptor in {*pipes[0], *pipes[1], *quiet}:
        os.close(descriptor)


def test_a_stream_is_not_taken_for_the_one_that_had_its_number(loop: Loop) -> None:
    reading, writing = _full_pipe()
    first: list[Any] = []
    second: list[Any] = []

    def old() -> None:
        first.append(os.read(reading, 1))

    def new() -> None:
        second.append(os.read(reading, 1))

    loop.watch(reading, old)
    loop.forget(reading)
    loop.watch(reading, new)
    loop.forget(reading, old)
    loop.turn(LIMIT)
    assert (first, second) == ([], [b"x"])
    os.close(reading)
    os.close(writing)


def test_a_descriptor_may_be_added_while_a_thread_waits(loop: Loop) -> None:
    reading, writing = os.pipe()
    seen = threading.Event()
    thread = threading.Thread(target=loop.turn, args=(LIMIT,))
    thread.start()
    loop.watch(reading, seen.set)
    os.write(writing, b"x")
    thread.join()
    assert seen.is_set()
    os.close(reading)
    os.close(writing)
