"""Whether the environment that coldfork runs in is the checked code's too, or holds coldfork only."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from coldfork.source.files.modules_of_tests import is_test
from coldfork.source.files.reading import CannotRead, read_bytes
from coldfork.source.files.site_packages import DIST_INFO, names_in, normalised, text_of

_MOST_FILES = 200
"""So many files tell well enough what the others import."""
_STATEMENT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b"
    rb"|import[ \t]+([A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*)*))",
    re.MULTILINE,
)
_REQUIRES = re.compile(r"^Requires-Dist:[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)([^\n]*)", re.MULTILINE)
_TOOLS = ("coldfork", "pip", "setuptools", "wheel")
"""What an environment made for coldfork alone holds besides what coldfork depends on."""


def serves(folders: Sequence[Path], paths: Sequence[Path]) -> bool:
    """True when at least half of what the code under the paths imports is in these folders.

    What is there for coldfork's own sake tells nothing, unless the code imports nothing else.
    """
    beside = [folder for path in paths for folder in _roots(path)]
    imported = frozenset(name for name in _imported(paths) if not _is_in(name, beside))
    ours = _brought_along(folders)
    telling = (imported - ours) or imported
    found = sum(_is_in(name, folders) for name in telling)
    return found > 0 and 2 * found >= len(telling)


def _imported(paths: Iterable[Path]) -> frozenset[str]:
    """The packages that the code imports at the top level of its modules; if there are none, anywhere."""
    always: set[str] = set()
    sometimes: set[str] = set()
    for file in _some_files(paths):
        try:
            source = read_bytes(str(file))
        except CannotRead:
            continue
        for indent, origin, modules in _STATEMENT.findall(source):
            names = {name.strip().partition(b".")[0].decode() for name in (origin or modules).split(b",")}
            (sometimes if indent else always).update(names)
    standard = sys.stdlib_module_names
    return frozenset(always - standard) or frozenset(sometimes - standard)


def _roots(path: Path) -> tuple[Path, ...]:
    """The folders from which the code under a path imports its own modules."""
    top = path.absolute() if path.is_dir() else path.absolute().parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    return top, top / "src"


def _some_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Python files under the paths, those of tests left out; not more than are needed."""
    left = _MOST_FILES
    for path in paths:
        for file in [path] if path.is_file() else _files_below(path):
            if left == 0:
                return
            left -= 1
            yield file.absolute()


def _files_below(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name.isidentifier())
        for name in sorted(names):
            file = Path(here, name)
            if name.endswith(".py") and not is_test(file.stem, file.relative_to(folder).as_posix()):
                yield file


def _is_in(package: str, folders: Sequence[Path]) -> bool:
    """True when a top-level package or module lies in one of the folders."""
    return any(
        name == package or name.startswith(f"{package}.") for folder in folders for name in names_in(folder)
    )


def _brought_along(folders: Sequence[Path]) -> frozenset[str]:
    """The top-level names that coldfork and its dependencies brought into an environment."""
    places = {
        normalised(matched.group(1)): folder / name
        for folder in folders
        for name in names_in(folder)
        if (matched := DIST_INFO.match(name))
    }
    brought: set[str] = set()
    pending = list(_TOOLS)
    while pending:
        name = pending.pop()
        place = places.pop(name, None)
        if place is None:
            continue
        brought |= _modules_of(place)
        if name in _TOOLS and name != "coldfork":
            continue
        requirements = _REQUIRES.findall(text_of(place / "METADATA"))
        pending += [normalised(required) for required, rest in requirements if "extra ==" not in rest]
    return frozenset(brought)


def _modules_of(place: Path) -> set[str]:
    """The top-level names of what a distribution installed."""
    lines = text_of(place / "RECORD").splitlines()
    return {
        re.split(r"[/.]", line, maxsplit=1)[0] for line in lines if line and not line.startswith(("..", "/"))
    }
