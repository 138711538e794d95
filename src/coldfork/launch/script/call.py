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
    with `start_method` as its default start method and with the environment of the table in
    `coldfork.launch.script.environment`; `env` adds to it, and removes what it maps to None. `devices` are
    positions in the list of devices that this process sees, their identifiers, or a lease of
    `coldfork.lease`.

    After `timeout` seconds the script and all it started are asked to end, and killed `grace` seconds later.
    The same happens when this call is interrupted, and when this process dies. What the script leaves running
    when it ends is ended, too.

    `stdin` is what it reads: bytes, a text or an open file; without it, nothing. Its output, its errors and a
    report are written to a new folder in `log_dir`, else in the user's state folder. `on_line` is called with
    each `OutputLine` as it is written, `on_progress` with what the script passes to `coldfork.progress`.

    The script and all it starts together may hold `max_memory`, bytes or a text such as `"2 GiB"`, and are
    killed if they exceed it; they may use `max_cpu` seconds of processor time.

    `max_device_memory` is what each process may hold of each device, enforced by MPS or else by the
    frameworks that can. `caps` in the result says which of them was told, and if none was, why.

    `warm` are modules that a server keeps imported; the script is then forked from it: see `coldfork warm`.
    Where no server can start it, it is started as usual, and `cold_because` in the result says why.

    A script that ends badly is run again at most `retries` times, each attempt with a `timeout` of its own;
    the result and the report list the attempts.

    Of the runs in the folder, the `keep_runs` newest are kept: by default 50 in the state folder and 1000 in
    a `log_dir`; or `"all"`.

    With `report=False` nothing is written but temporary files, which are deleted before this returns. The
    same happens where the state folder cannot be written; `no_report` in the result says why.

    Returns a `ScriptResult` however it ends; with `check`, a script that did not succeed raises
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
