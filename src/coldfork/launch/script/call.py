"""Runs a Python script in an interpreter, an environment and a process tree of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from coldfork.launch.script.following import Following, Given, OnLine, Progress, begin
from coldfork.launch.script.output_lines import OutputLine
from coldfork.launch.script.plan import GRACE_SECONDS, MOST_OUTPUT, ScriptRequest, Words
from coldfork.launch.script.result import Outcome, ScriptError, ScriptResult

__all__ = ["Outcome", "OutputLine", "ScriptError", "ScriptResult", "run_script"]


def run_script(
    script: str | os.PathLike[str],
    args: Words = (),
    *,
    devices: Sequence[int | str] | str | None = None,
    env: Mapping[str, str | None] | None = None,
    inherit_env: bool = True,
    start_method: str = "spawn",
    timeout: float | None = None,
    cwd: str | os.PathLike[str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
    stdin: Given = None,
    check: bool = False,
    on_line: OnLine | None = None,
    on_progress: Progress | None = None,
    python: str | os.PathLike[str] | None = None,
    grace: float = GRACE_SECONDS,
    most_output: int = MOST_OUTPUT,
) -> ScriptResult:
    """Run a Python script isolated from what this process has done to accelerators, and wait for its end.

    `script` is a file, or `"-m"` with the module as the first of `args`. The script runs in a new interpreter
    with `start_method` as its default start method and with the environment of the table in
    `coldfork.launch.script.environment`; `env` adds to it, and takes away what it maps to None. `devices` are
    places in the list of devices that this process sees, or their identifiers.

    After `timeout` seconds the script and all it started are asked to end, and killed `grace` seconds later.
    The same happens when this call is interrupted, and when this process dies. What it leaves running when it
    ends is ended, too.

    `stdin` is what it reads: bytes, a text or an open file; without it, nothing. Its output, its errors and a
    report lie in a new folder in `log_dir`, else in the user's state folder. `on_line` is called with each
    `OutputLine` as it is written, `on_progress` with what the script says to `coldfork.progress`.

    Returns a `ScriptResult` however it ends; with `check`, a script that did not succeed is a `ScriptError`.
    What cannot be started is a `ColdforkError` that says why.
    """
    request = ScriptRequest(
        script=script,
        args=args,
        devices=devices,
        env=env,
        inherit_env=inherit_env,
        start_method=start_method,
        timeout=timeout,
        cwd=cwd,
        log_dir=log_dir,
        python=python,
        grace=grace,
        most_output=most_output,
        streamed=on_line is not None,
    )
    following = begin(request, stdin, on_progress)
    try:
        result = _wait(following, on_line)
    finally:
        following.lines.close()
    return checked(result, check=check)


def checked(result: ScriptResult, *, check: bool) -> ScriptResult:
    """The result, or the error that it is for those who asked for one."""
    if check and not result.ok:
        raise ScriptError(result)
    return result


def _wait(following: Following, on_line: OnLine | None) -> ScriptResult:
    try:
        while following.take(following.supervised.receive()):
            _give_out(following, on_line)
    except BaseException:
        # Ctrl-C, or a callback that failed: whoever asked for the script wants it no more.
        following.supervised.end("cancelled")
        _until_gone(following)
        following.result()
        raise
    result = following.result()
    _give_out(following, on_line, last=True)
    return result


def _until_gone(following: Following) -> None:
    while True:
        try:
            if not following.take(following.supervised.receive(), quietly=True):
                return
        except KeyboardInterrupt:
            following.supervised.kill("cancelled")


def _give_out(following: Following, on_line: OnLine | None, *, last: bool = False) -> None:
    if on_line is not None:
        for line in following.lines.all(last=last):
            on_line(line)
