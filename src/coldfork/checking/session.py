"""Checks from Python: a single check, and a session that keeps files and results between checks."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from coldfork.checking.environment import Environments
from coldfork.checking.inspection import Inspection, inspect
from coldfork.checking.reporting import report_of
from coldfork.checking.request import CheckRequest, configured
from coldfork.checking.settings import refuse_version
from coldfork.model.effects import PROFILES
from coldfork.model.errors import UsageError
from coldfork.model.findings import Report
from coldfork.model.observations import Progress
from coldfork.source.program.holding import Held
from coldfork.source.program.keeping import OnDisk

PathLike = str | os.PathLike[str]
Overlays = Mapping[str, str | bytes] | Mapping[Path, str | bytes]
_NOTHING: Overlays = MappingProxyType({})


class CheckSession:
    """Runs several checks, each of which analyses again only what has changed since the previous one.

    It keeps summaries and results in memory, and reads a file again only if its time stamp has changed. It
    starts no thread, and no process unless that is allowed. Two threads must not use it at once.
    """

    def __init__(self, *, cache: bool = True, hurried: bool = True) -> None:
        """Start without results; if `cache` is false, the cache on disk is neither read nor written.

        If `hurried`, checks after the first may follow programs less far, to keep up with typing.
        """
        self._cache = cache
        self._hurried = hurried
        self._held: Held | None = Held(OnDisk() if cache else None)
        self._environments = Environments()
        self._written = False

    def check(
        self,
        paths: PathLike | Iterable[PathLike] = (),
        *,
        overlays: Overlays = _NOTHING,
        entry: str | Iterable[str] = (),
        profile: str | None = None,
        target_version: str | None = None,
        baseline: PathLike | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Report:
        """Check files and folders as `coldfork check` does, with the nearest configuration.

        `overlays` are the texts of files that differ from the disk, or do not exist there, by path: an
        editor's buffers. If an argument is None, the configuration decides. `cancelled` is called between
        functions; once it returns true, the check raises `CheckCancelledError`, and the session can be used
        for the next one.
        """
        asked = {
            "entry": ((entry,) if isinstance(entry, str) else tuple(entry)) or None,
            "profile": _known_profile(profile),
            "target-version": _known_version(target_version),
            "baseline": None if baseline is None else os.fspath(baseline),
        }
        wanted = (paths,) if isinstance(paths, (str, os.PathLike)) else paths
        request = configured(tuple(map(Path, wanted)), asked, _by_absolute_path(overlays))
        return report_of(self.inspect(replace(request, cancelled=cancelled)))

    def inspect(self, request: CheckRequest, progress: Progress | None = None) -> Inspection:
        """Run the check that a request describes; `check` uses this method."""
        if self._held is None:
            raise UsageError("this session is closed; make another CheckSession")
        # Hurried results must not be cached; the first check is never hurried, because its results are kept
        # on disk.
        asked = replace(request, cache=request.cache and self._cache, hurried=self._hurried and self._written)
        with _without_collecting():
            inspection = inspect(asked, progress, store=self._held, find=self._environments)
        if not self._written and not request.overlays:
            self._held.write()  # written only once, because later results must not wait for the disk
            self._written = True
        return inspection

    def files(self) -> frozenset[str]:
        """Return the files on which the results so far depend, including files of packages."""
        return frozenset(() if self._held is None else self._held.files())

    def close(self) -> None:
        """Release all kept data; closing a session twice is not an error."""
        if self._held is not None:
            self._held.drop()
        self._held = None

    def __enter__(self) -> CheckSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Suspend the garbage collector, which would traverse all kept data and find nothing to free."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def check(
    paths: PathLike | Iterable[PathLike] = (),
    *,
    overlays: Overlays = _NOTHING,
    entry: str | Iterable[str] = (),
    profile: str | None = None,
    target_version: str | None = None,
    baseline: PathLike | None = None,
) -> Report:
    """Check files and folders once, as `coldfork check` does; for several checks, use a `CheckSession`."""
    with CheckSession() as session:
        return session.check(
            paths,
            overlays=overlays,
            entry=entry,
            profile=profile,
            target_version=target_version,
            baseline=baseline,
        )


def _known_profile(name: str | None) -> str | None:
    if name is not None and name not in PROFILES:
        raise UsageError(f"there is no profile {name!r}; choose from {', '.join(PROFILES)}")
    return name


def _known_version(text: str | None) -> str | None:
    reason = None if text is None else refuse_version(text)
    if reason:
        raise UsageError(f"target_version: {reason}")
    return text


def _by_absolute_path(overlays: Overlays) -> dict[str, bytes]:
    return {
        str(Path(path).absolute()): text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        for path, text in overlays.items()
    }
