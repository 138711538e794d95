"""CPython's own tests with and without coldfork around them: `./dev integration cpython`

Needs a CPython that was installed with its `test` package. Takes the better part of an hour.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from integrations.environment import Ended, Environment, undisturbed
from integrations.transcript import Transcript, main
from integrations.ways import FOLLOWED, GUARDED, PLAIN, Way, install_guard
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("cpython", ("click", "rich", "msgspec", "psutil", "packaging", "pathspec"))
#: What a test file uses whose ground coldfork treads: processes, start-up, and what watches a program.
_OURS = re.compile(
    r"subprocess\b|multiprocessing\b|\bfork|spawn|\bassert_python|\b(?:addaudithook|setprofile|settrace)\b"
    r"|\bconcurrent\b|\b(?:runpy|site|atexit)\b"
)
#: These ask for the network, a display or hours, or measure the machine; with coldfork or without.
_LEFT_OUT = frozenset({"test_smtpnet", "test_ssl", "test_urllib2net", "test_urllibnet", "test_tools"})
_FAILED = re.compile(r"^\d+ tests? failed(?: again)?:\n((?:    .*\n)+)", re.MULTILINE)
_CASE = re.compile(r"^(?:FAIL|ERROR): (\w+) \(", re.MULTILINE)
_WORKERS = 2

#: Cases that see coldfork where it cannot be hidden.
SEEN = {
    "test_pass_fds_redirected": "lists every open file of a child, of which the recording is one more",
}

INTRODUCTION = """
`./dev integration cpython` runs those of CPython's own test files that start processes, concern start-up or
watch a program: as they are, under `coldfork run --follow`, and with `coldfork guard install --mode raise`.
A file that fails is run again by itself, three times each way. A case counts as newly failing if it fails
each time with coldfork and never without.
"""


def files() -> list[str]:
    """The test files that concern coldfork."""
    folder = Path(sysconfig.get_path("stdlib")) / "test"
    if not (folder / "libregrtest").is_dir():
        raise UnavailableError(f"{sys.executable} was installed without its `test` package")
    return [name for name, source in _sources(folder) if name not in _LEFT_OUT and _OURS.search(source)]


def _sources(folder: Path) -> Iterable[tuple[str, str]]:
    for path in sorted(folder.glob("test_*")):
        parts = [path] if path.suffix == ".py" else sorted(path.glob("*.py")) if path.is_dir() else []
        yield path.stem, "\n".join(part.read_text(encoding="utf-8", errors="replace") for part in parts)


def failing(way: Way, names: Sequence[str]) -> frozenset[str]:
    """The files that fail, run this way."""
    print(f"running {len(names)} files {way.name}", file=sys.stderr, flush=True)
    output = _tested(way, f"-j{_WORKERS}", "--timeout", "600", *names)
    return frozenset(name for group in _FAILED.findall(output) for name in group.split())


def newly(way: Way, names: Iterable[str], known: frozenset[str]) -> list[str]:
    """The cases of these files that fail each of three times this way, and never as they are."""
    kept: list[str] = []
    for name in sorted(set(names) - known):
        ours = [set(_CASE.findall(_tested(way, "-v", name))) for _ in range(3)]
        plain = [set(_CASE.findall(_tested(PLAIN, "-v", name))) for _ in range(3)]
        kept += sorted(set.intersection(*ours) - set.union(*plain))
    return kept


def _tested(way: Way, *arguments: str) -> str:
    """Run CPython's own tests this way and return their output."""
    install_guard(ENVIRONMENT, way)
    printed = ENVIRONMENT.printed([*way.before, "-m", "test", *arguments], undisturbed())
    if "Result:" not in printed and "Tests result:" not in printed:
        raise UnavailableError(f"the tests came to no end {way.name}:\n{printed[-2000:]}")
    return printed


def run() -> Transcript:
    """All three ways, and what fails in one of ours alone."""
    names = files()
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT))
    transcript = Transcript(f"CPython's own tests, {sys.version.split()[0]}", INTRODUCTION)
    known = failing(PLAIN, names)
    transcript.step(
        f"{len(names)} test files as they are.", Ended(0, "\n".join(["these fail:", *sorted(known)]))
    )
    for way in (FOLLOWED, GUARDED):
        failed = failing(way, names)
        fresh = newly(way, failed, known)
        told = [f"{len(failed)} fail, {len(failed - known)} of them only this time", "newly failing:"]
        told += [f"{case}: {SEEN.get(case, 'FAILS')}" for case in fresh]
        transcript.step(f"The same {way.name}.", Ended(0, "\n".join(told)))
        transcript.promise(
            f"No case fails newly {way.name} but those that look for what coldfork adds.",
            set(fresh) <= set(SEEN),
        )
    install_guard(ENVIRONMENT, PLAIN)
    return transcript


if __name__ == "__main__":
    sys.exit(main("cpython", run))
