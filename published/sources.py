"""Fetches the Python files of published packages."""

from __future__ import annotations

import json
import re
import shutil
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
    """The folder of a version's sources when it is here and complete."""
    place = folder / wanted.folder
    return place if (place / places.MARKER).exists() else None


def obtain(wanted: Wanted) -> Path:
    """The folder of a version's sources, fetched from the configured index unless they are here."""
    folder = places.sources()
    return present(wanted, folder) or fetch(wanted, folder, configured(), lambda line: None)


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
        place = settle(wanted, file.filename, cast(IO[bytes], remote), folder)
    part.unlink(missing_ok=True)
    part.with_name(part.name + ".blocks").unlink(missing_ok=True)
    return place


def settle(wanted: Wanted, filename: str, archive: IO[bytes], folder: Path) -> Path:
    """Unpack an archive beside its place and move it there in one step, so that nobody sees half of it."""
    place = folder / wanted.folder
    beside = Path(tempfile.mkdtemp(prefix=f".{wanted.folder}.", dir=folder))
    try:
        count = archives.unpack(archive, filename, beside)
        beside.chmod(0o755)
        (beside / places.MARKER).write_text(json.dumps({"file": filename, "n": count}), encoding="utf-8")
        if place.exists() and not (place / places.MARKER).exists():
            shutil.rmtree(place)
        try:
            beside.rename(place)
        except OSError:
            if not (place / places.MARKER).exists():
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
