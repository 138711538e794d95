"""The installed packages as described by their metadata and files; none is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.source.files.site_packages import DIST_INFO, names_in, normalised

if TYPE_CHECKING:
    from coldfork.model.causes import Cause
    from coldfork.model.observations import Progress

_REQUIRES = re.compile(r"^Requires-Dist:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_LARGEST_TEXT = 4 << 20


class InstalledPackages:
    """The distributions in these folders, by normalised name; earlier folders take precedence."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._places: dict[str, tuple[Path, str]] = {}
        for folder in self._folders:
            for name in names_in(folder):
                matched = DIST_INFO.match(name)
                if matched is not None:
                    self._places.setdefault(normalised(matched[1]), (folder / name, matched[2]))

    def version(self, name: str) -> str | None:
        """Return the version of a distribution; None if it is not installed."""
        place = self._places.get(name)
        return None if place is None else place[1]

    def first(self, *names: str) -> str | None:
        """Return the first of these distributions that is installed."""
        return next((name for name in names if name in self._places), None)

    def requirements(self, name: str) -> list[str]:
        """Return the requirements of the distribution, as one string each."""
        return _REQUIRES.findall(self._metadata(name, "METADATA"))

    def entry_points(self, name: str) -> str:
        """Return the text of the distribution's `entry_points.txt`."""
        return self._metadata(name, "entry_points.txt")

    def libraries(self, name: str) -> Iterator[Path]:
        """Yield the compiled files that a distribution installed."""
        if name not in self._places:
            return
        folder = self._places[name][0].parent
        for line in self._metadata(name, "RECORD").splitlines():
            file = line.rsplit(",", 2)[0].strip('"')
            if re.search(r"\.so(?:\.[\d.]+)?$", file):
                yield folder / file

    def text(self, file: str) -> str | None:
        """Return the content of a file in the packages' folders, such as `torch/version.py`."""
        for folder in self._folders:
            place = folder / file
            try:
                if place.stat().st_size <= _LARGEST_TEXT:
                    return place.read_text("utf-8", "replace")
            except OSError:
                continue
        return None

    def files(self, folder: str) -> list[str]:
        """Return the names of the entries of a folder in the packages' folders."""
        return [name for place in self._folders for name in names_in(place / folder)]

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that contain these packages."""
        return self._folders

    def _metadata(self, name: str, file: str) -> str:
        place = self._places.get(name)
        if place is None:
            return ""
        try:
            return (place[0] / file).read_text("utf-8", "replace")
        except OSError:
            return ""


_CUDA = re.compile(r"^cuda\b[^=\n]*=\s*['\"](\d+)\.(\d+)", re.MULTILINE)
_OTHER = re.compile(r"^(hip|rocm|xpu)\b[^=\n]*=\s*['\"]([^'\"]+)", re.MULTILINE)


class TorchBuild:
    """The installed torch, and the accelerator that it was built for."""

    def __init__(self, version: str, text: str) -> None:
        self.version = version
        cuda = _CUDA.search(text)
        self.cuda: tuple[int, int] | None = (int(cuda[1]), int(cuda[2])) if cuda else None
        self.others: dict[str, str] = dict(_OTHER.findall(text))
        """The versions of `hip`, `rocm` or `xpu` that torch names, by name."""

    @property
    def minor(self) -> str:
        """The minor release: `2.13`."""
        return ".".join(self.version.partition("+")[0].split(".")[:2])

    @property
    def built_for(self) -> str:
        """The accelerator that torch was built for, in words."""
        if self.cuda is not None:
            return f"CUDA {self.cuda[0]}.{self.cuda[1]}"
        if "hip" in self.others or "rocm" in self.others:
            return f"ROCm {self.others.get('rocm') or self.others['hip']}"
        return f"XPU {self.others['xpu']}" if "xpu" in self.others else "the CPU only"


def torch_build(packages: InstalledPackages) -> TorchBuild | None:
    """Return the installed torch; None if torch is not installed."""
    version = packages.version("torch")
    return None if version is None else TorchBuild(version, packages.text("torch/version.py") or "")


_DEVICES = frozenset({"cuda", "rocm", "xpu", "opencl", "jax"})


@dataclass(frozen=True, slots=True)
class WakingPackage:
    """A package whose import by itself wakes a device."""

    name: str
    accelerator: str
    verdict: str
    place: str
    """The line that makes the waking call."""
    call: str


@dataclass(frozen=True, slots=True)
class Waking:
    """The packages whose import wakes a device, and the number of modules searched for them."""

    packages: tuple[WakingPackage, ...] = ()
    modules: int = 0


def waking(folders: Sequence[Path], version: tuple[int, ...] | None, progress: Progress | None) -> Waking:
    """Search all modules in these folders for wakes at import; unchanged files come from the cache."""
    from coldfork.checking.configuration import Configuration
    from coldfork.checking.inspection import inspect
    from coldfork.checking.request import CheckRequest

    target = (version[0], version[1]) if version is not None else (3, 13)
    request = CheckRequest(
        tuple(folders), Configuration(Path()), search=tuple(folders), target_version=target
    )
    inspected = inspect(request, progress)
    found: dict[str, WakingPackage] = {}
    for cause in sorted(inspected.causes, key=lambda cause: -cause.verdict.rank):
        for name in _packages(cause):
            found.setdefault(name, _waking(name, cause))
    return Waking(tuple(found[name] for name in sorted(found)), inspected.observation.statistics.modules)


def _packages(cause: Cause) -> list[str]:
    """Return the packages whose import by itself wakes a device because of this cause."""
    if cause.accelerator not in _DEVICES:
        return []
    return [way.module for way in cause.ways if "." not in way.module]


def _waking(name: str, cause: Cause) -> WakingPackage:
    place = f"{cause.path}:{cause.line}"
    return WakingPackage(name, cause.accelerator or "", cause.verdict.value, place, cause.call or "")
