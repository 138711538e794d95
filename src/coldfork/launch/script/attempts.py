"""Attempts at one script: what each reads, which is followed by another, and too few descriptors told."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

from coldfork.launch.script.outcome import Outcome, how
from coldfork.launch.supervisor import client
from coldfork.model.errors import ColdforkError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO, Any

    from coldfork.launch.supervisor.report_file import Report

    Given = bytes | str | int | IO[Any] | None
    """Bytes, a text, an open file or its descriptor; None for nothing."""

AGAIN = frozenset({Outcome.FAILED, Outcome.KILLED, Outcome.TIMED_OUT, Outcome.OVER_MEMORY, Outcome.OVER_CPU})
"""Whoever cancels a script wants no other attempt, and of one that was lost nobody knows what it has done."""


def warn(line: str) -> None:
    """Say something to whoever runs this program: on standard error, unless it has set up logging."""
    from logging import getLogger

    getLogger("coldfork").warning(line)


class Attempts:
    """The attempts at one script."""

    def __init__(self, retries: int, tell: Callable[[str], object] = warn) -> None:
        given: object = retries
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise UsageError(f"retries is how often a script may be run again, and not {retries!r}")
        self.most: int = retries + 1
        self.made: tuple[Mapping[str, Any], ...] = ()
        """How those before ended, as reports list them."""
        self._tell = tell

    def goes_on(self, report: Report) -> bool:
        """Whether there is another attempt after the one of this report; if so, it has been said."""
        self.made = tuple(report.attempts or ())
        outcome = Outcome(report.outcome or Outcome.LOST)
        number = len(self.made)
        if outcome not in AGAIN or not 0 < number < self.most:
            return False
        said = how(outcome, report.status, report.signal, report.caps)
        seconds = report.seconds or 0.0
        self._tell(f"attempt {number} of {self.most} {said} after {seconds:.1f} s; again")
        return True


class StandardInput:
    """What somebody gave a script to read, which every attempt at it reads from the same place on."""

    def __init__(self, given: Given, *, again: bool = False) -> None:
        """`again` says that there may be more than one attempt."""
        self._content = _content(given)
        self._descriptor = None if given is None or self._content is not None else _descriptor(given)
        self._place: int | None = None
        if again and self._descriptor is not None:
            self._place = place(self._descriptor)
            if self._place is None:
                raise UsageError(
                    f"stdin={given!r} can be read only once, and retries may need it again; read it, and "
                    "give what was read"
                )

    def opened(self) -> int:
        """A descriptor of ours, at the beginning of what is to be read."""
        if self._content is not None:
            return client.input_of(self._content)
        if self._descriptor is None:
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        put_back(self._descriptor, self._place)
        try:
            return os.dup(self._descriptor)
        except OSError:
            raise _unreadable(self._descriptor) from None


def place(descriptor: int) -> int | None:
    """Where a file is being read; None for what can be read only once."""
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def put_back(descriptor: int, place: int | None) -> None:
    """Have a file read from there again."""
    if place is not None:
        os.lseek(descriptor, place, os.SEEK_SET)


def _content(given: Given) -> bytes | None:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogateescape")
    return bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None


def _descriptor(given: object) -> int:
    try:
        return given if isinstance(given, int) else int(given.fileno())  # type: ignore[attr-defined]
    except (OSError, AttributeError, ValueError):
        raise _unreadable(given) from None


def _unreadable(given: object) -> UsageError:
    return UsageError(
        f"stdin={given!r} cannot be read from: give bytes, a text, an open file or its descriptor"
    )


OUT_OF_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})
"""What the system says when this process, or all of them together, may open no more files."""


def too_few(who: str) -> str:
    """That somebody had too few, and what is to be done."""
    return (
        f"the script was not started: {who} may open no more files; close some, or raise the limit, as with "
        "ulimit -n 1024"
    )


@contextmanager
def told_of_descriptors() -> Iterator[None]:
    """Turn what the system says when there are no more into an error that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in OUT_OF_DESCRIPTORS:
            raise
        raise ColdforkError(too_few("this process")) from None
