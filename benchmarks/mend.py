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
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial
from pathlib import Path

from benchmarks import caselist, mount
from benchmarks.cases import Fetcher
from coldfork.checking.request import CheckRequest, configured
from coldfork.checking.session import CheckSession
from coldfork.mending.mender import MendedFile, Mending, mend
from coldfork.model.causes import Applicability, Audience, Cause, Refusal
from coldfork.model.effects import EffectKind
from published import places
from published.errors import UnavailableError
from published.sources import Wanted


@dataclass(frozen=True, slots=True)
class Result:
    """The result of mending one version."""

    version: str
    causes: int
    safe: int
    unsafe: int
    library: int
    """The causes that concern whoever imports the package."""
    library_mended: int
    """How many of those were mended."""
    library_safe: int
    """How many of those were mended safely."""
    ours: int
    """The lines that the fixes change in the files of the case; 0 where none was changed."""
    theirs: int | None
    """Those of the maintainers' release that name the same; None where there is none."""
    reason: str
    """Why the first cause of the case, or of all, is left."""
    troubles: tuple[str, ...]
    """What must not be."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A package before and after."""

    done: Mending
    safe: frozenset[str]
    """The causes that are gone if only safe fixes are applied."""
    audiences: dict[str, Audience]
    """Whom each cause concerned, by its id."""
    troubles: tuple[str, ...]
    """What must not be."""


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
    audiences = {cause.id: cause.audience for cause in before.causes}
    safe = audiences.keys() - {cause.id for cause in safely.report.causes}
    return Measured(done, frozenset(safe), audiences, tuple(troubles))


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


def table(results: Iterable[Result]) -> str:
    """The results as rows of Markdown."""
    rows = [
        "| version | causes | mended | safely | our lines | the maintainers' | why the first one left is |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in results:
        mended = one.safe + one.unsafe
        theirs = "" if one.theirs is None else str(one.theirs)
        why = one.reason.replace("|", "\\|") if mended < one.causes else ""
        cells = (one.version, str(one.causes), str(mended), str(one.safe), str(one.ours or ""), theirs, why)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


_PAGE = """# Published cases, mended

Versions whose import wakes a device, mended in memory and checked again: *mended* with `--fix=unsafe`,
*safely* with `--fix`. `./dev bench mend --write docs/fixes.md` writes this table; this one is of {date}.

{table}

*Our lines* and *the maintainers'* are counted alike: the lines taken out and put in, in the files of the
published fault, that name what the faulty line binds, imports or calls, since a release changes other things,
too. A field is empty where there is no such release, or no fix. Cases that are not listed are not measured.

{kept}

"""
_OTHERS = """## Other packages

Mended alike by `./dev bench mend NAME==VERSION ... --write docs/fixes.md`, on {date}. The second number of a
field counts what concerns whoever imports the package; the rest is in tests, examples, scripts and builds.

{table}

{kept}

## What keeps a fix from being safe

- **NVML answers instead of the driver.** It also counts devices that PyTorch cannot use, so the answer may
  differ.
- **A condition calls a function**, such as `is_deepspeed_available()`, whose effects are not known, or whose
  answer may be another one later.
- **Annotations name the import.** They become text, and `typing.get_type_hints` no longer finds the name.
- **An example or a test does it at its top level.** Below a main guard, an import of the file no longer does
  it.
- **A process starts another way.** All that it is given has to be picklable then.

Some imports stay: those that functions compiled from their source use (`@cute.jit`, `@triton.jit`), because a
line added there may not compile; those that give a class its base; and those by a star.
"""
_KEPT = "All files that were changed still parse, no finding is new, and a second run changes nothing."


def others(results: Sequence[Result]) -> str:
    """The results for versions that are not cases as rows of Markdown; those without a cause are one row."""
    rows = [
        "| version | causes | mended | safely | why the first one left is |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in results:
        if not one.causes:
            continue
        mended = one.safe + one.unsafe
        why = one.reason.replace("|", "\\|") if mended < one.causes else ""
        pairs = ((one.causes, one.library), (mended, one.library_mended), (one.safe, one.library_safe))
        rows.append(f"| {one.version} | {' | '.join(f'{a}, {b}' for a, b in pairs)} | {why} |")
    empty = sum(not one.causes for one in results)
    whole = [
        ", ".join(str(sum(numbers)) for numbers in zip(*pairs, strict=True))
        for pairs in (
            [(one.causes, one.library) for one in results],
            [(one.safe + one.unsafe, one.library_mended) for one in results],
            [(one.safe, one.library_safe) for one in results],
        )
    ]
    return "\n".join([*rows, f"| all, with {empty} that have no cause | {' | '.join(whole)} | |"])


def _write(file: Path, results: Sequence[Result], are_cases: bool) -> None:
    """Write the part of the page that these results are for, and leave the other part as it is."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    cases, heading, rest = old.partition("## Other packages")
    troubles = [f"- {one.version}: {trouble}" for one in results for trouble in one.troubles]
    kept = "\n".join(["Not as it should be:", "", *troubles]) if troubles else _KEPT
    date = datetime.now(UTC).date()
    if are_cases:
        page = _PAGE.format(date=date, table=table(results), kept=kept) + heading + rest
    else:
        page = cases.rstrip() + "\n\n" + _OTHERS.format(date=date, table=others(results), kept=kept)
    file.write_text(page.rstrip() + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Mend the versions named, or the cases; 1 where something is that must not be."""
    parser = argparse.ArgumentParser(prog="./dev bench mend", description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="NAME==VERSION")
    parser.add_argument("--only", action="append", metavar="ID", help="only this case; repeatable")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table into this page")
    options = parser.parse_args(arguments)
    fetch = Fetcher(places.sources())
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="coldfork-mend-") as folder:
        scratch = Path(folder)
        work: list[Callable[[], Result]] = [
            partial(of_version, Wanted.parse(text), fetch, scratch) for text in options.versions
        ]
        cases = [case for case in caselist.load() if case.on_import and case.program is None]
        if options.only:
            if unknown := set(options.only) - {case.id for case in cases}:
                parser.error(f"no case of an import is called {', '.join(sorted(unknown))}")
            cases = [case for case in cases if case.id in options.only]
        for each in work or [partial(of_case, case, fetch, scratch) for case in cases]:
            try:
                result = each()
            except UnavailableError as error:
                print(f"not measured: {error}", file=sys.stderr)
                continue
            results.append(result)
            if options.write is not None:
                _write(options.write, results, are_cases=not options.versions)
            print(table([result]).splitlines()[-1], *result.troubles, sep="\n  ", flush=True)
    causes, safe = sum(one.library for one in results), sum(one.library_safe for one in results)
    mended = sum(one.safe + one.unsafe for one in results)
    print(f"{len(results)} versions, {causes} causes in libraries: {safe} mended safely, {mended} in all")
    return int(any(one.troubles for one in results))


if __name__ == "__main__":
    sys.exit(main())
