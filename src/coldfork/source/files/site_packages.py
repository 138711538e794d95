"""Finds the environment whose third-party sources are read, without running its code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from coldfork.model.errors import UsageError
from coldfork.model.observations import Origin
from coldfork.source.files.reading import CannotRead, read_bytes
from coldfork.source.files.started import is_test

DIST_INFO = re.compile(r"^(.+?)-([^-]+)\.(?:dist-info|egg-info)$")


class Environment(NamedTuple):
    """The folders of an environment, and how the environment was chosen."""

    folders: tuple[Path, ...]
    origin: Origin


def search_path(python: Path | None, site_packages: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders to search for dependencies, including those of `.pth` files and editable
    installs.
    """
    return environment(python, site_packages).folders


def environment(python: Path | None, site_packages: Sequence[Path]) -> Environment:
    """Return the environment that was named, or the active one, or the one in `.venv`, or coldfork's own."""
    origin = Origin.NAMED
    if site_packages:
        for folder in site_packages:
            if not folder.is_dir():
                raise UsageError(f"--site-packages {folder}: no such folder")
        folders = list(site_packages)
    elif python is not None:
        folders = _folders_of(python)
    else:
        folders, origin = _folders_of_default()
    found: list[Path] = []
    for folder in folders:
        for entry in (folder, *_mounted(folder)):
            if entry not in found:
                found.append(entry)
    return Environment(tuple(found), origin)


def _folders_of(python: Path) -> list[Path]:
    """Return an interpreter's site-packages folders, judging by its location: `bin/python`,
    `lib/python3.x`.
    """
    if not python.exists():
        raise UsageError(f"--python {python}: no such file")
    if python.is_dir():
        prefixes = [python]
    else:
        prefixes = [python.absolute().parent.parent, python.resolve().parent.parent]
    for prefix in prefixes:
        found = _under_prefix(prefix)
        if found:
            return found
    raise UsageError(f"--python {python}: no site-packages folder beside it; name one with --site-packages")


#: Folders of packages below an interpreter's prefix; Debian's own packages are in `dist-packages`.
_PLACES = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "Lib/site-packages",
    "local/lib/python3*/dist-packages",
    "lib/python3*/dist-packages",
)


def _under_prefix(prefix: Path) -> list[Path]:
    found: list[Path] = []
    for pattern in _PLACES:
        for folder in sorted(prefix.glob(pattern)):
            if folder.is_dir() and folder.resolve() not in [f.resolve() for f in found]:
                found.append(folder)
    return found


def _folders_of_default() -> tuple[list[Path], Origin]:
    """Return the folders of the active environment, of `.venv`, or of coldfork's own environment."""
    active = os.environ.get("VIRTUAL_ENV")
    candidates = [(Path(active), Origin.ACTIVE)] if active else []
    for prefix, origin in (*candidates, (Path(".venv"), Origin.NEIGHBOUR)):
        found = _under_prefix(prefix)
        if found:
            # coldfork's own environment may be the active one, yet lack the packages of the checked code.
            ours = origin is Origin.ACTIVE and os.path.realpath(prefix) == os.path.realpath(sys.prefix)
            return found, Origin.OWN if ours else origin
    own = [Path(p) for p in sys.path if p.endswith(("site-packages", "dist-packages")) and os.path.isdir(p)]
    return own, Origin.OWN


def _mounted(folder: Path) -> list[Path]:
    """Return the folders that the `.pth` files in a site-packages folder add; code in these files is
    not run.
    """
    found = []
    for name in sorted(names_in(folder)):
        if not name.endswith(".pth") or name.startswith("."):
            continue
        for line in text_of(folder / name).splitlines():
            line = line.strip()
            if not line or line.startswith(("#", "import ", "import\t")):
                continue
            entry = folder / line
            if entry.is_dir():
                found.append(entry)
    found += _editable_finders(folder)
    return found


_MAPPING = re.compile(r"^MAPPING\b[^=]*=\s*(\{.*?\})\s*$", re.MULTILINE | re.DOTALL)


def _editable_finders(folder: Path) -> list[Path]:
    """Return the folders of editable installs, read from setuptools' generated finders without
    running them.
    """
    found = []
    for name in names_in(folder):
        if not (name.startswith("__editable___") and name.endswith("_finder.py")):
            continue
        try:
            matched = _MAPPING.search((folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        if matched is None:
            continue
        import ast

        try:
            mapping = ast.literal_eval(matched.group(1))
        except (ValueError, SyntaxError):
            continue
        if isinstance(mapping, dict):
            found += [Path(path).parent for path in mapping.values() if isinstance(path, str)]
    return found


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder; empty if it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def records_in(folder: Path) -> list[re.Match[str]]:
    """Return the names of the metadata folders in a folder, each matched with `DIST_INFO`."""
    # A folder may hold thousands of other names, which the ending tells apart sooner than the pattern.
    likely = sorted(name for name in names_in(folder) if name.endswith("-info"))
    return [matched for name in likely if (matched := DIST_INFO.match(name))]


def text_of(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def versions(search: Sequence[Path]) -> dict[str, str]:
    """Return the versions of the installed distributions, by normalised name, from their metadata folders'
    names.
    """
    found: dict[str, str] = {}
    for folder in search:
        for matched in records_in(folder):
            found.setdefault(normalised(matched.group(1)), matched.group(2))
    return found


def normalised(distribution: str) -> str:
    """Return the name of a distribution in the form in which package indexes compare names."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


class Distributions:
    """The metadata of installed distributions."""

    def __init__(self, search: Sequence[Path]) -> None:
        self._search = tuple(search)
        self.versions: dict[str, str] = versions(search)
        self._entry_points: dict[str, list[tuple[str, str]]] | None = None

    def entry_points(self, group: str) -> tuple[tuple[str, str], ...]:
        """Return the name and target of each entry point in a group."""
        if self._entry_points is None:
            self._entry_points = {}
            for folder in self._search:
                for matched in records_in(folder):
                    # coldfork's own entry points wake nothing, and reports must not depend on whether
                    # coldfork is installed.
                    if matched.group(1) != "coldfork":
                        self._read(folder / matched.string / "entry_points.txt")
        return tuple(self._entry_points.get(group, ()))

    def _read(self, file: Path) -> None:
        assert self._entry_points is not None
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        group = ""
        for line in lines:
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                group = line[1:-1].strip()
            elif "=" in line and not line.startswith(("#", ";")):
                name, _, target = line.partition("=")
                self._entry_points.setdefault(group, []).append((name.strip(), target.strip()))


_MOST_FILES = 200
"""At most this many files are read; further ones rarely import anything else."""
_STATEMENT = re.compile(
    rb"^([ \t]*)(?:from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b"
    rb"|import[ \t]+([A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*)*))",
    re.MULTILINE,
)
_REQUIRES = re.compile(r"^Requires-Dist:[ \t]*([A-Za-z0-9][A-Za-z0-9._-]*)([^\n]*)", re.MULTILINE)
_TOOLS = ("coldfork", "pip", "setuptools", "wheel")
"""Packages that are in any environment made only for coldfork, besides coldfork's dependencies."""


def serves(folders: Sequence[Path], paths: Sequence[Path]) -> bool:
    """Return True if the folders contain at least half of the packages that the code under the paths imports.

    Packages that are installed only for coldfork do not count, unless the code imports no others.
    """
    beside = [folder for path in paths for folder in _roots(path)]
    imported = frozenset(name for name in _imported(paths) if not _is_in(name, beside))
    if not any(_is_in(name, folders) for name in imported):
        return False
    ours = _brought_along(folders)
    telling = (imported - ours) or imported
    found = sum(_is_in(name, folders) for name in telling)
    return found > 0 and 2 * found >= len(telling)


def _imported(paths: Iterable[Path]) -> frozenset[str]:
    """Return the packages that the code imports at the top level of modules or, if none, in functions."""
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
    """Return the folders from which code under a path can import its own modules."""
    top = path.absolute() if path.is_dir() else path.absolute().parent
    while (top / "__init__.py").is_file() and top != top.parent:
        top = top.parent
    return top, top / "src"


def _some_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield Python files under the paths, except tests, up to a limit."""
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
    """Return True if a top-level package or module is in one of the folders."""
    return any(
        name == package or name.startswith(f"{package}.") for folder in folders for name in names_in(folder)
    )


def _brought_along(folders: Sequence[Path]) -> frozenset[str]:
    """Return the top-level names in an environment that are there only because coldfork needs them."""
    places = {
        normalised(matched.group(1)): folder / matched.string
        for folder in folders
        for matched in records_in(folder)
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
    """Return the top-level names installed by a distribution."""
    lines = text_of(place / "RECORD").splitlines()
    return {
        line.partition("/")[0].partition(".")[0]
        for line in lines
        if line and not line.startswith(("..", "/"))
    }
