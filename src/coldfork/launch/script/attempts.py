"""The attempts at one script: each one's input, whether another follows, and shortages of descriptors."""

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
"""The outcomes after which another attempt makes sense.

After a cancellation no other attempt is wanted, and a lost script may have done anything.
"""


def warn(line: str) -> None:
    """Warn the user through logging if the program has configured it, else on standard error."""
    from logging import getLogger

    getLogger("coldfork").warning(line)


class Attempts:
    """The attempts at one script: those already made, and the number allowed."""

    def __init__(self, retries: int, tell: Callable[[str], object] = warn) -> None:
        given: object = retries
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise UsageError(f"retries has to be a whole number, 0 or more, not {retries!r}")
        self.most: int = retries + 1
        self.made: tuple[Mapping[str, Any], ...] = ()
        """How the earlier attempts ended, in the form in which reports list them."""
        self._tell = tell

    def goes_on(self, report: Report) -> bool:
        """Return whether another attempt follows the reported one; if so, announce it."""
        self.made = tuple(report.attempts or ())
        outcome = Outcome(report.outcome or Outcome.LOST)
        number = len(self.made)
        if outcome not in AGAIN or not 0 < number < self.most:
            return False
        said = how(outcome, report.status, report.signal, report.caps)
        seconds = report.seconds or 0.0
        self._tell(f"attempt {number} of {self.most} {said} after {seconds:.1f} s; running it again")
        return True


class StandardInput:
    """The input given to a script; every attempt reads it from its beginning."""

    def __init__(self, given: Given, *, again: bool = False) -> None:
        """`again` says whether the script may be run more than once."""
        self._content = _content(given)
        self._descriptor = None if given is None or self._content is not None else _descriptor(given)
        self._place: int | None = None
        if again and self._descriptor is not None:
            self._place = place(self._descriptor)
            if self._place is None:
                raise UsageError(
                    f"stdin={given!r} can be read only once, and retries may need it again: pass its "
                    "content instead"
                )

    def opened(self) -> int:
        """Return a new descriptor, positioned at the beginning of the input."""
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
    """Return a file's reading position; None if it has none, because it can be read only once."""
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def put_back(descriptor: int, place: int | None) -> None:
    """Set a file back to this reading position; do nothing if it has none."""
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
"""The system's errors when this process, or the whole system, may open no more files."""


def too_few(who: str) -> str:
    """Return a message about a process that may open no more files; it says what to do."""
    return (
        f"the script was not started: {who} may open no more files; close some, or raise the limit, for "
        "example with ulimit -n 1024"
    )


@contextmanager
def told_of_descriptors() -> Iterator[None]:
    """Turn the system's errors for a lack of descriptors into one that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in OUT_OF_DESCRIPTORS:
            raise
        raise ColdforkError(too_few("this process")) from None
