"""A server: it imports the modules of scripts, checks that it is clean, and forks a supervisor per script.

It is started by exec with the scripts' interpreter, and has one thread. It forks the supervisor, which forks
the script; both keep running when the server ends.
"""

from __future__ import annotations

import os
import socket
import sys
from _signal import SIG_IGN, SIG_SETMASK, SIGCHLD, pthread_sigmask, signal
from time import time_ns

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.loop import readable
from coldfork.launch.plumbing.streams import is_open
from coldfork.launch.server import reads
from coldfork.launch.server.preloading import Preload, fork, freeze, settle
from coldfork.launch.server.reads import Reads
from coldfork.launch.server.renewal import ThreadLimits
from coldfork.launch.server.warm import interpreter, protocol
from coldfork.launch.server.warm.script import Kit, Script
from coldfork.launch.server.warm.supervision import supervise
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class _Begun(BaseException):
    """Raised in a forked process to leave the server's code and run a script instead."""

    def __init__(self, script: Script) -> None:
        self.script = script


def main(path: list[str], at_start: frozenset[str]) -> None:
    """Run a server; in a process forked for a script, run the script instead.

    `path` is the import path that Python made at its start, `at_start` the modules that it loaded then.
    """
    script = _serve(path, at_start)
    if script is not None:
        script.run()


def _serve(path: list[str], at_start: frozenset[str]) -> Script | None:
    with os.fdopen(protocol.TERMS, "rb") as stream:
        plan = decode(stream.read().decode("ascii"))
    keeper = socket.socket(fileno=protocol.KEEPER)
    keeper.set_inheritable(False)
    try:
        server = Server(plan, keeper, path, at_start)
        if server.prepare():
            server.wait()
    except _Begun as begun:
        return begun.script
    return None


class Server:
    """One server, running in its own process."""

    def __init__(
        self, plan: dict[str, Any], keeper: socket.socket, path: list[str], at_start: frozenset[str]
    ) -> None:
        self._plan = plan
        self._keeper = keeper
        self._path = path
        self._at_start = at_start
        self._began = time_ns()
        self._reads = Reads()
        self._place = interpreter.place_of(protocol.SPARE)
        self._kit: Kit | None = None

    def prepare(self) -> bool:
        """Import the modules and check the process; return False if it is not fit to fork scripts."""
        folder = self._plan["folder"]
        sys.path[:] = self._path if folder is None else [folder, *self._path]
        sys.argv[:] = [""]
        pthread_sigmask(SIG_SETMASK, ())
        _get_watch_ready()
        preload = Preload(self._plan["modules"])
        preload.load(lambda module: self._tell({"is": "importing", "module": module}), self._reads.noting())
        if preload.faults:
            self._tell({"is": "unfit", **preload.faults[-1], "missing": _missing(preload)})
            return False
        interrupt = settle()
        # Supervisors report the ends of scripts themselves, so their exit statuses are not needed.
        signal(SIGCHLD, SIG_IGN)
        self._settle(
            preload.readers,
            Kit(
                path=list(self._path),
                made=preload.made,
                limits=ThreadLimits(),
                interrupt=interrupt,
                descriptors=_open(),
                place=self._place,
                modules=frozenset(sys.modules),
            ),
        )
        return True

    def _settle(self, readers: list[str], kit: Kit) -> None:
        self._kit = kit
        files = {*self._reads.files, *reads.files_of_modules(), *_mapped()}
        mine = sorted(path for path in files if not path.startswith(("/proc/", "/sys/", "/dev/", "/memfd:")))
        sources = [path for path in mine if not path.endswith(".pyc")]
        late = reads.changed_since(self._began, sources)
        if late is not None:
            self._tell({"is": "overtaken", "path": late})
            os._exit(0)
        facts = {
            "files": reads.noted([*sources, *(entry for entry in self._path if entry)]),
            "names": _homes(self._at_start),
            "variables": sorted(self._reads.variables),
            "beginnings": sorted(self._reads.beginnings),
            "whole": self._reads.whole,
            "folder": self._reads.folder,
            "early": readers,
        }
        _keep_what_was_imported()
        interpreter.entitle(["coldfork.launch.server.warm.server", *self._plan["modules"]])
        freeze()
        descriptor = channel.holding("coldfork", encode(facts))
        channel.send(self._keeper, {"is": "ready"}, [descriptor])
        os.close(descriptor)

    def wait(self) -> None:
        """Fork a supervisor for each request, until the keeper is gone."""
        while True:
            readable([self._keeper.fileno()], None)
            received = channel.receive(self._keeper)
            if received is None:
                return
            self._start(*received)

    def _start(self, message: dict[str, Any], descriptors: list[int]) -> None:
        kit = self._kit
        assert kit is not None
        if fork() == 0:
            self._keeper.close()
            raise _Begun(supervise(message, descriptors, kit))
        for descriptor in descriptors:
            os.close(descriptor)

    def _tell(self, message: dict[str, Any]) -> None:
        channel.send(self._keeper, message)


def _get_watch_ready() -> None:
    """Import the modules that watch a script."""
    import coldfork.launch.supervisor.entry_point
    import coldfork.observe.bootstrap
    import coldfork.observe.watch
    import coldfork.start.guard.process  # noqa: F401


def _keep_what_was_imported() -> None:
    """Keep scripts from closing resources that imports have opened, because all scripts share them."""
    weakref: Any = sys.modules.get("weakref")
    for finalizer in () if weakref is None else list(weakref.finalize._registry):
        finalizer.atexit = False


def _missing(preload: Preload) -> str | None:
    """Return the top-level name of a requested module that does not exist; None if the fault is a different
    one.
    """
    fault = preload.faults[-1]
    last = fault["text"].splitlines()[-1]
    top = fault["module"].partition(".")[0]
    return top if last == f"ModuleNotFoundError: No module named {top!r}" else None


def _open() -> frozenset[int]:
    """Return the descriptors that imported modules keep open."""
    ours = set(range(protocol.KEEPER + 1))
    with os.scandir("/proc/self/fd") as entries:
        found = {int(entry.name) for entry in entries}
    return frozenset(number for number in found if number not in ours and is_open(number))


def _mapped() -> Iterator[str]:
    """Yield the paths of the interpreter and the loaded libraries."""
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            at = line.find(b"/")
            if at >= 0 and not line.endswith(b" (deleted)\n"):
                yield os.fsdecode(line[at:].rstrip(b"\n"))


def _homes(at_start: frozenset[str]) -> dict[str, str]:
    """Return the folders of those imported modules that a file of the same name elsewhere could replace."""
    homes: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if "." in name or name in at_start or not isinstance(place, str):
            continue
        folder = os.path.dirname(os.path.abspath(place))
        homes[name] = os.path.dirname(folder) if hasattr(module, "__path__") else folder
    return homes
