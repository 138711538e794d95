"""The Python whose environment is examined; it is identified by its location, and none of its code is run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coldfork.model.errors import UsageError
from coldfork.model.observations import Origin
from coldfork.source.files.site_packages import Environment, environment, names_in

_FOLDER = re.compile(r"^python3(?:\.(\d+))?(t?)$")
_ASSIGNMENT = re.compile(r"^version(?:_info)?\s*=\s*(\d+)\.(\d+)(?:\.(\d+))?", re.MULTILINE)
_CUSTOMIZERS = ("sitecustomize.py", "usercustomize.py")
_PROGRAMS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")


@dataclass(frozen=True, slots=True)
class ExaminedPython:
    """An interpreter and the folders of its packages."""

    folders: tuple[Path, ...]
    origin: Origin
    executable: str | None = None
    version: tuple[int, ...] | None = None
    """Only two numbers if the version is known only from the folder of its packages."""
    prefix: Path | None = None
    is_own: bool = False
    """Whether coldfork itself runs in it."""
    free_threaded: bool = False

    @property
    def version_text(self) -> str:
        """The version as text: `3.11.7`."""
        return "of an unknown version" if self.version is None else ".".join(map(str, self.version))


def examined(named: Path | None) -> ExaminedPython:
    """Return the Python of the named environment, else of the active or adjacent one, else coldfork's own."""
    found = _environment(named)
    prefix = (
        named.absolute().parent.parent if named is not None and named.is_file() else _prefix(found.folders)
    )
    if prefix is None or os.path.realpath(prefix) == os.path.realpath(sys.prefix):
        return ExaminedPython(
            found.folders,
            found.origin,
            sys.executable or None,
            tuple(sys.version_info[:3]),
            Path(sys.prefix),
            is_own=True,
            free_threaded=bool(getattr(sys, "abiflags", "").count("t")),
        )
    program = str(named) if named is not None and named.is_file() else _program(prefix)
    names = [folder.parent.name for folder in found.folders]
    names += [Path(program).resolve().name] if program else []
    matched = next((m for name in names if (m := _FOLDER.match(name)) and m[1]), None)
    return ExaminedPython(
        found.folders,
        found.origin,
        program,
        _configured(prefix) or ((3, int(matched[1])) if matched else None),
        prefix,
        free_threaded=bool(matched and matched[2]),
    )


def _environment(named: Path | None) -> Environment:
    try:
        return environment(named, ())
    except UsageError:
        if named is None or not named.exists():
            raise
        raise UsageError(f"--python {named}: there is no folder of packages beside it") from None


def _prefix(folders: tuple[Path, ...]) -> Path | None:
    """Return the folder above `lib/python3.x/site-packages`."""
    for folder in folders:
        if folder.name in ("site-packages", "dist-packages"):
            return folder.parents[2] if _FOLDER.match(folder.parent.name) else folder.parents[1]
    return None


def _configured(prefix: Path) -> tuple[int, ...] | None:
    try:
        text = (prefix / "pyvenv.cfg").read_text("utf-8", "replace")
    except OSError:
        return None
    found = _ASSIGNMENT.search(text)
    return None if found is None else tuple(int(part) for part in found.groups() if part)


def _program(prefix: Path) -> str | None:
    return next((str(prefix / name) for name in _PROGRAMS if (prefix / name).is_file()), None)


def others(variables: Mapping[str, str]) -> tuple[ExaminedPython, ...]:
    """Return coldfork's own interpreter, and those that a shell would run as `python3` or `python`."""
    own = Path(sys.prefix, "Scripts" if os.name == "nt" else "bin")
    found: dict[Path, ExaminedPython] = {}
    for folder in (own, *map(Path, variables.get("PATH", "").split(os.pathsep))):
        for name in ("python3", "python"):
            with suppress(UsageError, OSError):
                if (folder / name).is_file():
                    python = examined(folder / name)
                    found.setdefault(python.folders[0], python)
    return tuple(found.values())


def startup_files(python: ExaminedPython) -> list[Path]:
    """Return the files whose code Python runs at every start: `.pth`, `sitecustomize` and `usercustomize`
    files.
    """
    return [
        folder / name
        for folder in python.folders
        for name in sorted(names_in(folder))
        if name in _CUSTOMIZERS or (_is_live(name) and runnable_lines(folder / name))
    ]


def _is_live(name: str) -> bool:
    """Return whether Python reads a file of this name when it starts; it skips hidden files."""
    return name.endswith(".pth") and not name.startswith(".")


def runnable_lines(file: Path) -> list[str]:
    """Return the lines of a `.pth` file that Python executes."""
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if line.startswith(("import ", "import\t"))]
