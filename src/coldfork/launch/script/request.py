"""A script that is to be run: every option once, for the functions that take them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from coldfork.launch.script.attempts import Given
from coldfork.launch.script.environment import Devices
from coldfork.launch.script.output_lines import OutputLine
from coldfork.launch.script.run_directory import Kept

GRACE_SECONDS = 5.0
MOST_OUTPUT = 256 * 1024 * 1024

Words = Sequence[str | os.PathLike[str]]
OnLine = Callable[[OutputLine], object]
Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """A script and the options that it is to be run with."""

    script: str | os.PathLike[str]
    """A file, a folder or an archive with a `__main__`, or `-m`, behind which the module is the first
    argument."""
    args: Words = ()
    _: KW_ONLY
    devices: Devices = None
    env: Mapping[str, str | None] | None = None
    inherit_env: bool = True
    start_method: str = "spawn"
    timeout: float | None = None
    cwd: str | os.PathLike[str] | None = None
    log_dir: str | os.PathLike[str] | None = None
    stdin: Given = None
    check: bool = False
    """Whether a script that does not succeed is an error."""
    on_line: OnLine | None = None
    on_progress: Progress | None = None
    python: str | os.PathLike[str] | None = None
    grace: float = GRACE_SECONDS
    most_output: int = MOST_OUTPUT
    warm: Sequence[str] = ()
    """The modules that a server is to have imported from which the script is forked; none for an ordinary
    start."""
    max_memory: int | str | None = None
    max_cpu: float | None = None
    retries: int = 0
    """How often it may be run again when it ends badly."""
    report: bool = True
    """Whether its report and its output are kept."""
    keep_runs: Kept = None
    """How many runs the folder of its run directory holds at most."""
    max_device_memory: int | str | None = None
    """What MPS, or frameworks, are told that each process may hold of each device."""


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def taking(request: Callable[P, R]) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Have a function of a request take what the request is made of, each option under its name."""
    options = signature(request)

    def decorate(run: Callable[[R], T]) -> Callable[P, T]:
        @wraps(run)
        def taken(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                options.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{run.__name__}() {error}") from None
            return run(request(*args, **kwargs))

        shown: Any = taken
        shown.__signature__ = options.replace(return_annotation=run.__annotations__["return"])
        del shown.__wrapped__
        return taken

    return decorate
