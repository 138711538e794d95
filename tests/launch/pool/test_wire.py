"""The messages between a pool and a worker, as the kernel hands them over."""

from __future__ import annotations

import os

from coldfork.launch.plumbing import channel
from coldfork.launch.pool import wire


def test_what_was_sent_is_there_though_the_other_end_was_closed_with_something_unread() -> None:
    """As when a worker has given a large answer, and leaves at its next task with others unread."""
    ours, theirs = channel.pair()
    memory = os.memfd_create("answer")
    wire.send(ours, b"a task that nobody reads")
    wire.send(theirs, b"an answer", memory)
    os.close(memory)
    theirs.close()
    received = wire.receive(ours)
    assert received is not None
    content, arrived = received
    assert content == b"an answer"
    assert arrived >= 0
    os.close(arrived)
    assert wire.receive(ours) is None
    ours.close()


def test_nothing_more_comes_from_an_end_that_was_closed() -> None:
    ours, theirs = channel.pair()
    theirs.close()
    assert wire.receive(ours) is None
    ours.close()
