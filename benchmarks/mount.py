"""A stand-in for site-packages: the sources of several published packages side by side, as links."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from published import places
from published.errors import UnavailableError
from published.sources import Wanted, present

#: Folders of a source archive that an installation would not put beside the package.
NOT_INSTALLED = frozenset({
    "benchmark", "benchmarks", "cmake", "csrc", "doc", "docs", "example", "examples", "scripts",
    "test", "tests", "third_party", "tools",
})  # fmt: skip
#: Where source archives keep their packages when not at their root.
NESTED_ROOTS = ("src", "python")
#: Packages that a path file mounts. Wheels bring the file along; sources fetched without it need it written.
MOUNTED_BY_PATH_FILE = {"nvidia_cutlass_dsl": "nvidia_cutlass_dsl/python_packages"}


def build(target: Path, wanted: Iterable[Wanted], sources: Path) -> Path:
    """Fill `target` with links to the packages of every version named, and with their metadata."""
    target.mkdir(parents=True, exist_ok=True)
    for one in wanted:
        root = present(one, sources)
        if root is None:
            raise UnavailableError(
                f"{one.folder} is not here; fetch it with ./dev bench sources {one.name}=={one.version}"
                + (f":{one.kind}" if one.kind else "")
            )
        for entry in installed(root):
            lay(entry, target / entry.name)
        _describe(one, target)
    for package, line in MOUNTED_BY_PATH_FILE.items():
        if (target / line).is_dir() and not list(target.glob(f"{package}*.pth")):
            (target / f"{package}.pth").write_text(line + "\n", encoding="utf-8")
    return target


def package_root(root: Path, top: str) -> Path:
    """The folder in a version's sources that holds its top package."""
    # A wheel can also carry packages in a folder of data that is installed beside the others.
    for folder in (root, *(root / nested for nested in NESTED_ROOTS), *root.glob("*.data/*lib")):
        if (folder / top).is_dir() or (folder / f"{top}.py").is_file():
            return folder
    raise UnavailableError(f"{root.name} holds no package {top}")


def installed(root: Path) -> list[Path]:
    """Return the entries that installing these sources would put into site-packages."""
    if _file_name(root).endswith(".whl"):
        return sorted(entry for entry in root.iterdir() if entry.name != places.MARKER)
    found: list[Path] = []
    for folder in (root, *(root / nested for nested in NESTED_ROOTS)):
        if folder.is_dir():
            found.extend(entry for entry in sorted(folder.iterdir()) if _is_package(entry))
    return found


def lay(source: Path, target: Path) -> None:
    """Link one entry; where two packages share a folder (a namespace package) their entries are merged."""
    if not target.exists() and not target.is_symlink():
        target.symlink_to(source, target_is_directory=source.is_dir())
        return
    if not (source.is_dir() and target.is_dir()):
        raise UnavailableError(f"two packages bring {target.name}: {source} and {target.resolve()}")
    if target.is_symlink():
        earlier = target.resolve()
        target.unlink()
        target.mkdir()
        for entry in sorted(earlier.iterdir()):
            lay(entry, target / entry.name)
    for entry in sorted(source.iterdir()):
        lay(entry, target / entry.name)


def _is_package(entry: Path) -> bool:
    return (
        entry.is_dir()
        and entry.name.isidentifier()
        and entry.name not in NOT_INSTALLED
        and (entry / "__init__.py").is_file()
    )


def _file_name(root: Path) -> str:
    try:
        return str(json.loads((root / places.MARKER).read_text(encoding="utf-8"))["file"])
    except (OSError, ValueError, KeyError):
        return ""


def _describe(one: Wanted, target: Path) -> None:
    """Write the metadata that says which version stands here, where the sources brought none."""
    stem = f"{one.name.replace('-', '_')}-{one.version}.dist-info"
    if any(path.name.lower() == stem.lower() for path in target.glob("*.dist-info")):
        return
    folder = target / stem
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {one.name}\nVersion: {one.version}\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")
