"""Takes the Python files out of wheels and source archives, and nothing that points elsewhere."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, cast

from published.errors import UnavailableError
from published.remote import RemoteFile

KEPT_SUFFIXES = (".py", ".pyi", ".pyx", ".pth")
#: Of a wheel's metadata, what says which distribution and version it is and which entry points it has.
KEPT_METADATA = frozenset({"METADATA", "entry_points.txt", "top_level.txt"})


def unpack(archive: IO[bytes], filename: str, target: Path) -> int:
    """Write the wanted members of an archive under `target`; the number of files written."""
    count = 0
    members = _of_zip(archive) if filename.endswith((".whl", ".zip")) else _of_tar(archive)
    for name, data in members:
        place = target / safe_name(name, filename)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        count += 1
    if count == 0:
        raise UnavailableError(f"{filename} holds no Python file")
    return count


def wanted(name: str) -> bool:
    """Whether a member is worth keeping: Python source, path files, and what names the distribution."""
    path = PurePosixPath(name)
    return path.suffix in KEPT_SUFFIXES or (path.name in KEPT_METADATA and ".dist-info" in path.parent.name)


def safe_name(name: str, archive: str) -> str:
    """A member's name, refused when it would be written outside the folder."""
    path = PurePosixPath(name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name
    if outside or not path.parts:
        raise UnavailableError(
            f"{archive} holds {name!r}, which leads out of its folder; nothing of it is kept"
        )
    return str(path)


def _of_zip(archive: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as wheel:
        members = [member for member in wheel.infolist() if not member.is_dir() and wanted(member.filename)]
        if isinstance(archive, RemoteFile):
            archive.ensure(_spans(wheel, members))
        for member in members:
            yield member.filename, wheel.read(member)


def _spans(wheel: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> list[tuple[int, int]]:
    """Where the members lie in the file: each ends where the next one, or the directory, begins."""
    starts = sorted(member.header_offset for member in wheel.infolist())
    follower = dict(zip(starts, [*starts[1:], wheel.start_dir], strict=True))
    return [(member.header_offset, follower[member.header_offset]) for member in members]


def _of_tar(archive: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Members of a source archive without the folder NAME-VERSION that all of them lie in."""
    with tarfile.open(fileobj=archive) as bundle:
        for member in bundle:
            inner = member.name.removeprefix("./").partition("/")[2]
            if member.isfile() and inner and wanted(inner):
                yield inner, cast(IO[bytes], bundle.extractfile(member)).read()
