"""`coldfork check --watch`: checks again whenever a file changes on which the last result depends."""

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
"""Returns the exit status of a check, and a function that prints its result."""
Times = Mapping[str, tuple[int, int] | None]
"""Size and modification time by path; None for a missing file."""

_SOURCES = (".py", ".pyw", ".ipynb", ".so", ".pyd", configuration.FILE, "setup.cfg", "setup.py")
_NEVER_READ = frozenset({"__pycache__", "node_modules"})
_INTERVAL = 0.2
_SHARE = 10
"""The pause between two looks at the files lasts this many times as long as a look."""
_MOST_NAMED = 3


def watch(context: click.Context, paths: tuple[Path, ...], judge: Judge) -> int:
    """Check until Ctrl-C, and return the status of the last check."""
    return _Rounds(context, paths, judge).run()


class _Rounds:
    """The sequence of checks."""

    def __init__(self, context: click.Context, paths: tuple[Path, ...], judge: Judge) -> None:
        self._context = context
        self._paths = paths
        self._judge = judge
        self._watched = _Watched(paths_or_default(paths))
        self._status: int | None = None
        """The status of the last check; set before its result is printed, because Ctrl-C may come in
        between.
        """

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
                    click.echo(err=True)  # ends the line on which the terminal showed ^C
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
        """Check again; print an error instead of ending, because the next change may fix its cause."""
        try:
            self._check(session)
        except ColdforkError as error:
            self._status = ERROR
            output.note(str(error))


def _checked(inspection: Inspection) -> Iterator[str]:
    return (module.file for module in inspection.observation.modules if module.file)


class _Watched:
    """The files that a result depends on, and their state before the check.

    The files are polled, which works on every system, even for files on other machines.
    """

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._paths = paths
        self._rest: frozenset[str] = frozenset()
        """The files outside the paths: packages, the configuration, the baseline."""
        self._times: Times = {}
        self._began = 0
        self._pause = _INTERVAL

    @property
    def count(self) -> int:
        """The number of existing files."""
        return sum(times is not None for times in self._times.values())

    def begin(self) -> None:
        """Record that a check begins; changes from now on require another check."""
        self._began = time.time_ns()
        self._times = self._look()

    def end(self, request: CheckRequest, files: Iterable[str]) -> None:
        """Record that a check has ended, and that its result depends on these files, too."""
        settings = request.configuration.file
        others = (None if settings is None else str(settings), request.baseline)
        self._rest = frozenset((*files, *(str(Path(other).absolute()) for other in others if other)))
        new = self._rest - self._times.keys()
        # Files seen here for the first time count as changed if they have changed since the check began.
        late = {file: times for file in new if (times := _times(file)) is None or times[1] < self._began}
        self._times = {**self._times, **dict.fromkeys(new, (-1, -1)), **late}

    def changed(self) -> str:
        """Wait until files have changed and no more changes follow; return a description of the changes."""
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
    """Return a description of changes, such as `src/a.py changed, src/b.py is gone`."""
    kinds = {
        file: "was added" if before.get(file) is None else "is gone" if now.get(file) is None else "changed"
        for file in sorted(before.keys() | now.keys())
        if before.get(file) != now.get(file)
    }
    named = [f"{os.path.relpath(file)} {how}" for file, how in kinds.items()]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more


def _below(path: str) -> Iterator[str]:
    """Yield the file itself, or the sources in the folder."""
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
