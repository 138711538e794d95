"""Fetches the Python files of published packages."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from published import archives, places
from published.errors import UnavailableError
from published.index import Index, PublishedFile, configured
from published.remote import RemoteFile

#: A source archive above this size is mostly data; the wheel's Python files travel faster.
LARGE_SDIST = 150 * 1000 * 1000

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A published version, and which of its files to take when it matters."""

    name: str
    version: str
    kind: str | None = None

    @property
    def folder(self) -> str:
        """The name of the folder that holds its sources."""
        return f"{self.name}-{self.version}"

    @classmethod
    def parse(cls, text: str) -> Wanted:
        """Read `NAME==VERSION`, `NAME==VERSION:wheel` or `NAME==VERSION:sdist`."""
        match = re.fullmatch(r"([\w.-]+)==([^:=\s]+)(?::(wheel|sdist))?", text)
        if match is None:
            raise UnavailableError(
                f"{text!r} is not NAME==VERSION, NAME==VERSION:wheel or NAME==VERSION:sdist"
            )
        try:
            Version(match[2])
        except InvalidVersion as error:
            raise UnavailableError(f"{text!r} names no version: {error}") from error
        return cls(canonicalize_name(match[1]), match[2], match[3])


def present(wanted: Wanted, folder: Path) -> Path | None:
    """The folder of a version's sources when it is here, complete, and of the kind that is wanted."""
    return next((place for place in _homes(wanted, folder) if _serves(place, wanted)), None)


def obtain(wanted: Wanted) -> Path:
    """The folder of a version's sources, fetched from the configured index, audibly, unless they are here."""
    folder = places.sources()
    return present(wanted, folder) or fetch(wanted, folder, configured(), _tell)


def _homes(wanted: Wanted, folder: Path) -> tuple[Path, ...]:
    """Where a version's sources may lie: a second place is for the kind that came after the other one."""
    place = folder / wanted.folder
    return (place,) if wanted.kind is None else (place, place.with_name(f"{place.name}.{wanted.kind}"))


def _serves(place: Path, wanted: Wanted) -> bool:
    """Whether what lies there is complete and of the kind that is wanted."""
    if wanted.kind is None or not _complete(place):
        return _complete(place)
    file: str = json.loads((place / places.MARKER).read_text(encoding="utf-8"))["file"]
    return wanted.kind == ("wheel" if file.endswith(".whl") else "sdist")


def _complete(place: Path) -> bool:
    return (place / places.MARKER).exists()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def fetch(wanted: Wanted, folder: Path, index: Index, say: Say) -> Path:
    """Bring a version's Python files into `folder`, unless they are there; the folder they lie in."""
    here = present(wanted, folder)
    if here is not None:
        return here
    file = choose(index.files(wanted.name), wanted)
    say(f"{wanted.folder}: {file.filename}")
    part = folder / f".{file.filename}.part"
    fetched = 0

    def report(count: int) -> None:
        nonlocal fetched
        fetched += count
        say(f"{wanted.folder}: {fetched / 1e6:.1f} MB of at most {(file.size or 0) / 1e6:.1f} MB fetched")

    with RemoteFile(index, file, part, report) as remote:
        if not file.is_wheel:
            # It is read from its beginning to its end, which block by block would be a request each.
            remote.ensure([(0, remote.size)])
        place = settle(wanted, file.filename, cast(IO[bytes], remote), folder)
    part.unlink(missing_ok=True)
    part.with_name(part.name + ".blocks").unlink(missing_ok=True)
    return place


def settle(wanted: Wanted, filename: str, archive: IO[bytes], folder: Path) -> Path:
    """Unpack an archive beside its place and move it there in one step, so that nobody sees half of it."""
    place = next(home for home in _homes(wanted, folder) if _serves(home, wanted) or not _complete(home))
    beside = Path(tempfile.mkdtemp(prefix=f".{wanted.folder}.", dir=folder))
    try:
        count = archives.unpack(archive, filename, beside)
        beside.chmod(0o755)
        (beside / places.MARKER).write_text(json.dumps({"file": filename, "n": count}), encoding="utf-8")
        if place.exists() and not _complete(place):
            shutil.rmtree(place)
        try:
            beside.rename(place)
        except OSError:
            if not _complete(place):
                raise
        return place
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def choose(files: Iterable[PublishedFile], wanted: Wanted) -> PublishedFile:
    """The file to take: a pure wheel, else the source archive, else the wheel for Linux on x86-64."""
    of_version = [file for file in files if file.version == Version(wanted.version)]
    wheels = sorted((file for file in of_version if file.is_wheel), key=_wheel_rank)
    archives_ = [file for file in of_version if not file.is_wheel]
    pure = [wheel for wheel in wheels if wheel.filename.endswith("-none-any.whl")]
    small = [file for file in archives_ if (file.size or 0) < LARGE_SDIST]
    order = {"wheel": wheels, "sdist": archives_}.get(wanted.kind or "", [*pure, *small, *wheels, *archives_])
    if not order:
        kinds = ", ".join(sorted(file.filename for file in of_version)) or "nothing"
        raise UnavailableError(
            f"{wanted.name} {wanted.version}: no {wanted.kind or 'file'} on the index, only {kinds}"
        )
    return order[0]


def _wheel_rank(file: PublishedFile) -> tuple[bool, bool, int, str]:
    return ("none-any" not in file.filename, "x86_64" not in file.filename, file.size or 0, file.filename)
