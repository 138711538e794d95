"""Turn a request into a prepared run: checked, with its environment, run directory and report."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path
from time import monotonic, time

from coldfork.launch.plumbing.interpreter import find_interpreter
from coldfork.launch.script import environment, run_directory
from coldfork.launch.script.secret_search import secrets
from coldfork.launch.supervisor import limits
from coldfork.launch.supervisor.client import require_supervision
from coldfork.launch.supervisor.limits import Limits
from coldfork.launch.supervisor.protocol import MARK, inside, stamp
from coldfork.launch.supervisor.report_file import Report, Veil
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from coldfork.launch.devices.memory_cap import DeviceMemoryCap
    from coldfork.launch.script.environment import ScriptEnvironment
    from coldfork.launch.script.request import ScriptRequest
    from coldfork.launch.script.run_directory import RunDirectory
    from coldfork.launch.server.warm.protocol import Wanted

SCHEMA_VERSION = 1
_ENTRY_POINT = "coldfork.launch.supervisor.entry_point:begin"


class Prepared:
    """A run that is about to start: its directory exists, and its report says `started`."""

    def __init__(
        self, python: str, directory: RunDirectory, report: Report, job: dict[str, Any], wanted: Wanted | None
    ) -> None:
        self.python = python
        self.directory = directory
        self.report = report
        self.job = job
        """The task sent to the supervisor; completing the report is not part of it."""
        self.wanted = wanted
        """The server from which the script should be forked, if one was requested."""

    def handed_over(self) -> dict[str, Any]:
        """Return the supervisor's job, with the report in its present state."""
        return {**self.job, "report": self.report.told()}


def prepare(
    request: ScriptRequest, earlier: Sequence[Mapping[str, Any]] = (), *, streamed: bool = False
) -> Prepared:
    """Check a request and prepare its run; `earlier` lists the previous attempts.

    `streamed` says that the caller reads the lines of output as they are written.
    """
    require_supervision("an isolated script")
    _require_times(request)
    caps = limits.read(request.max_memory, request.max_cpu)
    modules = module_names(request.warm)
    python = find_interpreter(None if request.python is None else _word(request.python))
    words = _command_line(request)
    cwd = None if request.cwd is None else _folder(request.cwd)
    surroundings = environment.build(
        request.start_method, devices=request.devices, env=request.env, inherit=request.inherit_env
    )
    device_cap = _device_cap(request, surroundings, python)
    if device_cap is not None:
        surroundings.add(device_cap.variables)
        caps = Limits(caps.memory, caps.cpu, device_cap.report())
    script = words[1] if words[0] == "-m" else words[0]
    veil = Veil(secrets(surroundings.variables, words))

    def begun(directory: RunDirectory) -> Report:
        report = _report(request, [python, *words], cwd, surroundings, directory, veil, caps)
        report.begin_attempts(earlier)
        directory.begin(report)
        return report

    directory = run_directory.make(script, request.log_dir, kept=request.report, keep_runs=request.keep_runs)
    try:
        try:
            report = begun(directory)
        except OSError as error:
            directory = run_directory.instead_of(directory, script, error)
            report = begun(directory)
    except BaseException:
        directory.let_go()
        directory.discard()
        raise
    job = {
        "secrets": veil.values,
        "folder": inside(os.fspath(directory.path)),
        "kept": directory.no_report is None,
        "program": inside(python),
        "words": [inside(word) for word in (python, *words)],
        "environment": _with_watch(surroundings, directory.mark),
        "cwd": None if cwd is None else inside(cwd),
        "streamed": streamed,
        "timeout": request.timeout,
        "caps": caps.job(),
        "grace": request.grace,
        "most_output": request.most_output,
    }
    wanted = None
    if modules:
        from coldfork.launch.server.warm.protocol import Wanted

        wanted = Wanted(python, words, surroundings.variables, cwd, modules)
    return Prepared(python, directory, report, job, wanted)


def _device_cap(
    request: ScriptRequest, surroundings: ScriptEnvironment, python: str
) -> DeviceMemoryCap | None:
    """Return the cap on device memory; its module is only imported if the request has such a cap."""
    if request.max_device_memory is None:
        return None
    from coldfork.launch.devices import memory_cap

    most = limits.parse_size(request.max_device_memory, "max_device_memory")
    return memory_cap.cap(most, surroundings.variables, python)


def _with_watch(surroundings: ScriptEnvironment, mark: str) -> dict[str, str]:
    from coldfork.observe import bootstrap

    settings = {"mode": "script", "begin": _ENTRY_POINT, "follow": True, "began": monotonic()}
    variables = bootstrap.environment(settings, surroundings.variables)
    return {inside(name): inside(value) for name, value in {**variables, MARK: mark}.items()}


def _report(
    request: ScriptRequest,
    command: list[str],
    cwd: str | None,
    surroundings: ScriptEnvironment,
    directory: RunDirectory,
    veil: Veil,
    caps: Limits,
) -> Report:
    """Make the report of a run that is about to start."""
    from coldfork import __version__
    from coldfork.observe.recording import redaction
    from coldfork.observe.recording.events import as_event
    from coldfork.observe.states import readings

    relevant = redaction.environment(surroundings.variables)
    return Report(
        {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "coldfork", "version": __version__},
            "id": directory.mark,
            "state": "started",
            "started": stamp(time()),
            "command": veil.command(command),
            "cwd": veil.over(cwd or _here()),
            "start_method": surroundings.start_method,
            "timeout": request.timeout,
            "retries": request.retries,
            "attempts": [],
            "caps": caps.report(),
            "environment": {
                "set": veil.variables(surroundings.changed),
                "removed": list(surroundings.removed),
                "relevant": {name: veil.known(value) for name, value in relevant.items()},
            },
            "parent": {
                "pid": os.getpid(),
                "thread": threading.current_thread().name,
                "states": [as_event(reading) for reading in readings()],
            },
            "left_behind": [],
            "unreachable": [],
        }
    )


def _command_line(request: ScriptRequest) -> list[str]:
    """Return the words that follow `python` on the command line."""
    if isinstance(request.args, str | bytes):
        raise UsageError("give args as a list of words, not as one text: there is no shell to split it")
    words = [_word(word) for word in request.args]
    script = _word(request.script)
    if script == "-m":
        if not words:
            raise UsageError("-m needs a module as the first argument")
        return [script, *words]
    _require_readable(script)
    if request.cwd is not None:
        # Make the path absolute: like all paths, it is relative to the caller's working directory, not to
        # `cwd`.
        script = str(Path(script).absolute())
    elif script.startswith("-"):
        script = os.path.join(os.curdir, script)  # noqa: PTH118
    return [script, *words]


def _word(word: object) -> str:
    try:
        text = os.fsdecode(os.fspath(word))  # type: ignore[call-overload]
    except TypeError:
        raise UsageError(f"{word!r} cannot be a command-line argument; give a text or a path") from None
    if "\0" in text:
        raise UsageError(f"{text!r} holds a null character, which a command line cannot contain")
    return text


def _require_readable(script: str) -> None:
    if not script:
        raise UsageError("there is no script named ''")
    try:
        if Path(script).is_dir():
            if not (Path(script) / "__main__.py").is_file():
                raise UsageError(f"{script!r} is a folder without a __main__.py")
            return
        with Path(script).open("rb"):
            return
    except FileNotFoundError:
        raise UsageError(f"there is no script {script!r} (looked from {_here()})") from None
    except OSError as error:
        raise UsageError(f"cannot read the script {script!r}: {error.strerror}") from None


def module_names(warm: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the modules that a server is to import, checked to be dotted names."""
    if isinstance(warm, str | bytes) or not all(isinstance(name, str) for name in warm):
        raise UsageError("warm has to be a list of modules, each by its dotted name")
    for name in warm:
        if not all(part.isidentifier() for part in name.split(".")):
            raise UsageError(f"warm: {name!r} is not a module's dotted name")
    return tuple(dict.fromkeys(warm))


def _folder(cwd: str | os.PathLike[str]) -> str:
    folder = _word(cwd)
    if not Path(folder).is_dir():
        raise UsageError(f"cwd: there is no folder {folder!r}")
    if not os.access(folder, os.X_OK):
        raise UsageError(f"cwd: cannot enter {folder!r}: Permission denied")
    return str(Path(folder).absolute())


def _require_times(request: ScriptRequest) -> None:
    for name, seconds in (("timeout", request.timeout), ("grace", request.grace)):
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise UsageError(f"{name} has to be a number of seconds, not {seconds!r}")
    if request.timeout == 0:
        raise UsageError("timeout=0 would end the script before it begins; None sets no limit")


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "a folder that was deleted"
