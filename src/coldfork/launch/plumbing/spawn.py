"""Start a program as a child that dies with this process, and report why the system refused to start it."""

from __future__ import annotations

import os
from _signal import SIG_DFL, SIGPIPE, SIGXFSZ, signal

from coldfork.launch.plumbing.linux import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn


class Refused(Exception):
    """The system refused to start a program."""

    def __init__(self, what: str, errno: int) -> None:
        super().__init__(what, errno)
        self.what = what
        """The thing that was refused: `program` or `cwd`."""
        self.errno = errno


def start(
    program: str,
    words: list[str],
    environment: Mapping[str, str],
    prepare: Callable[[], object],
    die_with_us: Callable[[], object],
) -> int:
    """Fork and execute a program in the child; return its pid, or raise `Refused`.

    `prepare` is called in the child just before the exec, and may also raise `Refused`.
    """
    reading, writing = os.pipe()
    us = os.getpid()
    child = os.fork()
    if child == 0:
        _become(program, words, environment, prepare, die_with_us, writing, us)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    if said:
        kernel.reap(child)
        what, _, number = said.decode("ascii").partition(" ")
        raise Refused(what, int(number))
    return child


def _become(
    program: str,
    words: list[str],
    environment: Mapping[str, str],
    prepare: Callable[[], object],
    die_with_us: Callable[[], object],
    answer: int,
    parent: int,
) -> NoReturn:
    try:
        die_with_us()
        if os.getppid() != parent:
            os._exit(1)
        for number in (SIGPIPE, SIGXFSZ):
            # Python ignores these signals, and another program would inherit that.
            signal(number, SIG_DFL)
        prepare()
        os.execve(program, words, environment)
    except Refused as refused:
        os.write(answer, f"{refused.what} {refused.errno}".encode("ascii"))
    except OSError as error:
        os.write(answer, f"program {error.errno}".encode("ascii"))
    finally:
        os._exit(127)
