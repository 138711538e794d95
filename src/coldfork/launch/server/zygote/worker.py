"""A worker: it takes over its caller's circumstances, and runs a `multiprocessing` process in them."""

from __future__ import annotations

import atexit
import os
import pickle
import socket
import sys
from contextlib import suppress
from multiprocessing import process, resource_tracker, spawn, util

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux.kernel import die_with_parent
from coldfork.launch.server import renewal, variables
from coldfork.launch.server.zygote.handle import Zygote
from coldfork.launch.server.zygote.processes import Arrived, register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from coldfork.launch.plumbing.channel import Message
    from coldfork.launch.server.circumstances import Circumstances
    from coldfork.launch.server.renewal import ThreadLimits
    from coldfork.launch.server.variables import Made

_STREAMS = (0, 1, 2)


class Kit:
    """The settings and objects that a worker gets from its server."""

    def __init__(
        self,
        *,
        mark: str,
        tied: bool,
        interrupt: object,
        limits: ThreadLimits,
        circumstances: bytes,
        asking: socket.socket,
        control: Callable[..., int],
        terms: dict[str, Any],
        made: Made,
        seeds: tuple[str, ...],
    ) -> None:
        self.mark = mark
        self.tied = tied
        """Whether the death of its parent may kill it: only if the parent's main thread started the server.
        """
        self.interrupt = interrupt
        """The handler of SIGINT at the time when the server had imported everything."""
        self.limits = limits
        """The functions that set the sizes of its libraries' thread pools."""
        self.circumstances = circumstances
        """The server's own circumstances, in the form in which a caller sends them."""
        self.asking = asking
        """The connection to the server, for workers that this worker requests."""
        self.control = control
        self.terms = terms
        """The terms of the server, in case the worker has to start another one."""
        self.made = made
        """The changes that the imports have made to the environment."""
        self.seeds = seeds
        """The generators that are seeded besides the usual ones."""


def serve(status: socket.socket, requests: socket.socket, taking: int, kit: Kit) -> NoReturn:
    """Wait for the caller's next request, and do its work."""
    if kit.tied:
        die_with_parent(kit.control)
    # The worker sends this itself, so that its parent hears of it even if the server is killed right now.
    with status:
        channel.send(status, {"is": "spare", "pid": os.getpid()})
    _get_ready(kit)
    while True:
        received = channel.receive(requests)
        if received is None:
            os._exit(0)
        message, descriptors = received
        try:
            with socket.socket(fileno=os.dup(descriptors[0])) as reply:
                channel.send(reply, {"pid": os.getpid()})
            break
        except OSError:
            # The caller has given up meanwhile.
            for descriptor in descriptors:
                os.close(descriptor)
    requests.close()

    def tell() -> None:
        with suppress(BrokenPipeError):
            # The server has died, and needs no report.
            os.write(taking, os.getpid().to_bytes(4, sys.byteorder))

    def ready() -> None:
        tell()
        os.close(taking)

    tell()
    work(message, descriptors, kit, ready=ready)


def work(
    message: Message,
    descriptors: list[int],
    kit: Kit,
    *,
    ready: Callable[[], None] = lambda: None,
    child_of_server: bool = False,
) -> NoReturn:
    """Do the work of a request, and end this process; `ready` is called when all preparations are done."""
    code = 1
    try:
        if child_of_server:
            die_with_parent(kit.control)
            _get_ready(kit)
        reply, memory, caller, tracker, *others = descriptors
        os.close(reply)
        given = message["streams"]
        _take_streams(dict(zip(given, others, strict=False)))
        Arrived.current = Arrived(others[len(given) :])
        with os.fdopen(memory, "rb") as stream:
            circumstances: Circumstances = pickle.load(stream)
            _settle(circumstances, kit)
            # multiprocessing's fork server does the same.
            tracking: Any = resource_tracker._resource_tracker
            tracking._fd, tracking._pid = tracker, None
            process_obj = _unpickled(stream)
        ready()
        code = process_obj._bootstrap(parent_sentinel=caller)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            atexit._run_exitfuncs()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _get_ready(kit: Kit) -> None:
    """Do the preparations that do not depend on a request, and try out those that do.

    Tried out with the server's own circumstances they change nothing, but the pages that they write to are
    then already copied when the request comes.
    """
    # Drop the server's exit functions: workers run only those that they register themselves.
    atexit._clear()
    atexit.register(util._exit_function)  # type: ignore[attr-defined]
    # Register, under the same name, a context through which this worker starts workers of its own.
    register(Zygote(kit.terms, kit.asking).context)
    with os.fdopen(channel.holding("coldfork", kit.circumstances), "rb") as stream:
        circumstances: Circumstances = pickle.load(stream)
    circumstances.take_over((variables.MARK.encode(), kit.mark.encode()))
    kit.limits.restore(variables.HELD)
    # Each forked process gets new seeds, whatever the request.
    renewal.redraw(kit.seeds)


def _take_streams(streams: dict[int, int]) -> None:
    for number in _STREAMS:
        if number in streams:
            os.dup2(streams[number], number)
            os.close(streams[number])
        else:
            os.close(number)


def _settle(circumstances: Circumstances, kit: Kit) -> None:
    troubles = circumstances.take_over((variables.MARK.encode(), kit.mark.encode()))
    kit.made.apply()
    kit.limits.restore(os.environ)
    circumstances.let_signals_in(kit.interrupt)
    if troubles:
        sys.stderr.write(f"coldfork: a worker differs from its caller in {'; '.join(troubles)}\n")


def _unpickled(stream: Any) -> Any:
    """Unpickle the process object after preparing the interpreter as multiprocessing does."""
    current: Any = process.current_process()
    current._inheriting = True
    try:
        spawn.prepare(pickle.load(stream))
        return pickle.load(stream)
    finally:
        del current._inheriting
