"""A script's own process, forked with its modules imported, which redoes the start of Python by hand."""

from __future__ import annotations

import os
import sys
from _signal import SIG_DFL, SIGCHLD, set_wakeup_fd, signal
from dataclasses import dataclass

from coldfork.launch.plumbing.streams import lifted
from coldfork.launch.server import renewal
from coldfork.launch.server.warm import interpreter
from coldfork.launch.supervisor.protocol import MARK
from coldfork.launch.supervisor.start import CHANNEL_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, NoReturn

    from coldfork.launch.server.circumstances import Circumstances
    from coldfork.launch.server.renewal import ThreadLimits
    from coldfork.launch.server.variables import Made
    from coldfork.launch.supervisor.protocol import SupervisedRun

_CANNOT_OPEN = 2


@dataclass(frozen=True, slots=True)
class Kit:
    """The settings and objects that a script's process inherits from its server."""

    path: list[str]
    """The import path, without the script's own folder."""
    made: Made
    """How the imports have changed the environment."""
    limits: ThreadLimits
    interrupt: object
    """The handler of SIGINT at the time when everything had been imported."""
    descriptors: frozenset[int]
    """The descriptors that imported modules keep open."""
    place: interpreter.Place
    """The place of the variable by which the process can be found from outside."""
    modules: frozenset[str]
    """The names of all imported modules."""


class Script:
    """One script, running in its own process."""

    def __init__(
        self,
        plan: SupervisedRun,
        circumstances: Circumstances,
        outputs: list[int],
        channel: int,
        handed_on: dict[int, int],
        kit: Kit,
    ) -> None:
        self._plan = plan
        self._circumstances = circumstances
        self._outputs = outputs
        self._channel = _above(channel, handed_on)
        self._handed_on = handed_on
        self._kit = kit

    def run(self) -> NoReturn:
        """Turn this process into one as Python starts it for a script, and run the script."""
        self._take_descriptors()
        self._take_environment()
        self._take_interpreter()
        self._circumstances.let_signals_in(self._kit.interrupt)
        failure: BaseException | None = None
        try:
            _run(self._plan.words[1:])
        except BaseException as error:
            failure = _without_us(error)
        # Reported outside the `except` block, so that an exception in a hook gets no misleading context.
        status = 0 if failure is None else interpreter.report(failure)
        interrupted = isinstance(failure, KeyboardInterrupt)
        del failure
        interpreter.end(status, self._kit.modules, interrupted=interrupted)

    def _take_descriptors(self) -> None:
        set_wakeup_fd(-1)
        signal(SIGCHLD, SIG_DFL)
        if not self._plan.captured:
            # In a group of its own: a terminal's stop signal does not stop an orphaned group.
            os.setpgid(0, 0)
        for stream, descriptor in enumerate(self._outputs, 1):
            if descriptor >= 0:
                os.dup2(descriptor, stream)
        for number, descriptor in self._handed_on.items():
            os.dup2(descriptor, number)
        kept = {0, 1, 2, self._channel, *self._handed_on, *self._kit.descriptors}
        for number in map(int, os.listdir("/proc/self/fd")):
            if number not in kept:
                try:
                    os.close(number)
                except OSError:
                    # This descriptor was used to list the folder, and is already closed.
                    continue
        os.set_inheritable(self._channel, True)
        if self._plan.cwd is not None:
            os.chdir(self._plan.cwd)

    def _take_environment(self) -> None:
        self._kit.made.apply(always=True)
        os.environ[CHANNEL_VARIABLE] = str(self._channel)

    def _take_interpreter(self) -> None:
        plan, kit = self._plan, self._kit
        words = plan.words[1:]
        # Replace the supervisor's mark, inherited in the fork, by the script's. Only the supervisor looks for
        # the script's mark, and the supervisor's death ends this process anyway.
        interpreter.mark(kit.place, MARK, plan.environment[MARK])
        interpreter.entitle(plan.words)
        interpreter.open_anew()
        sys.orig_argv[:] = plan.words
        sys.argv[:] = words if words[0] != "-m" else ["-m", *words[2:]]
        folder = _first_of_path(words)
        sys.path[:] = kit.path if folder is None else [folder, *kit.path]
        multiprocessing: Any = sys.modules.get("multiprocessing.process")
        if multiprocessing is not None:
            multiprocessing.ORIGINAL_DIR = os.getcwd()
        _clear(vars(sys.modules["__main__"]))
        from importlib import invalidate_caches

        invalidate_caches()
        kit.limits.restore(os.environ)
        renewal.redraw()
        self._watch()

    def _watch(self) -> None:
        """Set up the watch as in every script; if that fails, run the script unwatched."""
        try:
            from coldfork.observe.bootstrap import STARTUP, begin

            begin(STARTUP)
        except Exception as error:
            sys.stderr.write(f"coldfork: this process is not watched: {type(error).__name__}: {error}\n")


def _above(channel: int, numbers: Collection[int]) -> int:
    """Move the channel to a number that is not among these."""
    if channel not in numbers:
        return channel
    return lifted(channel, max([*numbers, channel]))


def _run(words: list[str]) -> None:
    if words[0] != "-m" and not os.path.isdir(words[0]) and not _is_archive(words[0]):
        _execute(os.path.abspath(words[0]))
        return
    import runpy

    by_name = words[0] == "-m"
    runpy._run_module_as_main(words[1] if by_name else "__main__", alter_argv=by_name)  # type: ignore[attr-defined]


def _without_us(error: BaseException) -> BaseException:
    """Remove coldfork's own frames from an error's traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return error.with_traceback(trace)


def _clear(main: dict[str, Any]) -> None:
    """Reset the main module to its state at the start of a program."""
    kept = {name: main[name] for name in ("__builtins__", "__annotations__") if name in main}
    main.clear()
    main.update(__name__="__main__", __doc__=None, __package__=None, __loader__=None, __spec__=None)
    if "__annotations__" in kept:
        main["__annotations__"] = {}
    main["__builtins__"] = kept["__builtins__"]


def _first_of_path(words: list[str]) -> str | None:
    """Return the entry that Python would put first on the import path; None if there is none."""
    if sys.flags.safe_path:
        return None
    if words[0] == "-m":
        return os.getcwd()
    if os.path.isdir(words[0]) or _is_archive(words[0]):
        return words[0]
    return os.path.dirname(os.path.realpath(words[0]))


def _is_archive(path: str) -> bool:
    """Return whether Python would run a `__main__` module inside this file, as in a zip archive."""
    with open(path, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 65_558))
        end = stream.read()
    if b"PK\x05\x06" not in end:
        return False
    from pkgutil import get_importer

    return get_importer(path) is not None


def _execute(path: str) -> None:
    """Run a file as the main module."""
    from importlib.machinery import SourceFileLoader, SourcelessFileLoader

    main = vars(sys.modules["__main__"])
    kind = SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader
    loader: Any = kind("__main__", path)
    main.update(__file__=path, __cached__=None, __loader__=loader)
    code = loader.get_code("__main__") if path.endswith(".pyc") else _compiled(path)
    exec(code, main)


def _compiled(path: str) -> Any:
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError as error:
        said = f"[Errno {error.errno}] {error.strerror}"
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: {said}\n")
        sys.exit(_CANNOT_OPEN)
    return compile(source, path, "exec", dont_inherit=True)
