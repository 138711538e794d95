"""Builds a release from a clone of the last commit: what is not committed cannot get in."""

from __future__ import annotations

import os
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from release.packing import repack
from release.pythons import Python
from release.running import ReleaseError, run, say


class Built(NamedTuple):
    """What was built, each as a file."""

    source: Path
    universal: Path
    #: One for each Python, compiled for this kind of machine.
    platform: dict[Python, Path]

    @property
    def all(self) -> list[Path]:
        """The files in the order in which they are told."""
        return [self.source, self.universal, *self.platform.values()]


def clone(root: Path, work: Path) -> Path:
    """Clone the last commit; refuse where the folder holds changes that would be missing."""
    changed = run(["git", "status", "--porcelain"], root)
    if changed.strip():
        raise ReleaseError(f"a release is built from a commit, and these are in none:\n{changed}")
    checkout = work / "checkout"
    run(["git", "clone", "--quiet", "--no-hardlinks", root, checkout], work)
    return checkout


def build(checkout: Path, work: Path, pythons: list[Python]) -> Built:
    """Build the source archive from the clone, and every wheel from the source archive, as anybody would."""
    # The same commit makes the same archives, byte for byte.
    moment = {**os.environ, "SOURCE_DATE_EPOCH": run(["git", "log", "-1", "--format=%ct"], checkout).strip()}
    moment.pop("COLDFORK_COMPILED", None)
    say("building the source archive")
    target = work / "built"
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", target], checkout, moment)
    (source,) = target.glob("*.tar.gz")
    unpacked = work / "unpacked"
    with tarfile.open(source) as archive:
        archive.extractall(unpacked, filter="data")
    (tree,) = unpacked.iterdir()
    say("building the wheel for any machine")
    universal = repack(_wheel(sys.executable, tree, target, moment))
    if not universal.name.endswith("-py3-none-any.whl"):
        raise ReleaseError(f"{universal.name} is not good for any machine")
    compiled = {**moment, "COLDFORK_COMPILED": "1"}
    platform = {}
    for python in pythons:
        say(f"building the compiled wheel for Python 3.{python.minor}")
        environment = work / f"build-{python.tag}"
        run([python.path, "-m", "venv", environment], work)
        interpreter = environment / "bin" / "python"
        run([interpreter, "-m", "pip", "install", "--quiet", "hatchling>=1.26"], work)
        raw = _wheel(str(interpreter), tree, work / python.tag, compiled)
        platform[python] = _tagged(raw, target, work)
    return Built(source, universal, platform)


def _wheel(interpreter: str, tree: Path, target: Path, variables: dict[str, str]) -> Path:
    before = set(target.glob("*.whl"))
    run([interpreter, "-m", "hatchling", "build", "-t", "wheel", "-d", target], tree, variables)
    (made,) = set(target.glob("*.whl")) - before
    return made


def _tagged(raw: Path, target: Path, work: Path) -> Path:
    """On Linux, say with which C libraries a wheel works: an index takes no wheel that does not."""
    if sys.platform != "linux":
        return raw.rename(target / raw.name)
    before = set(target.glob("*.whl"))
    beside = Path(sys.executable).parent
    variables = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    run([beside / "auditwheel", "repair", "--strip", "-w", target, raw], work, variables)
    (made,) = set(target.glob("*.whl")) - before
    if "manylinux" not in made.name and "musllinux" not in made.name:
        raise ReleaseError(f"{made.name} names no C library that it works with")
    return repack(made)
