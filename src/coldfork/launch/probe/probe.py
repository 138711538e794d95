"""Import modules in fresh interpreters, several at a time, and report which woke an accelerator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import monotonic

from coldfork.launch.plumbing.ask import Interrupted, apart, ask, require_watching
from coldfork.launch.plumbing.interpreter import find_interpreter
from coldfork.launch.probe import module_listing
from coldfork.launch.probe.comparison import device_before
from coldfork.launch.probe.report_paths import Origins
from coldfork.launch.probe.trial import ImportTrial, ProbeSetup, run_trial
from coldfork.launch.probe.verdicts import (
    awake_in,
    cannot_tell,
    cut_short,
    guilty,
    judge,
    shared_way,
    with_exact_line,
)
from coldfork.model.errors import UsageError
from coldfork.model.observations import Progress
from coldfork.model.probes import ModuleProbe, Probing
from coldfork.observe.calls import EVERY
from coldfork.observe.processes.asking import LOOK_SECONDS
from coldfork.observe.recording import redaction

OLDEST = (3, 11)
_MOST_JOBS = 8
_LISTING_SECONDS = 60
_MOST_CLOSER_TRIALS = 3
"""How often one import is repeated to find the waking line, if other threads ran while the device woke."""


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """The modules to probe, and the interpreter to import them in."""

    modules: tuple[str, ...]
    setup: ProbeSetup
    jobs: int = 0
    """The number of imports at a time; 0 means as many as there are processors, within reason."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """Data that the probes of one request share."""

    awake_before: Sequence[str]
    origins: Origins
    closer: dict[Hashable, ImportTrial] = field(default_factory=dict)
    """The results of second trials, by the chain to the line that they found."""


def probe(request: ProbeRequest, progress: Progress | None = None, device: str | None = None) -> Probing:
    """Import each module in a fresh interpreter; report which of them woke a device, and by which line.

    If it is interrupted, it ends the processes that it started and returns the results so far.
    """
    require_watching("probe")
    began = monotonic()
    origins = Origins()
    modules = tuple(dict.fromkeys(request.modules))
    results: tuple[ModuleProbe, ...] = ()
    interrupted = True
    # If this is interrupted, there are no results to keep.
    with suppress(KeyboardInterrupt):
        bare = apart(lambda stop: _bare(request.setup, stop))
        shared = _Shared(awake_in(bare), origins)
        results, interrupted = _each(
            modules,
            lambda module, stop: _probe_one(module, request.setup, shared, stop),
            jobs_for(request.jobs),
            progress,
        )
    found = {result.module for result in results}
    return Probing(
        device=device or device_before(request.setup.virtual),
        modules=results,
        python=request.setup.python,
        seconds=monotonic() - began,
        forked=request.setup.forked,
        left=tuple(module for module in modules if module not in found),
        interrupted=interrupted,
        files=origins.files,
    )


def jobs_for(wanted: int) -> int:
    """Return how many imports to run at a time; `wanted` of 0 means a number that fits the machine."""
    return wanted or min(os.cpu_count() or 1, _MOST_JOBS)


def modules_of(package: str, setup: ProbeSetup) -> tuple[str, ...]:
    """Return all modules of a package without importing it; just the name itself if it is no package."""
    code = Path(module_listing.__file__).read_text(encoding="utf-8")
    try:
        done = ask([setup.python, "-c", code, package], _LISTING_SECONDS, setup.variables())
        # Take the last line, because `site` or a .pth file may have printed something before it.
        found = json.loads(done.stdout.splitlines()[-1])["modules"]
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot list the modules of {package}: {error}") from None
    except (ValueError, IndexError, KeyError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"cannot list the modules of {package} with {setup.python}" + (f": {said[-1]}" if said else "")
        ) from None
    return tuple(found or (package,))


def missing(packages: Iterable[str], setup: ProbeSetup) -> frozenset[str]:
    """Return the ones of these top-level packages that cannot be found; nothing is imported."""
    code = (
        "import importlib.util, json, sys; "
        "print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]))"
    )
    wanted = sorted(packages)
    if not wanted:
        return frozenset()
    try:
        done = ask([setup.python, "-c", code, *wanted], _LISTING_SECONDS, setup.variables())
        done.check_returncode()
        return frozenset(json.loads(done.stdout.splitlines()[-1]))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return frozenset()


def interpreter(
    chosen: str | None, base: Mapping[str, str] = os.environ, neighbours: Sequence[Path] = ()
) -> str:
    """Return the interpreter to import with; raise an error if it cannot be watched.

    The candidates are, in order: the chosen one, given by path or found as the shell finds it; that of the
    active virtual environment or of one of the `neighbours`; our own.
    """
    if chosen is None:
        active = base.get("VIRTUAL_ENV")
        environments = [*([Path(active)] if active else []), *neighbours]
        found = (folder / "bin" / "python" for folder in environments)
        chosen = next((str(python) for python in found if python.exists()), sys.executable)
    python = find_interpreter(chosen)
    try:
        version_code = "import sys; print(*sys.version_info[:2])"
        done = ask([python, "-I", "-S", "-c", version_code], _LISTING_SECONDS)
        done.check_returncode()
        version = tuple(map(int, done.stdout.split()))
    except (OSError, subprocess.SubprocessError, ValueError):
        raise UsageError(f"{chosen}: this is not a working Python interpreter") from None
    if version < OLDEST:
        spoken = ".".join(map(str, version))
        raise UsageError(f"{chosen}: this is Python {spoken}; watching imports needs Python 3.11 or newer")
    return python


def _bare(setup: ProbeSetup, stop: Callable[[], bool]) -> ImportTrial:
    """Watch an interpreter that imports nothing: no module has woken the devices that are awake there."""
    seen = run_trial("sys", setup, stop=stop)
    if seen.result is None or seen.result.get("error"):
        how = f"ended with {seen.ended.status or seen.ended.signal}"
        if seen.ended.timed_out:
            how = f"did not end within {seen.limit:g} s, although there was nothing to import"
        said = redaction.text(seen.ended.output).strip() or f"it {how}"
        cause = said.splitlines()[0].removeprefix("coldfork: this process is not watched: ")
        raise UsageError(f"cannot watch {setup.python}: {cause}")
    return seen


def _probe_one(module: str, setup: ProbeSetup, shared: _Shared, stop: Callable[[], bool]) -> ModuleProbe:
    first = run_trial(module, setup, stop=stop)
    if first.result is None and not first.device_wakes:
        # The process ended before it was examined at the end of the import, so this time examine it at every
        # step.
        closer = run_trial(module, setup, exact=(EVERY,), stop=stop)
        if closer.device_wakes:
            return with_exact_line(
                judge(module, closer, shared.awake_before, shared.origins), closer, shared.origins
            )
    result = judge(module, first, shared.awake_before, shared.origins)
    suspects = guilty(first)
    if not suspects:
        return result
    way = shared_way(module, first)
    second = shared.closer.get(way) if way is not None else None
    if second is None:
        try:
            second = _closer(result, suspects, setup, stop)
        except Interrupted:
            return cut_short(result)
        if way is not None:
            shared.closer[way] = second
    return with_exact_line(result, second, shared.origins)


def _closer(
    result: ModuleProbe, suspects: frozenset[str], setup: ProbeSetup, stop: Callable[[], bool]
) -> ImportTrial:
    """Repeat the import to find the exact line; try several times if another thread makes it uncertain."""
    for _ in range(_MOST_CLOSER_TRIALS):
        second = run_trial(result.module, setup, exact=suspects, stop=stop)
        if not cannot_tell(result, second):
            break
    return second


def _tell(
    progress: Progress | None, done: int, modules: Sequence[str], futures: Iterable[Future[ModuleProbe]]
) -> None:
    """Report how many imports are done, and the module whose import has run longest."""
    if progress is not None:
        under_way = (module for module, future in zip(modules, futures, strict=True) if not future.done())
        progress("importing", done, len(modules), next(under_way, ""))


def _each(
    modules: Sequence[str],
    work: Callable[[str, Callable[[], bool]], ModuleProbe],
    jobs: int,
    progress: Progress | None,
) -> tuple[tuple[ModuleProbe, ...], bool]:
    """Return the results in the order of the modules, and whether this thread was interrupted.

    After an interruption all running imports are ended, and the results so far are returned.
    """
    stopped, interrupted = Event(), False
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(modules)))) as pool:
        futures: list[Future[ModuleProbe]] = [pool.submit(work, module, stopped.is_set) for module in modules]
        try:
            _tell(progress, 0, modules, futures)
            left: set[Future[ModuleProbe]] = set(futures)
            while left:
                # A signal that arrives just before a wait does not interrupt it, so each wait is short.
                ended_now, left = wait(left, LOOK_SECONDS, FIRST_COMPLETED)
                for future in ended_now:
                    future.result()
                if ended_now:
                    _tell(progress, len(modules) - len(left), modules, futures)
        except BaseException as error:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, KeyboardInterrupt):
                raise
            interrupted = True
    # All threads have ended by now: unfinished work was cancelled, or raised an interruption.
    ended = [
        future
        for future in futures
        if not interrupted or not (future.cancelled() or future.exception() is not None)
    ]
    return tuple(future.result() for future in ended), interrupted
