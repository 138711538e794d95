"""Starts the supervisor of a script, hears from it and tells it to end the script.

The supervisor is `supervisor.main`, in an interpreter of its own. What is here knows nothing of event
loops: who has one waits for the socket himself.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, suppress

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.supervisor.protocol import CONTROL, LOCK, LONGEST, MARK, PLAN
from coldfork.model.errors import UsageError
from coldfork.observe.installation import ROOT
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Mapping
    from typing import Any

_PROGRAM = (
    f"import sys; sys.path.insert(0, {ROOT!r}); from coldfork.launch.supervisor.main import main; main()"
)
_LAST_SECONDS = 5.0
"""How long a supervisor that has said its last word may take to end."""


class Supervised:
    """A script that a supervisor of ours takes care of."""

    def __init__(self, pid: int, ours: socket.socket, mark: str, *, parent: bool = True) -> None:
        """`parent` says whether the supervisor is a child of this process, which has to wait for it then."""
        self.pid = pid
        """The supervisor's pid; where the output is captured, also the script's group and session."""
        self.socket = ours
        self.parent = parent
        self._mark = mark
        self._home = os.getpid()

    def end(self, why: str) -> None:
        """Ask for the script's end: first politely, then after its grace."""
        self._say(f"end {why}")

    def kill(self, why: str) -> None:
        """Have the script and all it started killed at once."""
        self._say(f"kill {why}")

    def hand_on(self, number: int) -> None:
        """Send the script a signal."""
        self._say(f"signal {number}")

    def heard(self, message: bytes) -> dict[str, Any]:
        """One message of the supervisor; what is none is what Python said when it failed."""
        try:
            decoded = decode(message.decode("utf-8", "backslashreplace"))
        except ValueError:
            decoded = None
        if isinstance(decoded, dict) and "is" in decoded:
            return decoded
        return {"is": "trouble", "text": message.decode("utf-8", "backslashreplace")}

    def receive(self) -> dict[str, Any] | None:
        """The next message, waiting for it; None when the supervisor is gone."""
        try:
            message = self.socket.recv(LONGEST)
        except ConnectionResetError:
            return None
        return self.heard(message) if message else None

    def leave(self, *, captured: bool, ended: bool) -> int | None:
        """Let the supervisor go, which has nothing more to say; the status it left.

        `ended` says whether it has said its last: then there is nothing it could still do.
        """
        if os.getpid() == self._home and not self.parent:
            self._until_gone()
        self.socket.close()
        if os.getpid() != self._home or not self.parent:
            return None
        if captured:
            # While it is not yet waited for, no other group can have its number.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        elif ended:
            # It is about to end, unless somebody stops it now.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:
            return None

    def _until_gone(self) -> None:
        """Wait until a supervisor has ended that nobody can wait for: the kernel closes its end then."""
        self.socket.settimeout(_LAST_SECONDS)
        with suppress(OSError):
            while self.socket.recv(LONGEST):
                pass

    def clear_away(self) -> None:
        """Kill what the script started and nobody takes care of any more."""
        kernel.end_marked(MARK, {self._mark})

    def _say(self, words: str) -> None:
        if os.getpid() == self._home:
            with suppress(OSError):
                self.socket.send(words.encode("ascii"))


def require_supervision(what: str) -> None:
    """Refuse where scripts cannot be supervised."""
    if not kernel.supported():
        raise UsageError(
            f"{what} needs Linux with /proc, because it adopts and ends what a script leaves behind; "
            f"this is {sys.platform}"
        )


def start(
    python: str,
    plan: Mapping[str, Any],
    mark: str,
    lock: int,
    given: int | None,
    mask: Iterable[int] | None = None,
) -> Supervised:
    """Start a supervisor that starts the script. `lock` is the locked run directory.

    `given` is the descriptor that it reads from, beside two pipes; None leaves it all three of our streams.
    `mask` are the signals that the script is to hold back; without it, those that this thread does.
    """
    from coldfork.launch.plumbing import channel
    from coldfork.launch.plumbing.interpreter import own_variables
    from coldfork.launch.plumbing.linux.posix_spawn import spawn

    captured = given is not None
    ours, theirs = channel.pair()
    with ExitStack() as opened:
        failed = opened.enter_context(ExitStack())
        failed.callback(ours.close)
        opened.callback(theirs.close)
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if mask is None else mask
        terms = {"captured": captured, "mask": list(map(int, held)), "caller": os.getpid()}
        memory = channel.holding("coldfork", encode({**plan, **terms}))
        opened.callback(os.close, memory)
        wanted = {CONTROL: theirs.fileno(), PLAN: memory, LOCK: lock}
        if given is not None:
            wanted |= {0: given, 1: theirs.fileno(), 2: theirs.fileno()}
        command = [python, "-I", "-S", "-X", "utf8", "-c", _PROGRAM]
        try:
            pid = spawn(command, own_variables(), wanted, own_session=captured)
        except OSError as error:
            if error.filename is None:
                # This process has no descriptors left, which is told in other words.
                raise
            raise UsageError(f"cannot start {python}: {error.strerror}") from None
        failed.pop_all()
    return Supervised(pid, ours, mark)


def input_of(given: bytes) -> int:
    """A descriptor that reads these bytes: nobody has to feed a pipe, and nothing lies on a disk."""
    from coldfork.launch.plumbing import channel

    return channel.holding("stdin", given)
