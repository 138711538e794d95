"""Mends published versions and counts what came of it: `./dev bench mend [NAME==VERSION...] [--write FILE]`

Without names it takes the buggy versions of `cases.json`, and sets the lines that it changes beside those
that the release with the maintainers' own fix changed for the same names. The sources stay as they are.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from pathlib import Path

from benchmarks import caselist, fixespage, launched, mount
from benchmarks.cases import Fetcher
from benchmarks.fixespage import Result
from coldfork.checking.request import CheckRequest, configured
from coldfork.checking.session import CheckSession
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.mending.mender import MendedFile, Mending, mend
from coldfork.mending.proving import ProofRequest, prove
from coldfork.model.causes import Applicability, Audience, Cause, Refusal
from coldfork.model.effects import EffectKind
from coldfork.model.probes import Outcome
from published import places
from published.errors import UnavailableError
from published.sources import Wanted


@dataclass(frozen=True, slots=True)
class Measured:
    """A package before and after."""

    done: Mending
    safe: frozenset[str]
    """The causes that are gone if only safe fixes are applied."""
    audiences: dict[str, Audience]
    """Whom each cause concerned, by its id."""
    outcomes: tuple[Outcome, ...]
    """The proof that the import of each changed module gives."""
    troubles: tuple[str, ...]
    """Everything that went wrong and must not."""


def measure(folder: Path, tops: Sequence[str], beside: Path, profile: str | None) -> Measured:
    """Mend a package with all that is safe or unsafe, in memory, and look for what must not be."""
    asked = {"site-packages": (str(beside),), "profile": profile}
    request = configured(tuple(folder / top for top in tops), asked, {})
    with CheckSession() as session:
        before = session.inspect(request)
        safely = mend(request, session.inspect)
        done = mend(request, session.inspect, Applicability.UNSAFE)
        mended = _with(request, done.files)
        after = session.inspect(mended)
        again = mend(mended, session.inspect, Applicability.UNSAFE)
    # A line that another one hid is none that a fix has brought; nor is a question in a waking line's place.
    known = {(cause.path, cause.call) for cause in before.causes}
    causes = [one for one in after.causes if one.effect != EffectKind.QUERIES_DEVICE]
    new = sum((one.path, one.call) not in known for one in causes)
    troubles = [f"{file.file} does not parse" for file in done.files if not _parses(file.after)]
    troubles += [f"{new} new causes"] if new else []
    troubles += [f"a second run changes {len(again.files)} files"] if again.files else []
    setup = ProbeSetup(sys.executable, launched.DEVICE, after=(str(beside),))
    modules = prove(done, done.files, ProofRequest(setup, folder)).modules
    troubles += [
        f"the import of {one.module} refutes its fix" for one in modules if one.outcome is Outcome.REFUTED
    ]
    audiences = {cause.id: cause.audience for cause in before.causes}
    safe = audiences.keys() - {cause.id for cause in safely.report.causes}
    outcomes = tuple(one.outcome for one in modules)
    return Measured(done, frozenset(safe), audiences, outcomes, tuple(troubles))


def _with(request: CheckRequest, files: Iterable[MendedFile]) -> CheckRequest:
    return replace(request, overlays={file.file: file.after for file in files})


def _parses(text: bytes) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def of_case(case: caselist.Case, fetch: Fetcher, scratch: Path) -> Result:
    """Mend the buggy version of a case, and compare with the release that mended it."""
    wanted = case.buggy[0]
    root = mount.package_root(fetch(wanted), case.top)
    beside = scratch / case.id
    companions = [wanted if one == case.package else one for one in case.beside]
    there = [one for one in companions if isinstance(one, Wanted)]
    for one in there:
        fetch(one)
    mount.build(beside, there, fetch.folder)
    measured = measure(root, (case.top,), beside, case.profile)
    paths = {place.path for culprit in case.culprits for place in culprit.places}
    names = {path: _names(case, root, path) for path in paths}
    files = {_below(file.file, root): file for file in measured.done.files}
    ours = sum(naming(files[path].before, files[path].after, names[path]) for path in paths & files.keys())
    theirs = None
    if case.fixed is not None:
        fixed = mount.package_root(fetch(case.fixed), case.top)
        theirs = sum(naming(_read(root / path), _read(fixed / path), names[path]) for path in paths)
    return _result(wanted, measured, paths, (ours, theirs))


def of_version(wanted: Wanted, fetch: Fetcher, scratch: Path) -> Result:
    """Mend all packages of a version."""
    root = fetch(wanted)
    (scratch / "nothing").mkdir(exist_ok=True)
    tops = [str(entry.relative_to(root)) for entry in mount.installed(root)]
    tops = [top for top in tops if top.endswith(".py") or (root / top).is_dir()]
    measured = measure(root, tops, scratch / "nothing", None)
    ours = sum(changed_lines(file.before, file.after) for file in measured.done.files)
    return _result(wanted, measured, set(), (ours, None))


def _result(wanted: Wanted, measured: Measured, paths: set[str], lines: tuple[int, int | None]) -> Result:
    done, audiences = measured.done, measured.audiences
    left = [cause for cause in done.report.causes if cause.id in audiences]
    gone = audiences.keys() - {cause.id for cause in left}
    safe = gone & measured.safe
    wide = {cause for cause, audience in audiences.items() if audience is Audience.LIBRARY}
    reasons = [_reason(done, cause) for cause in sorted(left, key=lambda cause: cause.path not in paths)]
    return Result(
        f"{wanted.name} {wanted.version}",
        len(audiences),
        len(safe),
        len(gone) - len(safe),
        len(wide),
        len(gone & wide),
        len(safe & wide),
        *lines,
        measured.outcomes.count(Outcome.PROVEN),
        len(measured.outcomes),
        next(filter(None, reasons), ""),
        measured.troubles,
    )


def _reason(done: Mending, cause: Cause) -> str:
    fix = done.left.get(cause.id)
    return fix.reason if isinstance(fix, Refusal) else ""


def changed_lines(before: bytes, after: bytes) -> int:
    """How many lines a difference takes out and puts in."""
    return sum(1 for _ in _changed(before, after))


def _changed(before: bytes, after: bytes) -> Iterator[str]:
    old, new = (text.decode("latin-1").splitlines() for text in (before, after))
    rows = unified_diff(old, new, n=0, lineterm="")
    for row in rows:
        if row.startswith(("+", "-")) and not row.startswith(("+++", "---")) and row[1:].strip():
            yield row[1:]


def _read(path: Path) -> bytes:
    """Return the text of a file, which is empty where there is none."""
    return path.read_bytes() if path.is_file() else b""


def naming(before: bytes, after: bytes, names: set[str]) -> int:
    """Count the changed lines that name one of these."""
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    return sum(1 for row in _changed(before, after) if words.search(row))


def _names(case: caselist.Case, root: Path, path: str) -> set[str]:
    """Return the names that the culprits in a file bind, import or call: a fix names one of them."""
    lines = [place for culprit in case.culprits for place in culprit.places if place.path == path]
    found: set[str] = set()
    for node in ast.walk(ast.parse((root / path).read_bytes())):
        line = getattr(node, "lineno", None)
        if not any(place.holds(path, line) for place in lines):
            continue
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Call):
            found.add(ast.unparse(node.func).rpartition(".")[2])
    return found or {"import"}


def _below(file: str, root: Path) -> str:
    path = Path(file)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else file


def main(arguments: Sequence[str] | None = None) -> int:
    """Mend the versions named, or the cases; 1 where something is that must not be."""
    parser = argparse.ArgumentParser(prog="./dev bench mend", description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="NAME==VERSION")
    parser.add_argument("--only", action="append", metavar="ID", help="only this case; repeatable")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table into this page")
    options = parser.parse_args(arguments)
    fetch = Fetcher(places.sources())
    with tempfile.TemporaryDirectory(prefix="coldfork-mend-") as folder:
        scratch = Path(folder)
        if options.versions:
            work = [partial(of_version, Wanted.parse(text), fetch, scratch) for text in options.versions]
            results = list(_each(work, options.write, fixespage.of_others, "others"))
        else:
            cases = [case for case in caselist.load() if case.on_import and case.program is None]
            starts = launched.load()
            if options.only:
                known = {case.id for case in cases} | {case.id for case in starts}
                if unknown := set(options.only) - known:
                    parser.error(f"no case of an import or a start is called {', '.join(sorted(unknown))}")
                cases = [case for case in cases if case.id in options.only]
                starts = tuple(case for case in starts if case.id in options.only)
            results = list(
                _each(
                    [partial(of_case, case, fetch, scratch) for case in cases],
                    options.write,
                    fixespage.of_cases,
                    "cases",
                )
            )
            _started(starts, fetch, scratch, options.write)
    causes, safe = sum(one.library for one in results), sum(one.library_safe for one in results)
    mended = sum(one.safe + one.unsafe for one in results)
    print(f"{len(results)} versions, {causes} causes in libraries: {safe} mended safely, {mended} in all")
    return int(any(one.troubles for one in results))


def _each(
    work: Iterable[Callable[[], Result]],
    page: Path | None,
    written: Callable[[Sequence[Result]], str],
    part: str,
) -> Iterator[Result]:
    """Yield the results that can be had, and print and write them as they come."""
    results: list[Result] = []
    for each in work:
        try:
            result = each()
        except UnavailableError as error:
            print(f"not measured: {error}", file=sys.stderr)
            continue
        results.append(result)
        if page is not None:
            fixespage.write(page, part, written(results))
        print(fixespage.table([result]).splitlines()[-1], *result.troubles, sep="\n  ", flush=True)
        yield result


def _started(starts: Iterable[launched.Launch], fetch: Fetcher, scratch: Path, page: Path | None) -> None:
    """Mend the faults of starts, and print and write what came of them."""
    results: list[launched.Launched] = []
    for each in starts:
        try:
            results.append(launched.of_launch(each, fetch, scratch, naming))
        except UnavailableError as error:
            print(f"not measured: {error}", file=sys.stderr)
            continue
        if page is not None:
            fixespage.write(page, "launched", fixespage.of_launched(results))
        print(launched.table(results[-1:]).splitlines()[-1], flush=True)
    print(launched.summary(results))


if __name__ == "__main__":
    sys.exit(main())
