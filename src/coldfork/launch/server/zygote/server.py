"""The server: it imports modules, checks that it is clean, and forks workers on request.

It is started by exec and has one thread. It always keeps one worker forked in advance, the spare, which
itself waits for a request, so that a new worker is there as soon as it is needed. The caller's workers are
the caller's own children. Workers that the caller's children request are the server's children: it waits for
them, reports how they ended, and ends them when the process that requested them ends. When the caller dies,
the server ends all these processes, and itself.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import resource
import socket
import sys
from _signal import (
    SIG_DFL,
    SIG_SETMASK,
    SIGCONT,
    SIGIO,
    SIGKILL,
    pthread_sigmask,
    signal,
)
from contextlib import nullcontext
from time import monotonic, time_ns

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.linux.sibling_fork import SiblingFork
from coldfork.launch.plumbing.loop import Loop, readable
from coldfork.launch.plumbing.streams import close_above, fill_closed_streams, let_go_of_streams
from coldfork.launch.server import preloading, reads, variables
from coldfork.launch.server.circumstances import Circumstances
from coldfork.launch.server.preloading import Preload, freeze, settle
from coldfork.launch.server.renewal import ThreadLimits
from coldfork.launch.server.zygote.worker import Kit, serve, work
from coldfork.observe.recording.events import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from coldfork.launch.plumbing.channel import Message

STATUS = 3
"""The socket to the caller for reports on the server; when it closes, the server is not needed any more."""
REQUESTS = 4
"""The socket on which the spare receives the caller's requests."""
ERRANDS = 5
"""The socket on which the server receives requests from the caller's children."""
CALLER = 6
"""The pidfd of the caller."""
PLAN = 7
ASKING = 8
"""The other end of ERRANDS, which workers get."""
DESCRIPTORS = (STATUS, REQUESTS, ERRANDS, CALLER, PLAN, ASKING)
_MOST_LOST = 5
"""The number of spares in a row that may die before they are asked for anything."""
_LAST_SECONDS = 2.0
_SET_DEATH_SIGNAL = 1


class Server:
    """One server, running in its own process."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan = plan
        self._terms = plan["terms"]
        self._status = socket.socket(fileno=STATUS)
        self._requests = socket.socket(fileno=REQUESTS)
        self._errands = socket.socket(fileno=ERRANDS)
        self._asking = socket.socket(fileno=ASKING)
        self._control = kernel.process_control()
        self._loop = Loop()
        self._spare = 0
        """The worker that waits for a request."""
        self._beginner = 0
        """The worker that has a request and is not yet ready."""
        self._lost = 0
        self._living: dict[int, int] = {}
        """The workers by their pidfds."""
        self._replies: dict[int, socket.socket] = {}
        """The socket on which each child of this process has its end reported."""
        self._taken, self._taking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._siblings: SiblingFork | None = None
        self._kit: Kit | None = None
        self._files: dict[str, reads.Mark] = {}
        """The files that were imported for the caller, each with its version."""
        self._overtaken: str | None = None
        """An imported file that was written during its import."""

    def run(self) -> None:
        """Import, check and serve until the caller is gone or needs no more workers; report any other end."""
        try:
            self._run()
        except Exception as error:
            self._tell({"is": "trouble", "text": f"{type(error).__name__}: {error}"})
            os._exit(1)

    def _run(self) -> None:
        self._begin()
        plan = self._plan
        began, there = time_ns(), frozenset(sys.modules)
        preload = Preload(plan["modules"], plan["main"], plan["suspect"])
        preload.load(lambda module: self._tell({"is": "importing", "module": module}), nullcontext())
        if preload.stained or (preload.faults and not self._plan["forgiving"]):
            # First kill the leftover processes, because the reader of this report will end this process.
            kernel.end_marked(variables.MARK, {self._plan["mark"]})
            self._tell({"is": "unfit", "faults": preload.faults})
            return
        # Recorded before any fork, so that all forked processes have the marks.
        self._files = reads.noted(reads.files_of_modules(there))
        self._overtaken = reads.changed_since(began, self._files)
        self._settle(preload)
        self._tell(
            {
                "is": "ready",
                "made": preload.made.variables,
                "siblings": self._siblings is not None,
                "imported": preload.readers,
                "faults": preload.faults,
            }
        )
        while True:
            self._loop.turn()

    def _begin(self) -> None:
        """Make sure that even a slow import ends if the caller does."""
        self._control(_SET_DEATH_SIGNAL, int(SIGKILL if self._plan["tied"] else SIGCONT), 0, 0, 0)
        fcntl.fcntl(STATUS, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(STATUS, fcntl.F_SETFL, fcntl.fcntl(STATUS, fcntl.F_GETFL) | os.O_ASYNC)
        if os.getppid() != self._plan["caller"]:
            sys.exit()
        for module in self._plan["ready"]:
            # coldfork's own modules are imported before the caller's path can hide modules that they need.
            __import__(module)
        sys.path[:] = self._plan["path"]
        sys.argv[:] = self._plan["arguments"]
        # When the caller's socket closes, the kernel sends SIGIO, which kills this process whatever the
        # caller set.
        signal(SIGIO, SIG_DFL)
        pthread_sigmask(SIG_SETMASK, set(self._plan["mask"]) - {int(SIGIO)})

    def _settle(self, preload: Preload) -> None:
        """Prepare for forking; from here on, nothing is imported."""
        # SIGCONT wakes a stopped server, which then notices that its caller has died.
        self._control(_SET_DEATH_SIGNAL, int(SIGCONT), 0, 0, 0)
        fcntl.fcntl(STATUS, fcntl.F_SETFL, fcntl.fcntl(STATUS, fcntl.F_GETFL) & ~os.O_ASYNC)
        interrupt = settle()
        let_go_of_streams()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._kit = Kit(
            mark=self._plan["mark"],
            tied=self._plan["tied"],
            interrupt=interrupt,
            limits=ThreadLimits(),
            circumstances=pickle.dumps(Circumstances()),
            asking=self._asking,
            control=self._control,
            terms={**self._terms, "imported": preload.readers, "made": preload.made.variables},
            made=preload.made,
            seeds=tuple(self._terms.get("seeds", ())),
        )
        try:
            self._siblings = SiblingFork()
        except OSError:
            # Without sibling forks, workers are children of this server, which reports their ends.
            self._siblings = None
        self._loop.watch(CALLER, self._end_all)
        self._loop.watch(STATUS, self._close)
        self._loop.watch(ERRANDS, self._errand)
        freeze()
        if self._siblings is not None:
            # Handle this before the ends of processes: a spare that was taken and has then ended was not
            # lost.
            self._loop.watch(self._taken, self._note_taken)
            self._keep_spare()

    def _off(self, descriptor: int) -> None:
        self._loop.forget(descriptor)
        os.close(descriptor)

    def _tell(self, message: Message) -> None:
        try:
            channel.send(self._status, message)
        except OSError:
            # The caller is gone, which another handler notices.
            pass

    def _keep_spare(self) -> None:
        """Fork the next worker in advance."""
        assert self._siblings is not None
        self._beginner = 0
        self._loop.forget(REQUESTS)

        def live(kit: Kit) -> NoReturn:
            self._errands.close()
            serve(self._status, self._requests, self._taking, kit)

        self._spare = self._living[self._fork(self._siblings.fork, live)]

    def _fork(self, how: Callable[[], int], live: Callable[[Kit], NoReturn]) -> int:
        """Fork a process that runs `live`, and watch for its end; return the process's pidfd."""
        assert self._kit is not None
        pid = preloading.fork(how)
        if pid == 0:
            try:
                self._let_go()
                live(self._kit)
            finally:
                os._exit(1)
        process = os.pidfd_open(pid)
        self._living[process] = pid
        self._loop.watch(process, lambda: self._ended(process))
        return process

    def _let_go(self) -> None:
        """In a forked child, close the server's descriptors, except its sockets."""
        for reply in self._replies.values():
            reply.close()
        for descriptor in {self._taken, *self._loop.watched()} - {STATUS, REQUESTS, ERRANDS}:
            os.close(descriptor)

    def _note_taken(self) -> None:
        """Record that the spare has a request; fork the next one when it has finished its preparation."""
        for pid in memoryview(os.read(self._taken, 4096)).cast("i"):
            if pid == self._spare:
                self._spare, self._beginner, self._lost = 0, pid, 0
                # If another request comes earlier, fork the next spare at once.
                self._loop.watch(REQUESTS, self._keep_spare)
            elif pid == self._beginner:
                self._keep_spare()

    def _ended(self, process: int) -> None:
        pid = self._living.pop(process)
        self._off(process)
        if pid == self._beginner:
            self._keep_spare()
        if pid == self._spare:
            self._tell({"is": "lost", "pid": pid})
            self._lost += 1
            if self._lost > _MOST_LOST:
                os._exit(1)
            self._keep_spare()

    def _errand(self) -> None:
        """Fork a worker as the server's own child, for a caller that cannot be the worker's parent."""
        received = channel.receive(self._errands)
        if received is None:
            return
        message, descriptors = received
        reply = socket.socket(fileno=descriptors[0])
        if message["is"] == "changes":
            with reply:
                _answer(reply, {"path": self._overtaken or reads.changed(self._files)})
            return
        caller = descriptors[2]

        def live(kit: Kit) -> NoReturn:
            for one in (self._status, self._requests, self._errands):
                one.close()
            os.close(self._taking)
            work(message, descriptors, kit, child_of_server=True)

        process = self._fork(os.fork, live)
        for descriptor in (descriptors[1], *descriptors[3:]):
            os.close(descriptor)
        self._replies[reply.fileno()] = reply
        self._loop.watch(process, lambda: self._reap(process, reply, caller))
        self._loop.watch(caller, lambda: self._orphaned(process, caller))
        if not _answer(reply, {"pid": self._living[process]}):
            self._orphaned(process, caller)

    def _reap(self, process: int, reply: socket.socket, caller: int) -> None:
        """Report how a worker ended that is the server's own child."""
        pid = self._living.pop(process)
        self._off(process)
        if caller in self._loop.watched():
            self._off(caller)
        _, status = os.waitpid(pid, 0)
        _answer(reply, {"status": os.waitstatus_to_exitcode(status)})
        del self._replies[reply.fileno()]
        reply.close()

    def _orphaned(self, process: int, caller: int) -> None:
        """Kill a worker if the process that requested it has died or given up."""
        self._off(caller)
        pid = self._living[process]
        kernel.signal_all([*kernel.descendants(pid), pid], SIGKILL)

    def _close(self) -> NoReturn:
        """End the server because its caller's socket has closed: the caller is dying, or now runs another
        program.

        The files of a dying process are closed a moment before its death can be seen.
        """
        if readable([CALLER], _LAST_SECONDS / 4):
            self._end_all()
        kernel.signal_all([self._spare] if self._spare else [], SIGKILL)
        os._exit(0)

    def _end_all(self) -> NoReturn:
        """Kill all processes that descend from the dead caller's workers, and end the server."""
        workers = list(self._living.values())
        below = [descendant for worker in workers for descendant in kernel.descendants(worker)]
        kernel.signal_all([*below, *workers], SIGKILL)
        until = monotonic() + _LAST_SECONDS
        while kernel.end_marked(variables.MARK, {self._plan["mark"]}) and monotonic() < until:
            pass
        os._exit(0)


def _answer(reply: socket.socket, message: Message) -> bool:
    """Send an answer; return False if there is no reader."""
    try:
        channel.send(reply, message)
    except OSError:
        return False
    return True


def main() -> None:
    """Run the server described by its plan."""
    fill_closed_streams()
    close_above(max(DESCRIPTORS))
    for descriptor in DESCRIPTORS:
        os.set_inheritable(descriptor, False)
    with os.fdopen(PLAN, "rb") as stream:
        plan = decode(stream.read().decode("ascii"))
    nowhere = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    Server(plan).run()
