"""Shortens paths to the part that people know, and quotes source lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from coldfork.model.states import Frame, Waker
from coldfork.model.timelines import Process, Recording
from coldfork.report.shared.options import Options, Source

_PACKAGES = re.compile(r"^.*[/\\](?:site|dist)-packages[/\\]")
_STANDARD_LIBRARY = re.compile(r"^.*[/\\]lib(?:64)?[/\\](python3\.\d+[/\\])")


def for_people(recording: Recording, options: Options) -> tuple[Recording, Options]:
    """Return the recording with short paths, and options with which source lines can still be found."""
    known: dict[str, str] = {}

    def short(path: str) -> str:
        shortened = familiar(path, recording.cwd)
        known.setdefault(shortened, path)
        return shortened

    def source(path: str, line: int) -> str:
        return options.source(known.get(path, path), line)

    processes = tuple(_shortened(process, short) for process in recording.processes)
    return replace(recording, processes=processes), replace(options, source=source)


def familiar(path: str, cwd: str) -> str:
    """Return a path without the part that is specific to the machine."""
    if cwd and cwd not in ("/", "\\") and path.startswith((f"{cwd}/", f"{cwd}\\")):
        path = path[len(cwd) + 1 :]
    path = _PACKAGES.sub("", path)
    return _STANDARD_LIBRARY.sub(r"\1", path)


def _shortened(process: Process, short: Callable[[str], str]) -> Process:
    def frames(stack: tuple[Frame, ...]) -> tuple[Frame, ...]:
        return tuple(replace(frame, path=short(frame.path)) for frame in stack)

    def waker(one: Waker) -> Waker:
        chain = tuple(
            replace(site, path=None if site.path is None else short(site.path)) for site in one.import_chain
        )
        return replace(
            one,
            path=None if one.path is None else short(one.path),
            import_chain=chain,
            stack=frames(one.stack),
        )

    return replace(
        process,
        wakes=tuple(
            replace(wake, waker=None if wake.waker is None else waker(wake.waker)) for wake in process.wakes
        ),
        happenings=tuple(replace(one, stack=frames(one.stack)) for one in process.happenings),
        departures=tuple(replace(one, stack=frames(one.stack)) for one in process.departures),
    )


#: A recording may come from anyone and name any file, so only lines of Python files are quoted.
_SOURCE_SUFFIXES = frozenset({".py", ".pyi", ".pyx"})
_LONGEST = 200
_LARGEST_FILE = 8 * 1024 * 1024


def reader(started: str, cwd: str = "") -> Source:
    """Return a function that quotes lines of Python files, if the files are older than the recording."""
    recorded = _timestamp(started)

    @lru_cache(maxsize=256)
    def lines(path: str) -> tuple[str, ...]:
        file = Path(cwd) / path
        try:
            status = file.stat()
            fits = file.suffix in _SOURCE_SUFFIXES and file.is_file() and status.st_size <= _LARGEST_FILE
            if not fits or recorded is None or status.st_mtime > recorded:
                return ()
            return tuple(file.read_text(encoding="utf-8", errors="replace").splitlines())
        except (OSError, ValueError):
            return ()

    def source(path: str, line: int) -> str:
        held = lines(path)
        return held[line - 1].strip()[:_LONGEST] if 0 < line <= len(held) else ""

    return source


def _timestamp(started: str) -> float | None:
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
