"""Says in one line that too few descriptors are left, wherever starting a script comes to need one."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from coldfork.model.errors import ColdforkError

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
