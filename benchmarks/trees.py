"""The trees that are timed: published sources, copied afresh under a name that nobody can have seen."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import mount
from published.errors import UnavailableError
from published.sources import Wanted

DEPENDENCIES = (
    Wanted("torch", "2.8.0", "wheel"),
    Wanted("triton", "3.9.0", "wheel"),
    Wanted("flashinfer-python", "0.6.8"),
    Wanted("nvidia-cutlass-dsl-libs-base", "4.5.0", "wheel"),
    Wanted("quack-kernels", "0.4.0"),
    Wanted("cuda-bindings", "13.5.0", "wheel"),
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A package to be timed, alone or with its dependencies' sources beside it."""

    name: str
    wanted: Wanted
    top: str
    beside: tuple[Wanted, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """A fresh copy of a tree: `folder` holds the package `top` and nothing else."""

    folder: Path
    top: str
    beside: Path | None
    files: int
    bytes: int

    @property
    def package(self) -> Path:
        """The copied package."""
        return self.folder / self.top

    @property
    def megabytes(self) -> float:
        """Size of the Python files copied, in millions of bytes."""
        return self.bytes / 1e6


TREES = (
    Tree("vllm-0.11.0", Wanted("vllm", "0.11.0"), "vllm"),
    Tree("vllm-0.11.0-with-dependencies", Wanted("vllm", "0.11.0"), "vllm", DEPENDENCIES),
    Tree("vllm-0.33.0-with-dependencies", Wanted("vllm", "0.33.0"), "vllm", DEPENDENCIES),
)


def named(names: Sequence[str]) -> tuple[Tree, ...]:
    """The trees of these names; all of them when none is given."""
    known = {tree.name: tree for tree in TREES}
    for name in names:
        if name not in known:
            raise UnavailableError(f"no tree is called {name!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) or TREES


def fresh_name() -> str:
    """A package name that no cache and no table can know."""
    return "pkg_" + secrets.token_hex(6)


def copy(
    package: Path, target: Path, new: str, beside: Path | None, only: Iterable[str] | None = None
) -> Copy:
    """Copy a package's Python files under a new name; `only` names the parts to take."""
    old = package.name
    word = re.compile(rb"(?<![\w])" + re.escape(old.encode()) + rb"(?![\w-])")
    files = size = 0
    for path in _sources(package, only):
        text = word.sub(new.encode(), path.read_bytes())
        place = target / new / path.relative_to(package)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)
        files += 1
        size += len(text)
    return Copy(target, new, beside, files, size)


def touch(copied: Copy) -> Path:
    """Edit one file of a copy as a developer would: a statement more at the end of a middling file."""
    files = sorted(copied.package.rglob("*.py"), key=lambda path: (path.stat().st_size, str(path)))
    chosen = files[len(files) // 2]
    with chosen.open("a", encoding="utf-8") as stream:
        stream.write(f"\nEDITED_{secrets.token_hex(4).upper()} = True\n")
    return chosen


def growing(package: Path, fractions: Sequence[float]) -> list[frozenset[str]]:
    """Growing sets of a package's parts, each containing the one before, near the fractions wanted.

    A part is a file of the top folder or one of the two folder levels below, named by its path.
    """
    sizes: dict[str, int] = {}
    for path in _sources(package, None):
        part = _part(path.relative_to(package))
        sizes[part] = sizes.get(part, 0) + path.stat().st_size
    waiting = sorted(sizes, key=lambda part: (part.count("/"), sizes[part], part))
    total, here = sum(sizes.values()), 0
    chosen: set[str] = set()
    found: list[frozenset[str]] = []
    for fraction in fractions:
        while waiting and (fraction >= 1 or here + sizes[waiting[0]] / 2 <= fraction * total):
            here += sizes[waiting[0]]
            chosen.add(waiting.pop(0))
        found.append(frozenset(chosen))
    return found


def mounted(tree: Tree, target: Path, sources: Path) -> Path | None:
    """The tree's dependencies as a site-packages folder, None when it has none."""
    return mount.build(target, tree.beside, sources) if tree.beside else None


def _sources(package: Path, only: Iterable[str] | None) -> list[Path]:
    chosen = None if only is None else frozenset(only)
    return sorted(
        path
        for path in package.rglob("*.py")
        if path.is_file() and (chosen is None or _part(path.relative_to(package)) in chosen)
    )


def _part(path: Path) -> str:
    """The part of its package that a file belongs to."""
    return "/".join(path.parts[: min(2, len(path.parts))])
