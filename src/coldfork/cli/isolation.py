"""The work of `coldfork exec`; simple command lines are run without importing click.

Loading click takes longer than many scripts take to run, so most command lines of `exec` are parsed here. If
a command line contains anything but options with clearly valid values, click parses it, and reports what is
wrong or shows the help.
"""

from __future__ import annotations

import math
import os
import sys

from coldfork.cli.failures import INTERRUPTED, explained, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

    from coldfork.launch.script.foreground import Foreground
    from coldfork.launch.script.request import Progress, ScriptRequest

TIMED_OUT = 124
"""The exit status after a timeout, the same as that of GNU `timeout`."""
OVER_MEMORY = 137
"""The exit status after too much memory, the same as that of containers that run out of memory."""


# --- the command line ---


def _seconds(text: str) -> float:
    seconds = float(text)
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError
    return seconds


def _folder(text: str) -> str:
    if os.path.exists(text) and not os.path.isdir(text):
        raise ValueError
    return text


def _count(text: str) -> int:
    count = int(text)
    if count < 0:
        raise ValueError
    return count


def variable(text: str) -> tuple[str, str | None]:
    """Parse a variable: NAME=VALUE sets it, NAME alone removes it."""
    name, equals, value = text.partition("=")
    if not name:
        raise ValueError(f"{text!r} is neither NAME=VALUE nor NAME")
    return name, value if equals else None


def modules(text: str) -> tuple[str, ...]:
    """Return the names of modules, which commas separate."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def number_of_runs(text: str) -> int | str:
    """Parse a number of runs, or `all`."""
    if text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number from 1 up, and not `all`")
    return int(text)


VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--devices": ("devices", str),
    "--timeout": ("timeout", _seconds),
    "--max-memory": ("max_memory", str),
    "--max-cpu": ("max_cpu", _seconds),
    "--max-device-memory": ("max_device_memory", str),
    "--grace": ("grace", _seconds),
    "--start-method": ("start_method", str),
    "--env": ("env", variable),
    "--log-dir": ("log_dir", _folder),
    "--retries": ("retries", _count),
    "--keep-runs": ("keep_runs", number_of_runs),
    "--python": ("python", str),
    "--warm": ("warm", modules),
}
"""The options that take a value: the parameter's name, and the function that parses the value."""
SWITCHES = {
    "--inherit-env": ("inherit_env", True),
    "--no-inherit-env": ("inherit_env", False),
    "--report": ("report", True),
    "--no-report": ("report", False),
    "--quiet": ("quiet", True),
    "-q": ("quiet", True),
}


def read(words: Sequence[str]) -> dict[str, Any] | None:
    """Parse the options and the script of an `exec`; return None if click has to parse them."""
    if "_COLDFORK_COMPLETE" in os.environ:
        # The shell wants completions, which only click can give.
        return None
    options: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in VALUES and (equals or rest):
            key, convert = VALUES[name]
            try:
                found = convert(value if equals else rest.pop(0))
            except ValueError:
                return None
            if key == "env":
                options.setdefault(key, {}).update([found])
            else:
                options[key] = found
        elif word in SWITCHES:
            key, found = SWITCHES[word]
            options[key] = found
        else:
            return None
    if not rest:
        return None
    return {**options, "script": rest[0], "args": tuple(rest[1:])}


# --- the run ---


def status(options: dict[str, Any]) -> int:
    """Run a script, print errors, and return the exit status."""
    try:
        return run(**options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return explained(error, debug=False)


def run(*, quiet: bool = False, **options: Any) -> int:
    """Run a script with the options of a `ScriptRequest`, and return the exit status of this command."""
    from coldfork.launch.plumbing import terminal
    from coldfork.launch.script import foreground
    from coldfork.launch.script.request import ScriptRequest

    request = ScriptRequest(**options)
    done = _in_sight(foreground.run, request, None if quiet else sys.stderr)
    if not quiet:
        _report(done, request)
    if done.outcome in ("timed-out", "over-cpu"):
        return TIMED_OUT
    if done.outcome == "over-memory":
        return OVER_MEMORY
    return terminal.end_like(done.ending)


def _in_sight(
    run: Callable[[ScriptRequest, Progress, Callable[[str], object]], Foreground],
    request: ScriptRequest,
    stream: TextIO | None,
) -> Foreground:
    """Run a script, with a progress bar if the stream is a terminal."""
    from coldfork.report.shared.terminals import is_terminal

    tell: Callable[[str], object] = (lambda line: None) if stream is None else note
    if not is_terminal(stream):
        return run(request, lambda done, total: None, tell)
    from coldfork.report.shared.progress import ProgressBar

    script, args = os.fspath(request.script), request.args
    name = str(args[0]) if script == "-m" and args else os.path.basename(script)
    with ProgressBar(stream) as bar:
        return run(request, lambda done, total: bar.update(name, done, total), tell)


def _report(done: Foreground, request: ScriptRequest) -> None:
    """Print messages about the run, such as a timeout; print nothing if the script ended normally."""
    report = done.run_dir / "report.json"
    see = f"; see {report}" if done.no_report is None and report.exists() else ""
    if request.report and done.no_report is not None:
        note(
            f"no report of this run is kept: {done.no_report}; choose another folder with --log-dir, or "
            "no report with --no-report"
        )
    if done.cold_because is not None:
        note(f"this was a cold start: {done.cold_because}")
    if done.complaint is not None:
        note(done.complaint)
    if done.outcome == "timed-out":
        note(f"the script took longer than {request.timeout:g} s and was ended{see}")
    elif done.outcome in ("over-memory", "over-cpu"):
        note(f"{done.explained()}{see}")
    elif done.outcome == "lost":
        note(
            "the script's supervisor was killed, so it is unknown how the script ended; what it started was "
            f"ended{see}"
        )
    for said in done.notes:
        note(said)
    if done.left_behind:
        names = ", ".join(sorted(set(done.left_behind)))
        note(f"the script left {names} running, which was then ended")
    for trouble in done.troubles:
        from coldfork.launch.script.result import quoted

        note(quoted(trouble))
