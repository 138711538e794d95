"""Run a Python script in its own interpreter, environment and process tree, and follow it to its end.

Messages of the supervisor are handled in the same way with or without an event loop.
"""

from __future__ import annotations

from coldfork.launch.script.attempts import Attempts, StandardInput
from coldfork.launch.script.following import Following, begin
from coldfork.launch.script.output_lines import OutputLine
from coldfork.launch.script.request import ScriptRequest, taking
from coldfork.launch.script.result import Outcome, ScriptError, ScriptResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.launch.script.request import OnLine

__all__ = ["Outcome", "OutputLine", "ScriptError", "ScriptResult", "run_script"]


@taking(ScriptRequest)
def run_script(request: ScriptRequest) -> ScriptResult:
    """Run a Python script isolated from this process's accelerators, and wait for its end.

    `script` is a file, or `"-m"` with the module as the first of `args`. The script runs in a new interpreter
    with `start_method` as its default start method and with the environment that the table in
    `coldfork.launch.script.environment` describes; `env` adds variables, and removes those that it maps to
    None. `devices` are positions in the list of devices that this process sees, identifiers of devices, or a
    lease from `coldfork.lease`.

    After `timeout` seconds the script and everything it started are asked to end, and killed `grace` seconds
    later. The same happens if this call is interrupted or this process dies. Processes that the script leaves
    running are ended, too.

    `stdin` is the script's input: bytes, a text or an open file; by default there is none. Its output, its
    errors and a report are written to a new folder in `log_dir`, else in the user's state folder. `on_line`
    is called with each `OutputLine` as it is written, `on_progress` with whatever the script passes to
    `coldfork.progress`.

    The script and everything it starts are killed if together they exceed `max_memory` (bytes, or a text such
    as `"2 GiB"`) or use more than `max_cpu` seconds of processor time.

    `max_device_memory` limits what each process may hold of each device. MPS enforces it, or else those
    frameworks that can; `caps` in the result says which of them were told, or why none was.

    `warm` are modules that a server keeps imported; the script is then forked from it: see `coldfork warm`.
    If no server can start it, it is started as usual, and `cold_because` in the result says why.

    A script that ends badly is run again at most `retries` times, each attempt with a `timeout` of its own;
    the result and the report list the attempts.

    The folder keeps the newest `keep_runs` runs, or `"all"`: by default 50 in the state folder and 1000 in a
    `log_dir`.

    With `report=False` only temporary files are written, which are deleted before this returns. The same
    happens if the state folder cannot be written; `no_report` in the result says why.

    A `ScriptResult` is returned however the script ends; with `check`, a script that did not succeed raises
    `ScriptError`. A script that cannot be started raises a `ColdforkError` that says why.
    """
    attempts = Attempts(request.retries)
    given = StandardInput(request.stdin, again=request.retries > 0)
    while True:
        following = begin(request, given, attempts.made, streamed=request.on_line is not None)
        try:
            result = _wait(following, request.on_line)
        finally:
            following.lines.close()
        if not attempts.goes_on(following.report):
            return checked(result, check=request.check)


def checked(result: ScriptResult, *, check: bool) -> ScriptResult:
    """Return the result; with `check`, raise an error if the script did not succeed."""
    if check and not result.ok:
        raise ScriptError(result)
    return result


def _wait(following: Following, on_line: OnLine | None) -> ScriptResult:
    try:
        while following.take(following.receive()):
            _give_out(following, on_line)
    except BaseException:
        # After Ctrl-C or a failed callback, the caller does not want the script any more.
        following.end("cancelled")
        _until_gone(following)
        following.result()
        raise
    result = following.result()
    _give_out(following, on_line, last=True)
    return result


def _until_gone(following: Following) -> None:
    while True:
        try:
            if not following.take(following.receive(), quietly=True):
                return
        except KeyboardInterrupt:
            following.kill("cancelled")


def _give_out(following: Following, on_line: OnLine | None, *, last: bool = False) -> None:
    if on_line is not None:
        for line in following.lines.all(last=last):
            on_line(line)
