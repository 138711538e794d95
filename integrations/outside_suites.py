"""The tests of six libraries that start processes, with and without us: `./dev integration outside_suites`

Fetches their source distributions. Takes an hour and a half.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from integrations.environment import Ended, Environment, undisturbed
from integrations.transcript import Transcript, main
from integrations.ways import FOLLOWED, GUARDED, PLAIN, Way, install_guard
from published.errors import UnavailableError
from published.places import ROOT

_COLDFORK_NEEDS = ("click", "rich", "msgspec", "psutil==7.2.2", "packaging", "pathspec")
_WORKERS = 2
#: No file of theirs takes longer, and one that hangs is told of.
_SECONDS = 900
_OF_ONE_TEST = 120
_TIMES = 3


@dataclass(frozen=True, slots=True)
class Library:
    """A library, and where its source distribution keeps its tests."""

    name: str
    version: str
    tests: str
    package: str = ""
    """The folder of the package itself, where it would hide the installed one that has its extension."""


LIBRARIES = (
    Library("billiard", "4.3.2", "t/unit", package="billiard"),
    Library("execnet", "2.1.2", "testing"),
    Library("joblib", "1.6.0", "joblib/test"),
    Library("loky", "3.7.0", "tests"),
    Library("pebble", "5.2.3", "test"),
    Library("psutil", "7.2.2", "tests", package="psutil"),
)
ENVIRONMENT = Environment(
    "outside_suites",
    (
        *(f"{library.name}=={library.version}" for library in LIBRARIES),
        *_COLDFORK_NEEDS,
        "pytest",
        "pytest-timeout",
        "numpy",
        "cloudpickle",
    ),
)

#: Cases that see coldfork where it cannot be hidden.
SEEN = {
    "TestLokyBackend.test_sync_object_handling": (
        "lists every open file of a child, of which the recording is one more"
    ),
}

INTRODUCTION = """
`./dev integration outside_suites` runs the tests of six libraries that start processes: as they are, under
`coldfork run --follow`, and with `coldfork guard install --mode raise`, each file in a process of its own. A
file of which a case fails that passed as it was is run again by itself, three times each way. A case counts
as newly failing if it fails each time with coldfork and never without.
"""


def sources() -> dict[Library, Path]:
    """The libraries' source distributions, unpacked."""
    folder = ENVIRONMENT.folder / "sources"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = {}
    for library in LIBRARIES:
        wanted = f"{library.name}=={library.version}"
        ENVIRONMENT.pip(
            "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), wanted
        )
        (archive,) = folder.glob(f"{library.name}-*.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        found[library] = folder / archive.name.removesuffix(".tar.gz")
        if library.package:
            shutil.rmtree(found[library] / library.package)
    return found


def files(library: Library, source: Path) -> list[str]:
    """The library's test files, from its folder on."""
    return sorted(str(path.relative_to(source)) for path in (source / library.tests).rglob("test_*.py"))


def failing(way: Way, source: Path, names: Sequence[str]) -> dict[str, frozenset[str]]:
    """The cases of each file that fail, run this way."""
    print(f"running {len(names)} files of {source.name} {way.name}", file=sys.stderr, flush=True)
    install_guard(ENVIRONMENT, way)
    with ThreadPoolExecutor(_WORKERS) as threads:
        ends = threads.map(lambda name: _failed(way, source, name), names)
        return dict(zip(names, ends, strict=True))


def newly(
    way: Way, source: Path, failed: Mapping[str, frozenset[str]], known: Mapping[str, frozenset[str]]
) -> list[str]:
    """The cases that fail each of three times this way, and never as they are."""
    kept: list[str] = []
    for name in (name for name, cases in failed.items() if cases - known[name]):
        install_guard(ENVIRONMENT, way)
        ours = [_failed(way, source, name) for _ in range(_TIMES)]
        install_guard(ENVIRONMENT, PLAIN)
        plain = [_failed(PLAIN, source, name) for _ in range(_TIMES)]
        fresh = frozenset.intersection(*ours) - frozenset.union(known[name], *plain)
        kept += (f"{source.name}/{name}::{case}" for case in sorted(fresh))
    return kept


def _failed(way: Way, source: Path, name: str) -> frozenset[str]:
    """The cases of one file that fail; the file itself where it came to no end."""
    report = ENVIRONMENT.folder / "reports" / source.name / f"{name.replace('/', '.')}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    before = tuple(f"{part}.{name.replace('/', '.')}" if part == "recording" else part for part in way.before)
    command = [str(ENVIRONMENT.python), *before, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    try:
        subprocess.run(
            [*command, f"--junitxml={report}", f"--timeout={_OF_ONE_TEST}"],
            cwd=source,
            env=undisturbed(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return frozenset({"came to no end"})
    if not report.is_file():
        return frozenset({"wrote no report"})
    return frozenset(_cases(report))


def _cases(report: Path) -> Iterable[str]:
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            yield f"{case.get('classname')}.{case.get('name')}"


def run() -> Transcript:
    """All three ways, and what fails in one of ours alone."""
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT))
    told = ", ".join(f"{library.name} {library.version}" for library in LIBRARIES)
    transcript = Transcript(f"The tests of {told}", INTRODUCTION)
    for library, source in sources().items():
        names = files(library, source)
        if not names:
            raise UnavailableError(f"{source.name} has no tests in {library.tests}")
        known = failing(PLAIN, source, names)
        rows = [f"{PLAIN.name}: {_count(known)} cases fail"]
        fresh: list[str] = []
        for way in (FOLLOWED, GUARDED):
            failed = failing(way, source, names)
            found = newly(way, source, failed, known)
            rows += [f"{way.name}: {_count(failed)} cases fail, {len(found)} of them newly"]
            rows += [f"{case}: {_why(case) or 'FAILS'}" for case in found]
            fresh += (case for case in found if not _why(case))
        print(*rows, sep="\n", file=sys.stderr, flush=True)
        transcript.step(f"{library.name} {library.version}, {len(names)} files.", Ended(0, "\n".join(rows)))
        transcript.promise(
            f"No case of {library.name} fails newly but those that look for what coldfork adds.", not fresh
        )
    return transcript


def _why(case: str) -> str:
    """Why a case sees coldfork; empty where it must not."""
    return next((reason for name, reason in SEEN.items() if case.endswith(name)), "")


def _count(failed: Mapping[str, frozenset[str]]) -> int:
    return sum(map(len, failed.values()))


if __name__ == "__main__":
    sys.exit(main("outside_suites", run))
