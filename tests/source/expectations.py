"""Small packages with `# expect:` comments: what the analyser says is held against them, and against CPython.

A package is text: one module, or several behind `### path` lines. `# expect: RULE` on a line asks for a
certain finding there, `# expect: RULE conditional` (or `possible`) for a weaker one; a line may hold several.
Nothing else may be reported. What lies in `beside/` is the environment's. CPython then imports every module
of the package with a stand-in for torch: what is called certain must have happened, and what happened must
have been found.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from coldfork.knowledge.known import known as known_on
from coldfork.model.effects import PROFILES
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation
from coldfork.rules.registry import judge
from coldfork.source.analysis import Request, analyse
from coldfork.source.files.site_packages import search_path, versions

RECORDER = Path(__file__).with_name("recorder.py")
RUNNING: tuple[int, int] = sys.version_info[:2]
_EXPECTED = re.compile(r"#\s*expect:\s*([\w-]+)(?:\s+(certain|conditional|possible))?")
_HEADER = re.compile(r"^### (\S+)\n", re.MULTILINE)
_ON_IMPORTS = frozenset({"waking-import", "eager-reexport"})
#: Calls of the stand-in that poison a fork under the assumed machine.
_QUERIES = frozenset({"device_count"})


@dataclass(frozen=True, slots=True, order=True)
class Said:
    """A rule that speaks, or has to: where, and how sure."""

    path: str
    line: int
    rule: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Setting:
    """How a package is analysed and run."""

    paths: tuple[str, ...] = (".",)
    """What is given to the analyser, below the package's folder."""
    mounts: tuple[str, ...] = (".",)
    """What is on `sys.path` when CPython runs it."""
    entries: tuple[str, ...] = ()
    profile: str = "cuda"
    target_version: tuple[int, int] = RUNNING
    runs: bool = True
    """Whether CPython's answer on this machine says anything about the expectations."""


PLAIN = Setting()


def files_of(text: str) -> dict[str, str]:
    """The files of a package written as one text."""
    parts = _HEADER.split(text.lstrip("\n"))
    if len(parts) == 1:
        return {"m.py": parts[0]}
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write a package below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def expected(files: Mapping[str, str]) -> list[Said]:
    """Return what the comments ask for; `beside/` is not checked."""
    return sorted(
        Said(path, number, match[1], match[2] or "certain")
        for path, text in files.items()
        if not path.startswith("beside/")
        for number, line in enumerate(text.splitlines(), 1)
        for match in _EXPECTED.finditer(line)
    )


def observe(
    paths: Iterable[Path],
    *,
    site_packages: Path | None = None,
    cache: Path | None = None,
    setting: Setting = PLAIN,
    jobs: int = 1,
) -> Observation:
    """Analyse paths the way `coldfork check` would."""
    search = search_path(None, [site_packages]) if site_packages is not None else ()
    profile = PROFILES[setting.profile]
    request = Request(
        paths=tuple(paths),
        profile=profile,
        known=known_on(profile, versions(search)),
        entries=setting.entries,
        search=search,
        target_version=setting.target_version,
        jobs=jobs,
        cache=cache,
    )
    return analyse(request)


def findings_of(folder: Path, setting: Setting = PLAIN, cache: Path | None = None) -> tuple[Finding, ...]:
    """Return the rules' findings about a package in a folder."""
    beside = folder / "beside"
    observation = observe(
        [folder / "tree" / path for path in setting.paths],
        site_packages=beside if beside.is_dir() else None,
        cache=cache,
        setting=setting,
    )
    return judge(observation)


def said(findings: Iterable[Finding], files: Mapping[str, str]) -> list[Said]:
    """The findings, each with the file it is about."""
    return sorted(Said(_file_of(one.path, files), one.line, one.rule, one.verdict.value) for one in findings)


def _file_of(told: str, files: Mapping[str, str]) -> str:
    """A told path begins with the top package's name: the file may lie deeper."""
    candidates = [name for name in files if name == told or name.endswith(f"/{told}")]
    return min(candidates, key=len, default=told)


def lay_out(text: str, folder: Path) -> dict[str, str]:
    """Write a package: the checked code to `tree/`, the environment to `beside/`; the files of both."""
    files = files_of(text)
    (folder / "tree").mkdir(parents=True, exist_ok=True)
    write({name: one for name, one in files.items() if not name.startswith("beside/")}, folder / "tree")
    write({name: one for name, one in files.items() if name.startswith("beside/")}, folder)
    return files


def assert_as_expected(text: str, folder: Path, setting: Setting = PLAIN) -> tuple[Finding, ...]:
    """Hold the analyser's findings against the comments, and both against CPython."""
    files = lay_out(text, folder)
    findings = findings_of(folder, setting)
    got, wanted = said(findings, files), expected(files)
    assert got == wanted, f"\nmissing:{_listed(wanted, got)}\nnot expected:{_listed(got, wanted)}"
    if setting.runs:
        assert_as_executed(got, folder, setting)
    return findings


def _listed(these: list[Said], those: list[Said]) -> str:
    """One line for each of `these` that is not among `those`."""
    lines = [f"\n  {one.path}:{one.line} {one.rule} {one.verdict}" for one in these if one not in those]
    return "".join(lines) or " nothing"


def assert_as_executed(got: list[Said], folder: Path, setting: Setting) -> None:
    """Require that certain findings happen when CPython imports the modules, and the reverse."""
    direct, through = executed(folder, setting)
    seen = {(one.path, one.line) for one in got}
    missed = sorted(direct - seen)
    assert not missed, f"CPython wakes the device at {missed}, and nothing was said"
    certain = {
        (one.path, one.line) for one in got if one.verdict == "certain" and one.rule not in _ON_IMPORTS
    }
    idle = sorted(certain - direct)
    assert not idle, f"called certain, but CPython wakes nothing at {idle}"
    imports = {(one.path, one.line) for one in got if one.verdict == "certain" and one.rule in _ON_IMPORTS}
    idle = sorted(imports - through)
    assert not idle, f"called a waking import, but CPython wakes nothing through {idle}"
    packages = {place for place in through if place[0].endswith("__init__.py")}
    missed = sorted(packages - seen)
    assert not missed, f"CPython wakes the device through the imports at {missed}, and nothing was said"


Places = set[tuple[str, int]]


def executed(folder: Path, setting: Setting = PLAIN) -> tuple[Places, Places]:
    """Import-time lines of the package that call the stand-in, and lines that do so through an import."""
    tree = folder / "tree"
    mounts = [str((tree / mount).resolve()) for mount in setting.mounts]
    beside = folder / "beside"
    search = [str(one) for one in search_path(None, [beside])] if beside.is_dir() else []
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(RECORDER), *mounts, "--", *search],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    root = tree.resolve()
    direct: Places = set()
    through: Places = set()
    for module in json.loads(done.stdout):
        for name, sites in module["calls"]:
            places = [
                (Path(file).relative_to(root).as_posix(), line)
                for file, line in sites
                if Path(file).is_relative_to(root)
            ]
            if Path(sites[0][0]).is_relative_to(root):
                direct.add(places.pop(0))
            elif places:
                direct.add(places[0])  # importing a dependency wakes: its importer is to blame
            if name not in _QUERIES:
                through.update(places)
    return direct, through


def cases(
    table: Mapping[str, str],
    settings: Mapping[str, Setting] | None = None,
    wrong: Mapping[str, str] | None = None,
) -> list[object]:
    """Parameters for a table of named packages; those known to be wrong are expected to fail."""
    settings, wrong = settings or {}, wrong or {}
    assert set(settings) <= set(table)
    assert set(wrong) <= set(table)
    return [
        pytest.param(
            text,
            settings.get(name, PLAIN),
            id=name.replace(" ", "-"),
            marks=[pytest.mark.xfail(strict=True, reason=wrong[name])] if name in wrong else [],
        )
        for name, text in table.items()
    ]


def answers_of(oracle: str, pieces: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The answer of a library to each piece of code: the oracle is a program that puts them to it.

    It reads the pieces as a JSON list from standard input, and prints a JSON list of its answers.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", oracle],
        input=json.dumps(pieces),
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    answers: list[str] = json.loads(done.stdout)
    return answers
