"""Which versions of its dependencies a project allows, by its own files; nothing of them is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from coldfork.source.files.site_packages import DIST_INFO, names_in, normalised

Required = dict[str, tuple[str, ...]]
"""The specifiers that a project names, by normalised distribution; one of them holds."""

_REQUIREMENT = re.compile(r"^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*\(?([^;#@()]*)\)?")
_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_MOST_LEVELS = 6
_POETRY = re.compile(r"^([\^~])\s*(\d+(?:\.\d+)*)$")


def requirements(paths: Iterable[Path]) -> Required:
    """What the projects and wheels that these paths belong to require."""
    found: dict[str, dict[str, None]] = {}
    for folder in dict.fromkeys(folder for path in paths for folder in _homes(path)):
        for line in _lines(folder):
            matched = _REQUIREMENT.match(line.strip())
            if matched is not None and matched[2].strip():
                specifier = re.sub(r"\s+", "", matched[2]).strip(",")
                found.setdefault(normalised(matched[1]), {})[specifier] = None
    return {name: tuple(specifiers) for name, specifiers in found.items()}


def _homes(path: Path) -> Iterator[Path]:
    """The folders whose files speak for a path: that of its project, and the metadata of its wheel."""
    here = path.absolute()
    for folder in [here, *here.parents][:_MOST_LEVELS]:
        yield from _metadata(folder, here)
        if any((folder / name).is_file() for name in _FILES):
            yield folder
            return
    if here.is_dir():
        yield here


def _metadata(folder: Path, checked: Path) -> Iterator[Path]:
    """The metadata beside a package that came as a wheel: the only one there, or the one that lists it."""
    beside = [folder / name for name in sorted(names_in(folder)) if DIST_INFO.match(name)]
    if len(beside) == 1:
        yield beside[0]
    elif folder in checked.parents:
        inside = checked.relative_to(folder).as_posix().split("/")[0]
        yield from [
            one
            for one in beside
            if re.search(rf"^{re.escape(inside)}[/,]", _text(one / "RECORD"), re.MULTILINE)
        ]


def _lines(folder: Path) -> Iterator[str]:
    """Every requirement that the files of a folder state, one a line."""
    if DIST_INFO.match(folder.name):
        yield from re.findall(r"^Requires-Dist:(.+)$", _text(folder / "METADATA"), re.MULTILINE)
        return
    names = [
        name for name in sorted(names_in(folder)) if name.startswith("requirements") and name.endswith(".txt")
    ]
    for name in names:
        yield from _text(folder / name).splitlines()
    yield from _in_setup_cfg(_text(folder / "setup.cfg"))
    text = _text(folder / "pyproject.toml")
    if text:
        yield from _in_pyproject(text)


def _in_setup_cfg(text: str) -> Iterator[str]:
    """What `install_requires` and the extras list."""
    if "_requires" not in text and "extras_require" not in text:
        return
    from configparser import ConfigParser, Error

    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except Error:
        return
    if parser.has_section("options"):
        yield from parser.get("options", "install_requires", fallback="").splitlines()
    if parser.has_section("options.extras_require"):
        for _, listed in parser.items("options.extras_require"):
            yield from listed.splitlines()


def _in_pyproject(text: str) -> Iterator[str]:
    """What the project's table, its groups, and Poetry's tables list."""
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    project = _table(document, "project")
    groups = [
        *_table(project, "optional-dependencies").values(),
        *_table(document, "dependency-groups").values(),
    ]
    for listed in (project.get("dependencies"), *groups):
        yield from [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    poetry = _table(_table(document, "tool"), "poetry")
    tables = [poetry, *[one for one in _table(poetry, "group").values() if isinstance(one, dict)]]
    for name, told in [item for table in tables for item in _table(table, "dependencies").items()]:
        version = told.get("version") if isinstance(told, dict) else told
        if isinstance(version, str):
            yield f"{name} {_from_poetry(version)}"


def _from_poetry(version: str) -> str:
    """Poetry's own operators in those of everybody: `^2.1` is `>=2.1,<3`."""
    matched = _POETRY.match(version.strip())
    if matched is None:
        plain = version.strip()
        return f"=={plain}" if plain[:1].isdigit() else "" if plain == "*" else plain
    numbers = [int(part) for part in matched[2].split(".")]
    last = min(1, len(numbers) - 1) if matched[1] == "~" else next((i for i, n in enumerate(numbers) if n), 0)
    above = [*numbers[:last], numbers[last] + 1]
    return f">={matched[2]},<{'.'.join(map(str, above))}"


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The table under a key; an empty one for anything else."""
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _text(file: Path) -> str:
    """What a file holds; nothing where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
