"""The requirements of a project, read from its files without running any code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from coldfork.source.files.site_packages import DIST_INFO, names_in, normalised, records_in, text_of

Required = dict[str, tuple[str, ...]]
"""The version specifiers that a project names, by normalised distribution; at least one of them applies."""

_REQUIREMENT = re.compile(r"^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*\(?([^;#@()]*)\)?")
_FILES = ("pyproject.toml", "setup.cfg", "setup.py", "PKG-INFO")
_MOST_LEVELS = 6
_POETRY = re.compile(r"^([\^~])\s*(\d+(?:\.\d+)*)$")


class _Line(NamedTuple):
    """A requirement as it is written in a file."""

    text: str
    optional: bool
    """Whether the requirement belongs to an extra, a group or a list for developers."""


def requirements(paths: Iterable[Path]) -> Required:
    """Return the versions that the projects and wheels of these paths allow, including their extras."""
    found: dict[str, dict[str, None]] = {}
    bounded: set[str] = set()
    anything: set[str] = set()
    for line in _stated(paths):
        matched = _REQUIREMENT.match(line.text.strip())
        if matched is None:
            continue
        name, specifier = normalised(matched[1]), re.sub(r"\s+", "", matched[2]).strip(",")
        if specifier:
            found.setdefault(name, {})[specifier] = None
        if not line.optional and _holds_here(line.text.partition(";")[2]):
            (bounded if specifier else anything).add(name)
    # The limits of an extra do not bind users without the extra, if the project itself allows any version.
    free = anything - bounded
    return {name: tuple(specifiers) for name, specifiers in found.items() if name not in free}


def required(roots: Iterable[str], packages: Iterable[str]) -> frozenset[str]:
    """Return the distributions that the projects of these packages require unconditionally.

    `roots` are the folders that hold the packages.
    """
    tops = tuple(packages)
    found = set()
    for line in _stated(Path(root, top) for root in roots for top in tops):
        matched = None if line.optional else _REQUIREMENT.match(line.text.strip())
        if matched is not None and _holds_here(line.text.partition(";")[2]):
            found.add(normalised(matched[1]))
    return frozenset(found)


def homes_of(paths: Iterable[Path]) -> Iterable[Path]:
    """Return the folders that contain the project files of some paths, including the metadata of wheels."""
    homes = _Homes()
    return dict.fromkeys(folder for path in paths for folder in homes.of(path))


def _stated(paths: Iterable[Path]) -> Iterator[_Line]:
    for folder in homes_of(paths):
        yield from _lines(folder)


def _holds_here(marker: str) -> bool:
    """Return whether a requirement with this marker applies on this machine without any extra."""
    if not marker.strip():
        return True
    from packaging.markers import InvalidMarker, Marker

    try:
        return Marker(marker).evaluate({"extra": ""})
    except InvalidMarker:
        return True


class _Homes:
    """Finds the folders that contain the project files of paths, including the metadata of wheels."""

    def __init__(self) -> None:
        self._speaks: dict[Path, bool] = {}
        """For each folder, whether there is a project file in it."""
        self._beside: dict[Path, list[Path]] = {}
        """For each folder, the metadata folders of distributions in it."""
        self._wheels: dict[Path, dict[str, list[Path]]] = {}
        """For each folder, the names in it that distributions list, with the metadata of those
        distributions.
        """

    def of(self, path: Path) -> Iterator[Path]:
        """Yield the folders that contain the project files of one path."""
        here = path.absolute()
        for folder in [here, *here.parents][:_MOST_LEVELS]:
            yield from self._metadata(folder, here)
            if folder not in self._speaks:
                self._speaks[folder] = any((folder / name).is_file() for name in _FILES)
            if self._speaks[folder]:
                yield folder
                return
        if here.is_dir():
            yield here

    def _metadata(self, folder: Path, checked: Path) -> Iterator[Path]:
        """Yield the metadata of the wheel with a package: the only one in the folder, or those that list the
        package.
        """
        if folder not in self._beside:
            self._beside[folder] = [folder / matched.string for matched in records_in(folder)]
        beside = self._beside[folder]
        if len(beside) == 1:
            yield beside[0]
        elif beside and folder in checked.parents:
            if folder not in self._wheels:
                self._wheels[folder] = _listed(beside)
            inside = checked.relative_to(folder).as_posix().split("/")[0]
            yield from self._wheels[folder].get(inside, ())


def _listed(distributions: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the top-level names that distributions list, each with the distributions that list it."""
    found: dict[str, list[Path]] = {}
    for one in distributions:
        for name in dict.fromkeys(re.findall(r"^([^/,\n]+)[/,]", text_of(one / "RECORD"), re.MULTILINE)):
            found.setdefault(name, []).append(one)
    return found


def _lines(folder: Path) -> Iterator[_Line]:
    """Yield every requirement written in the project files of a folder."""
    if DIST_INFO.match(folder.name):
        yield from _in_metadata(text_of(folder / "METADATA"))
        return
    for name in sorted(names_in(folder)):
        if name.startswith("requirements") and name.endswith(".txt"):
            yield from (_Line(line, True) for line in text_of(folder / name).splitlines())
    yield from _in_metadata(text_of(folder / "PKG-INFO"))
    yield from _in_setup_cfg(text_of(folder / "setup.cfg"))
    text = text_of(folder / "pyproject.toml")
    if text:
        yield from _in_pyproject(text)


def _in_metadata(text: str) -> Iterator[_Line]:
    """Yield the requirements in a distribution's metadata, up to the empty line before the description."""
    for line in re.findall(r"^Requires-Dist:(.+)$", text.partition("\n\n")[0], re.MULTILINE):
        yield _Line(line, False)


def _in_setup_cfg(text: str) -> Iterator[_Line]:
    """Yield the requirements under `install_requires` and in the extras of a `setup.cfg`."""
    if "_requires" not in text and "extras_require" not in text:
        return
    from configparser import ConfigParser, Error

    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except Error:
        return
    if parser.has_section("options"):
        listed = parser.get("options", "install_requires", fallback="")
        yield from (_Line(line, False) for line in listed.splitlines())
    if parser.has_section("options.extras_require"):
        for _, listed in parser.items("options.extras_require"):
            yield from (_Line(line, True) for line in listed.splitlines())


def _in_pyproject(text: str) -> Iterator[_Line]:
    """Yield the requirements in a `pyproject.toml`: of the project, dependency groups and Poetry."""
    document = toml_of(text)
    project = table(document, "project")
    extras = [
        *table(project, "optional-dependencies").values(),
        *table(document, "dependency-groups").values(),
    ]
    for listed, optional in ((project.get("dependencies"), False), *((each, True) for each in extras)):
        for line in listed if isinstance(listed, list) else ():
            if isinstance(line, str):
                yield _Line(line, optional)
    poetry = table(table(document, "tool"), "poetry")
    groups = [one for one in table(poetry, "group").values() if isinstance(one, dict)]
    for holder in (poetry, *groups):
        for name, told in table(holder, "dependencies").items():
            version = told.get("version") if isinstance(told, dict) else told
            left_out = isinstance(told, dict) and bool(told.get("optional"))
            if isinstance(version, str):
                yield _Line(f"{name} {_from_poetry(version)}", left_out or holder is not poetry)


def _from_poetry(version: str) -> str:
    """Convert a version from Poetry's notation to the standard one: `^2.1` becomes `>=2.1,<3`."""
    matched = _POETRY.match(version.strip())
    if matched is None:
        plain = version.strip()
        return f"=={plain}" if plain[:1].isdigit() else "" if plain == "*" else plain
    numbers = [int(part) for part in matched[2].split(".")]
    last = min(1, len(numbers) - 1) if matched[1] == "~" else next((i for i, n in enumerate(numbers) if n), 0)
    above = [*numbers[:last], numbers[last] + 1]
    return f">={matched[2]},<{'.'.join(map(str, above))}"


def table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the table under a key; an empty one if there is no table."""
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def toml_of(text: str) -> dict[str, Any]:
    """Return a TOML document as a table; an empty one if it is malformed."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
