"""Start the supervisor of a script, read its messages, and ask it to end the script.

The supervisor is `supervisor.main`, in an interpreter of its own. This module does not depend on event loops:
a caller that has one watches the socket itself.
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
"""How long a supervisor that has sent its last message may take to end."""


class Supervised:
    """A script under a supervisor that this process started."""

    def __init__(self, pid: int, ours: socket.socket, mark: str, *, parent: bool = True) -> None:
        """`parent` says whether the supervisor is a child of this process, which must then reap it."""
        self.pid = pid
        """The supervisor's pid; if the output is captured, also the number of the script's group and session.
        """
        self.socket = ours
        self.parent = parent
        self._mark = mark
        self._home = os.getpid()

    def end(self, why: str) -> None:
        """Ask the supervisor to end the script: politely, then by force after the grace period."""
        self._say(f"end {why}")

    def kill(self, why: str) -> None:
        """Have the script and all its processes killed at once."""
        self._say(f"kill {why}")

    def hand_on(self, number: int) -> None:
        """Have the supervisor send the script a signal."""
        self._say(f"signal {number}")

    def heard(self, message: bytes) -> dict[str, Any]:
        """Decode a message of the supervisor; text that is no message is an error message of its Python."""
        try:
            decoded = decode(message.decode("utf-8", "backslashreplace"))
        except ValueError:
            decoded = None
        if isinstance(decoded, dict) and "is" in decoded:
            return decoded
        return {"is": "trouble", "text": message.decode("utf-8", "backslashreplace")}

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None if the supervisor is gone."""
        try:
            message = self.socket.recv(LONGEST)
        except ConnectionResetError:
            return None
        return self.heard(message) if message else None

    def leave(self, *, captured: bool, ended: bool) -> int | None:
        """Release the supervisor after its messages have been read; return its exit status, or None if
        unknown.

        `ended` says whether its last message has come, so that it has nothing left to do.
        """
        if os.getpid() == self._home and not self.parent:
            self._until_gone()
        self.socket.close()
        if os.getpid() != self._home or not self.parent:
            return None
        if captured:
            # The group's number cannot be reused before the supervisor is reaped.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        elif ended:
            # The supervisor is about to end. Kill it all the same, because a stopped process would not end by
            # itself.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        try:
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:
            return None

    def _until_gone(self) -> None:
        """Wait until a supervisor that is not our child has ended; its end of the socket is closed then."""
        self.socket.settimeout(_LAST_SECONDS)
        with suppress(OSError):
            while self.socket.recv(LONGEST):
                pass

    def clear_away(self) -> None:
        """Kill the processes of the script that no supervisor looks after any more."""
        kernel.end_marked(MARK, {self._mark})

    def _say(self, words: str) -> None:
        if os.getpid() == self._home:
            with suppress(OSError):
                self.socket.send(words.encode("ascii"))


def require_supervision(what: str) -> None:
    """Raise an error if scripts cannot be supervised on this system."""
    if not kernel.supported():
        raise UsageError(
            f"{what} needs Linux with /proc, to end the processes that a script leaves behind; this is "
            f"{sys.platform}"
        )


def start(
    python: str,
    plan: Mapping[str, Any],
    mark: str,
    lock: int,
    given: int | None,
    mask: Iterable[int] | None = None,
) -> Supervised:
    """Start a supervisor, which starts the script. `lock` is the descriptor of the locked run directory.

    `given` is the descriptor from which the script reads, and two pipes take its output; with None the script
    gets our own three streams. `mask` contains the signals that the script should block: by default those
    that this thread blocks.
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
                # This process has run out of descriptors, which the caller reports.
                raise
            raise UsageError(f"cannot start {python}: {error.strerror}") from None
        failed.pop_all()
    return Supervised(pid, ours, mark)


def input_of(given: bytes) -> int:
    """Return a descriptor from which these bytes can be read: a memory file, neither a pipe nor a file on
    disk.
    """
    from coldfork.launch.plumbing import channel

    return channel.holding("stdin", given)
