"""Import one module under watch, and write its effects on accelerators to a file."""

from __future__ import annotations

import os
import sys
from time import monotonic, sleep

from coldfork.observe.bootstrap import WatchSession, senses
from coldfork.observe.recording import redaction
from coldfork.observe.recording.events import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from coldfork.observe.recording.events import Event
    from coldfork.observe.watch import Watch

#: Runtimes that are not devices: if awake they make a fork unsafe, but not an import warm.
RUNTIMES = frozenset({"openmp", "threads", "polars", "tokenizers", "jax-cpu", "grpc"})
SETTLE_SECONDS = 0.25
"""How long threads that an import has started may take to do their work."""
_SOON_SECONDS = 0.01


class Probe:
    """One watched import; each wake is written to the result file at once."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._module: str = settings["module"]
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = high(os.open(settings["result"], flags, 0o600))
        # Kept, because the module may replace `os.write`.
        self._append = os.write
        self._loaded = 0
        self._file: str | None = None
        self._over = False

    def sink(self, event: Event) -> None:
        """Count the imports, and write all other events to the result file."""
        if self._over:
            return
        if event["event"] == "import":
            self._loaded += 1
            if event["module"] == self._module and self._file is None and event["path"]:
                self._file = os.path.abspath(event["path"])
            return
        self.write(event)

    def write(self, event: Event) -> None:
        """Append one line to the result."""
        self._append(self._descriptor, encode(event))

    def run(self, watching: Watch) -> None:
        """Import the module and write the result."""
        if self._settings.get("tell_at"):
            self._tell_where_it_hangs(self._settings["tell_at"])
        failure: Event | None = None
        began = monotonic()
        try:
            __import__(self._module)
        except BaseException as error:
            failure = describe(error)
        seconds = monotonic() - began
        watching.poll()
        if watching.attribution.windows.starts:
            self._settle(watching)
        self.write(self._result(watching, failure, seconds))
        if failure is None and self._settings.get("values") is not None:
            self._tell_values(self._settings["values"])

    def _tell_values(self, wanted: Event) -> None:
        """Write the values of the public names; wakes caused by reading them are not the import's."""
        from coldfork.observe.public_names import told

        self._over = True
        values = told(self._module, wanted["names"], wanted["root"])
        self.write({"event": "values", "values": values})

    def _result(self, watching: Watch, failure: Event | None, seconds: float) -> Event:
        return {
            "event": "result",
            "module": self._module,
            "modules_loaded": self._loaded,
            "seconds": round(seconds, 4),
            "states": watching.states(),
            "error": failure,
            "file": self._file,
        }

    def _settle(self, watching: Watch) -> None:
        until = monotonic() + SETTLE_SECONDS
        while monotonic() < until and len(sys._current_frames()) > 1:
            sleep(0.005)
            watching.poll()
        watching.poll()  # once more, because the last thread may have acted after the last poll

    def _tell_where_it_hangs(self, moment: float) -> None:
        import faulthandler

        place = os.open(self._settings["result"] + ".stack", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        # The limit is a point in time, because the interpreter's start has already used some of it.
        left = max(moment - monotonic(), _SOON_SECONDS)
        faulthandler.dump_traceback_later(left, file=high(place), exit=False)


def probe() -> NoReturn:
    """Import the module that the environment names, write the result, and end this process."""
    session = WatchSession.current
    if session is None:
        sys.exit("coldfork: this process was not started to be watched")
    settings = session.settings
    if settings.get("forked"):
        _go_on_in_a_child(settings)
    leave = os._exit
    work = Probe(settings)
    watching = _begin(work, settings)
    if settings.get("injection"):
        watching.bear_witness(settings["injection"])

    def _exit(status: int) -> NoReturn:
        # A module that ends the process during its import must not hide a device that it woke.
        watching.poll()
        leave(status)

    os._exit = _exit
    work.run(watching)
    flush()
    leave(0)


def flush() -> None:
    """Flush the output; ignore errors, because a module may have replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def _go_on_in_a_child(settings: dict[str, Any]) -> None:
    """Fork, and return only in the child; the parent ends with the status of the child."""
    from coldfork.observe.processes.endings import end_as
    from coldfork.observe.states import remember_for_children

    # Otherwise the child could not distinguish a cold device from one that was awake here.
    senses(settings).get("remember", remember_for_children)()
    child = os.fork()
    if not child:
        return
    _, status = os.waitpid(child, 0)
    end_as(status)


def describe(error: BaseException) -> Event:
    """Return an exception in the form of the result, without coldfork's and importlib's frames."""
    import traceback

    written = traceback.extract_tb(error.__traceback__)
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frames = [
        {"path": frame.filename, "line": frame.lineno, "function": frame.name}
        for frame in written
        if not frame.filename.startswith((own, "<frozen importlib"))
    ]
    try:
        said = str(error)
    except Exception:
        said = ""
    return {"type": type(error).__name__, "message": redaction.text(said)[:2000], "stack": frames[-100:]}


def _begin(work: Probe, settings: dict[str, Any]) -> Watch:
    from coldfork.observe.watch import watch

    return watch(
        work.sink,
        stage2=settings.get("stage2") or (),
        began=settings.get("began"),
        outside=False,
        **senses(settings),
    )


def high(descriptor: int) -> int:
    """Move a descriptor to a high number, which no program is likely to use itself."""
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 200)
    os.close(descriptor)
    return moved
