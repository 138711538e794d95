"""What connects a pool with one of its workers: a socket for tasks, a pipe of permits, a pipe of answers."""

from __future__ import annotations

import os
from contextlib import ExitStack

from coldfork.launch.plumbing import channel
from coldfork.launch.pool.transport import wire


class Channels:
    """The pool's ends, and until it is started the worker's."""

    def __init__(self) -> None:
        with ExitStack() as opened:
            self.tasks, self.theirs = channel.pair()
            opened.callback(self.theirs.close)
            opened.callback(self.tasks.close)
            self.permits, self.permitting = _pipe(opened)
            self.permits_back = wire.reopened(self.permits)
            opened.callback(os.close, self.permits_back)
            self.answers, self.answering = _pipe(opened)
            os.set_blocking(self.answers, False)
            opened.pop_all()
        self.incoming = wire.Answers(self.answers)
        self._permits = True

    def permit_no_more(self) -> None:
        """The worker ends when it has done what it has permits for."""
        if self._permits:
            self._permits = False
            os.close(self.permitting)

    def hand_over(self) -> None:
        """Close the worker's ends, which it has by now, or never will."""
        self.theirs.close()
        os.close(self.permits)
        os.close(self.answering)

    def close(self) -> None:
        """Close the pool's ends."""
        self.permit_no_more()
        self.tasks.close()
        os.close(self.permits_back)
        os.close(self.answers)


def _pipe(opened: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe2(os.O_CLOEXEC)
    opened.callback(os.close, reading)
    opened.callback(os.close, writing)
    return reading, writing
