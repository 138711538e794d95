"""A client of the keeper: has a server start a script, or returns the reason why none can."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import socket
import stat
import sys
from contextlib import ExitStack, contextmanager

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.interpreter import own_interpreter, own_variables
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.linux.posix_spawn import spawn
from coldfork.launch.plumbing.loop import readable
from coldfork.launch.server.circumstances import Circumstances, inherited
from coldfork.launch.server.warm import protocol
from coldfork.launch.supervisor.client import Supervised
from coldfork.launch.supervisor.protocol import outside
from coldfork.model.errors import UsageError
from coldfork.observe.installation import ROOT
from coldfork.observe.recording.events import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from coldfork.launch.plumbing.channel import Message
    from coldfork.launch.server.warm.protocol import Wanted

IDLE_SECONDS = 1800.0
TRIES = 3
"""The number of keepers in a row that may turn out to have another version."""
PATIENCE = 5.0
"""How long to wait for a server before the script is started in the usual way."""


class Cold:
    """The answer that no server starts the script, and why."""

    def __init__(self, why: str) -> None:
        self.why = why


class Handover:
    """The job, descriptors and signal mask that a caller passes to a supervisor."""

    def __init__(
        self, job: Mapping[str, Any], mark: str, lock: int, given: int | None, mask: Iterable[int] | None
    ) -> None:
        self.job = job
        self.mark = mark
        self.lock = lock
        """The locked run directory."""
        self.given = given
        """The script's standard input if its output is captured; None passes on all three streams."""
        self.mask = mask
        """The signals that the script should block; None stands for those that this thread blocks."""


def attach(wanted: Wanted, handover: Handover) -> Supervised | Cold:
    """Have a server start a script with its modules already imported; if none can, return the reason."""
    obstacle = _obstacle(wanted, captured=handover.given is not None)
    if obstacle is not None:
        return Cold(obstacle)
    try:
        for _ in range(TRIES):
            attached = _asked(wanted, handover)
            if attached is not None:
                return attached
    except OSError as error:
        return Cold(f"cannot ask the keeper of warm servers: {error}")
    except UsageError as error:
        return Cold(str(error))
    return Cold("its installation is being replaced")


def _asked(wanted: Wanted, handover: Handover) -> Supervised | Cold | None:
    """Send one request; return None if the keeper has another version, and makes way for a new one."""
    given, mark, job = handover.given, handover.mark, handover.job
    captured = given is not None
    with connected() as connection, ExitStack() as opened:
        failed = opened.enter_context(ExitStack())
        ours, theirs = channel.pair()
        failed.callback(ours.close)
        opened.callback(theirs.close)
        held = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if handover.mask is None else handover.mask
        terms = {"captured": captured, "mask": list(map(int, held)), "caller": os.getpid()}
        variables = {outside(name): outside(value) for name, value in job["environment"].items()}
        plan = _held(opened, encode({**job, **terms}))
        circumstances = _held(opened, pickle.dumps(_circumstances(variables, held)))
        caller = os.pidfd_open(os.getpid())
        opened.callback(os.close, caller)
        streams = (0, 1, 2) if given is None else (given, theirs.fileno(), theirs.fileno())
        sent = [
            plan,
            circumstances,
            theirs.fileno(),
            handover.lock,
            caller,
            *streams,
            _held(opened, encode(facts(wanted))),
        ]
        numbers = [] if captured else list(_handed_on())
        message = {"is": "start", "version": protocol.PRESENT, "mark": mark, "numbers": numbers}
        channel.send(connection, message, [*sent, *numbers])
        answer = _answer(connection)
        if answer["is"] == "again":
            return None
        if answer["is"] != "ready":
            return Cold(answer["why"])
        channel.send(connection, {"is": "go"})
        failed.pop_all()
        return Supervised(answer["pid"], ours, mark, parent=False)


def facts(wanted: Wanted) -> dict[str, Any]:
    """Return the facts that decide which servers may start a script."""
    cwd = wanted.cwd or os.getcwd()
    return {
        "python": wanted.python,
        "modules": list(wanted.modules),
        "environment": dict(wanted.environment),
        "cwd": cwd,
        "folder": _folder(wanted.words, cwd),
        "inherited": inherited(),
    }


def _folder(words: Sequence[str], cwd: str) -> str | None:
    """Return the first entry of the script's import path; None if there is no script yet."""
    if not words:
        return None
    if words[0] == "-m":
        return cwd
    return words[0] if os.path.isdir(words[0]) else os.path.dirname(os.path.realpath(words[0]))


def _held(opened: ExitStack, content: bytes) -> int:
    descriptor = channel.holding("coldfork", content)
    opened.callback(os.close, descriptor)
    return descriptor


def _answer(connection: socket.socket) -> Message:
    if not readable([connection.fileno()], PATIENCE):
        return {"is": "cold", "why": f"no server answered within {PATIENCE:g} s"}
    received = channel.receive(connection)
    return {"is": "cold", "why": "its server has ended"} if received is None else received[0]


def _obstacle(wanted: Wanted, *, captured: bool) -> str | None:
    """Return why no server can start this script, as far as the caller knows; None if nothing prevents it."""
    if wanted.environment.get("COLDFORK_VIRTUAL"):
        return "a virtual device has to be installed before anything is imported"
    if not captured:
        for stream in range(3):
            if not _is_handed_on(stream):
                return f"standard stream {stream} is closed"
    return None


def _handed_on() -> Iterator[int]:
    """Yield the descriptors, other than standard streams, that a program started by this process inherits."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and _is_handed_on(number):
            yield number


def _is_handed_on(descriptor: int) -> bool:
    """Return whether programs started by this process inherit this descriptor; not so coldfork's own."""
    try:
        return os.get_inheritable(descriptor)
    except OSError:
        return False


def _circumstances(variables: Mapping[str, str], held: Iterable[int]) -> Circumstances:
    """Return the caller's circumstances, but with the environment and signals that the script should have."""
    made = Circumstances()
    made.environment = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
    made.streams = {}
    made.mask = set(map(int, held))
    # Python ignores these two signals from its start, and a process waiting for children needs SIGCHLD.
    made.ignored |= _bit(signal.SIGPIPE) | _bit(signal.SIGXFSZ)
    made.ignored &= ~_bit(signal.SIGCHLD)
    return made


def _bit(number: int) -> int:
    return 1 << (number - 1)


@contextmanager
def connected(*, idle: float | None = None) -> Iterator[socket.socket]:
    """Connect to this user's keeper, and start a keeper if none is listening."""
    folder = protocol.folder()
    connection = protocol.connect(folder)
    if connection is None:
        connection = _started(folder, IDLE_SECONDS if idle is None else idle)
    with connection:
        yield connection


def existing() -> socket.socket | None:
    """Connect to this user's keeper; None if none is listening."""
    return protocol.connect(protocol.folder())


def _started(folder: str, idle: float) -> socket.socket:
    """Start a keeper; its socket is made first, so that clients need not wait for the keeper."""
    lock = os.open(os.path.join(folder, protocol.LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = protocol.connect(folder)
        if connection is not None:
            return connection
        path = os.path.join(folder, protocol.SOCKET_FILE)
        if os.path.exists(path) and stat.S_ISSOCK(os.lstat(path).st_mode):
            # A killed keeper has left this socket behind.
            os.unlink(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(path)
            os.chmod(path, 0o600)
            listening.listen(64)
            _spawn(folder, idle, listening.fileno())
            connection = protocol.connect(folder)
        if connection is None:
            raise UsageError(f"cannot reach the keeper of warm servers in {folder}")
        return connection
    finally:
        os.close(lock)


def _spawn(folder: str, idle: float, listening: int) -> None:
    program = (
        f"import sys; sys.path.insert(0, {ROOT!r}); "
        f"from coldfork.launch.server.warm.keeper import main; main({folder!r}, {idle!r})"
    )
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        given = {0: nowhere, 1: nowhere, 2: nowhere, protocol.LISTENING: listening}
        command = [own_interpreter(sys.executable), "-I", "-S", "-X", "utf8", "-c", program]
        pid = spawn(command, own_variables(), given, own_session=True)
        # This child exits at once; the keeper, which it has forked, is not our child.
        kernel.reap(pid)
    finally:
        os.close(nowhere)
