"""How many OpenMP runtimes the packages bring along.

A process that loads two of them has two thread pools that do not know of each other and compete for the
processors. Intel's runtime ends the process with "OMP: Error #15" if it finds another copy of itself, and a
fork has two pools to break. The files are counted, those of Linux (`.so`), macOS (`.dylib`) and Windows
(`.dll`); whether a program loads several is known only when it runs.

- **ok**: one runtime or none, or several copies of GNU's, which get along without sharing their threads.
- **warn**: several kinds (GNU's libgomp beside Intel's libiomp5 or LLVM's libomp), or several copies of
  Intel's or LLVM's.
- **skipped**: no folder of packages was found.

It never fails: the copies may never meet in one process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_RUNTIME = re.compile(r"^(libgomp|libiomp5(?:md)?|libomp)(?:[-.\d].*)?\.(?:so|dylib|dll)(?:\.[\d.]+)?$")
_KINDS = {"libgomp": "GNU", "libiomp5": "Intel", "libiomp5md": "Intel", "libomp": "LLVM"}
_DEEPEST = 4
"""Libraries are in folders such as `torch/lib` or `scikit_learn.libs`, never deep in a source tree."""
_SOURCES = frozenset({"__pycache__", "include", "tests", "test"})


def examine(facts: Facts) -> Answer:
    """Look for the library files of OpenMP runtimes."""
    if not facts.python.folders:
        return skipped("no folder of packages was found")
    found = [(kind, file) for folder in facts.python.folders for kind, file in runtimes(folder)]
    kinds = sorted({kind for kind, _ in found})
    files = tuple(str(file) for _, file in found)
    if not found:
        return ok("no package brings its own runtime")
    if len(kinds) > 1:
        said = f"{' and '.join(kinds)} runtimes lie side by side: a process may load both"
    elif len(found) > 1 and kinds != ["GNU"]:
        said = f"{len(found)} copies of {kinds[0]}'s runtime: a process that loads two may be killed"
    else:
        return ok(f"{len(found)} {'copy' if len(found) == 1 else 'copies'} of {kinds[0]}'s runtime", *files)
    return warn(
        said,
        "install these packages from one source: all from conda-forge, or all as wheels",
        "coldfork ps shows whose threads a running process has",
        details=files,
    )


def runtimes(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the vendor and file of each OpenMP runtime below a package folder; links are resolved first."""
    if folder.name not in ("site-packages", "dist-packages"):
        return
    seen: set[Path] = set()
    deepest = len(folder.parts) + _DEEPEST
    for here, folders, names in os.walk(folder):
        inside = len(Path(here).parts) < deepest
        folders[:] = sorted(name for name in folders if inside and name not in _SOURCES)
        for name in sorted(names):
            matched = _RUNTIME.match(name) if name.startswith("lib") else None
            if matched is not None and (real := Path(here, name).resolve()) not in seen:
                seen.add(real)
                yield _KINDS[matched[1]], Path(here, name)
