"""`coldfork check --watch`: checks again whenever a file changes that the last answer rests on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from coldfork.checking import configuration
from coldfork.checking.inspection import Inspection
from coldfork.checking.request import CheckRequest, paths_or_default
from coldfork.checking.session import CheckSession
from coldfork.cli import output
from coldfork.cli.failures import ERROR, INTERRUPTED
from coldfork.cli.inspection import asked
from coldfork.model.errors import ColdforkError
from coldfork.report.shared.progress import ProgressBar
from coldfork.report.shared.quantities import plural

Judge = Callable[[Inspection, dict[str, Any]], tuple[int, Callable[[], None]]]
"""Returns the exit status that a check comes to, and a function that prints the result."""
Times = Mapping[str, tuple[int, int] | None]
"""Size and time of change by path; None for what is not there."""

_SOURCES = (".py", ".pyw", ".ipynb", ".so", ".pyd", configuration.FILE, "setup.cfg", "setup.py")
_NEVER_READ = frozenset({"__pycache__", "node_modules"})
_INTERVAL = 0.2
_SHARE = 10
"""Looking takes at most one part in so many of the time."""
_MOST_NAMED = 3


def watch(context: click.Context, paths: tuple[Path, ...], judge: Judge) -> int:
    """Check until Ctrl-C; the status of the last check."""
    return _Rounds(context, paths, judge).run()


class _Rounds:
    """The checks one after the other."""

    def __init__(self, context: click.Context, paths: tuple[Path, ...], judge: Judge) -> None:
        self._context = context
        self._paths = paths
        self._judge = judge
        self._watched = _Watched(paths_or_default(paths))
        self._status: int | None = None
        """What the last check came to: known before its result is printed, for Ctrl-C may come in between."""

    def run(self) -> int:
        """Check until Ctrl-C."""
        with CheckSession(cache=not self._context.params["no_cache"], hurried=False) as session:
            try:
                self._check(session)
                output.note(f"watching {plural(self._watched.count, 'file')}; Ctrl-C ends it")
                while True:
                    what = self._watched.changed()
                    output.note(f"{time.strftime('%H:%M:%S')} {what}; checking again")
                    self._check_again(session)
            except KeyboardInterrupt:
                if sys.stderr is not None and sys.stderr.isatty():
                    click.echo(err=True)  # after the terminal's ^C
        return INTERRUPTED if self._status is None else self._status

    def _check(self, session: CheckSession) -> None:
        self._watched.begin()
        request, settings = asked(self._context, self._paths)
        with ProgressBar(sys.stderr) as bar:
            inspection = session.inspect(request, bar.update)
        self._watched.end(request, (*session.files(), *_checked(inspection)))
        self._status, show = self._judge(inspection, settings)
        show()

    def _check_again(self, session: CheckSession) -> None:
        """The same, where what cannot be checked now may be mended meanwhile."""
        try:
            self._check(session)
        except ColdforkError as error:
            self._status = ERROR
            output.note(str(error))


def _checked(inspection: Inspection) -> Iterator[str]:
    return (module.file for module in inspection.observation.modules if module.file)


class _Watched:
    """The files that an answer rests on, and how they were before it was asked for.

    They are looked at again and again: that works on every system and for files of other machines, too.
    """

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._rest: frozenset[str] = frozenset()
        """What lies elsewhere: packages, the configuration, the baseline."""
        self._times: Times = {}
        self._began = 0
        self._pause = _INTERVAL

    @property
    def count(self) -> int:
        """How many files there are."""
        return sum(times is not None for times in self._times.values())

    def begin(self) -> None:
        """A check begins: what changes from now on is for the next one."""
        self._began = time.time_ns()
        self._times = self._look()

    def end(self, request: CheckRequest, files: Iterable[str]) -> None:
        """A check is over, and rests on these files besides."""
        settings = request.configuration.file
        others = (None if settings is None else str(settings), request.baseline)
        self._rest = frozenset((*files, *(str(Path(other).absolute()) for other in others if other)))
        new = self._rest - self._times.keys()
        # What was met only now counts as changed where that happened since the check began.
        late = {file: times for file in new if (times := _times(file)) is None or times[1] < self._began}
        self._times = {**self._times, **dict.fromkeys(new, (-1, -1)), **late}

    def changed(self) -> str:
        """Wait until something has changed, and nothing more does; what that was, in words."""
        before = self._times
        seen = before
        while True:
            time.sleep(self._pause)
            now = self._look()
            if now == seen != before:
                return _words(before, now)
            seen = now

    def _look(self) -> Times:
        began = time.perf_counter()
        files = {file for path in self._paths for file in _below(str(path.absolute()))}
        found = {file: _times(file) for file in files | self._rest}
        self._pause = max(_INTERVAL, _SHARE * (time.perf_counter() - began))
        return found


def _words(before: Times, now: Times) -> str:
    """`src/a.py changed, src/b.py is gone`."""
    kinds = {
        file: "was added" if before.get(file) is None else "is gone" if now.get(file) is None else "changed"
        for file in sorted(before.keys() | now.keys())
        if before.get(file) != now.get(file)
    }
    named = [f"{os.path.relpath(file)} {how}" for file, how in kinds.items()]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more


def _below(path: str) -> Iterator[str]:
    """The file, or the sources in the folder."""
    try:
        entries = list(os.scandir(path))
    except NotADirectoryError:
        yield path
        return
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name not in _NEVER_READ and not entry.is_symlink():
                yield from _below(entry.path)
        elif entry.name.endswith(_SOURCES):
            yield entry.path


def _times(file: str) -> tuple[int, int] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
