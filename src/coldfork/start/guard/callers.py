"""Who is about to fork: forks that run another program at once pass, and a warning names the user's line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_OURS = "coldfork.start.guard"

FORK_THEN_EXEC = frozenset(
    {
        # Lib/os.py: spawnv and its seven sisters fork, and the child calls exec or _exit.
        ("os", "_spawnvef"),
        # Lib/pty.py: the child of forkpty calls execlp.
        ("pty", "spawn"),
        # Lib/http/server.py, until Python 3.14: the child calls execve on the script.
        ("http.server", "run_cgi"),
        # ptyprocess/ptyprocess.py, under pexpect and IPython's `!`: the child calls execv or execvpe.
        ("ptyprocess.ptyprocess", "spawn"),
        # gunicorn/arbiter.py: the child of SIGUSR2 calls execvpe; its workers are forks like any other.
        ("gunicorn.arbiter", "reexec"),
    }
)
"""Functions whose forked child runs another program at once, and so inherits nothing but files."""

_NEAR = 2
"""So many frames are looked at: the caller of the fork, and for `pty.fork` the caller of that."""

_MACHINERY = ("coldfork.start", "concurrent.futures", "multiprocessing", "os", "pty", "threading")
"""Modules through which others fork; a warning points past them."""


def caller_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not the guard's own; None where a thread began in `os.fork` itself."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    return frame


def runs_a_program(frame: FrameType) -> bool:
    """Whether the fork is one of those that run another program at once."""
    at: FrameType | None = frame
    for _ in range(_NEAR):
        if at is None:
            return False
        if (at.f_globals.get("__name__"), at.f_code.co_name) in FORK_THEN_EXEC:
            return True
        at = at.f_back
    return False


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of a program that knows nothing of forks: the line that wanted a process."""
    at = frame
    while at is not None:
        name = str(at.f_globals.get("__name__", ""))
        if not any(name == machine or name.startswith(machine + ".") for machine in _MACHINERY):
            return at
        at = at.f_back
    return frame
