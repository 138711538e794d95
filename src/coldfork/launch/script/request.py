"""A request to run a script: all options in one place, for every function that accepts them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ParamSpec, TypeVar

    from coldfork.launch.script.attempts import Given
    from coldfork.launch.script.environment import Devices
    from coldfork.launch.script.output_lines import OutputLine
    from coldfork.launch.script.run_directory import Kept

    Words = Sequence[str | os.PathLike[str]]
    OnLine = Callable[[OutputLine], object]
    Progress = Callable[[int, int], object]
    P = ParamSpec("P")
    R = TypeVar("R")
    T = TypeVar("T")

GRACE_SECONDS = 5.0
MOST_OUTPUT = 256 * 1024 * 1024


class ScriptRequest:
    """A script to run, and the options for the run."""

    def __init__(
        self,
        script: str | os.PathLike[str],
        args: Words = (),
        *,
        devices: Devices = None,
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
        warm: Sequence[str] = (),
        max_memory: int | str | None = None,
        max_cpu: float | None = None,
        retries: int = 0,
        report: bool = True,
        keep_runs: Kept = None,
        max_device_memory: int | str | None = None,
    ) -> None:
        self.script = script
        """A file, a folder or archive that contains a `__main__`, or `-m` with the module as the first
        argument.
        """
        self.args = args
        self.devices = devices
        self.env = env
        self.inherit_env = inherit_env
        self.start_method = start_method
        self.timeout = timeout
        self.cwd = cwd
        self.log_dir = log_dir
        self.stdin = stdin
        self.check = check
        """Whether to raise an error if the script does not succeed."""
        self.on_line = on_line
        self.on_progress = on_progress
        self.python = python
        self.grace = grace
        self.most_output = most_output
        self.warm = warm
        """Modules that the server from which the script is forked has imported; none for an ordinary start.
        """
        self.max_memory = max_memory
        self.max_cpu = max_cpu
        self.retries = retries
        """How many times the script may be run again if it ends badly."""
        self.report = report
        """Whether the report and the output are kept."""
        self.keep_runs = keep_runs
        """The most runs that the folder of the run directory may hold."""
        self.max_device_memory = max_device_memory
        """How much of each device each process may hold; MPS or frameworks are told this cap."""


def taking(request: Callable[P, R]) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Return a decorator that gives a function of a request the parameters of the request."""
    from functools import wraps
    from inspect import signature

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
