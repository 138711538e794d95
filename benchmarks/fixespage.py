"""The page of fixes: what `./dev bench mend` measured, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import launched

_STARTS, _OTHER = "## Starts of processes", "## Other packages"


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
    proven: int
    """The changed modules whose import woke a virtual device before and does not now."""
    changed: int
    """The changed modules; those that cannot be imported here are not proven."""
    reason: str
    """Why the first cause of the case, or of all, is left."""
    troubles: tuple[str, ...]
    """Everything that went wrong and must not."""


def table(results: Iterable[Result]) -> str:
    """The results as rows of Markdown."""
    titles = (
        "version | causes | mended | safely | proven | our lines | the maintainers' | the first reason left"
    )
    rows = [f"| {titles} |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for one in results:
        mended = one.safe + one.unsafe
        proven = f"{one.proven} of {one.changed}"
        theirs = "" if one.theirs is None else str(one.theirs)
        why = one.reason.replace("|", "\\|") if mended < one.causes else ""
        numbers = (str(one.causes), str(mended), str(one.safe), proven, str(one.ours or ""), theirs)
        rows.append(f"| {' | '.join((one.version, *numbers, why))} |")
    return "\n".join(rows)


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


def write(file: Path, part: str, text: str) -> None:
    """Write one part of the page, and leave the others as they are."""
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    cases, starts, rest = old.partition(_STARTS)
    rest, other, end = (rest if starts else cases).partition(_OTHER)
    parts = {
        "cases": cases.partition(_OTHER)[0],
        "launched": f"{starts}{rest}" if starts else "",
        "others": f"{other}{end}",
    }
    parts[part] = text
    file.write_text(
        "\n\n".join(each.strip() for each in parts.values() if each.strip()) + "\n", encoding="utf-8"
    )


def of_cases(results: Sequence[Result]) -> str:
    """The part on the cases of imports."""
    return _PAGE.format(date=_today(), table=table(results), kept=_kept(results))


def of_launched(results: Sequence[launched.Launched]) -> str:
    """The part on the starts of processes."""
    known = [one for one in results if not one.case.kept_back]
    kept = [one for one in results if one.case.kept_back]
    text = _LAUNCHED.format(
        heading=_STARTS, date=_today(), table=launched.table(known), summary=launched.summary(known)
    )
    return text + _KEPT_BACK.format(table=launched.table(kept)) if kept else text


def of_others(results: Sequence[Result]) -> str:
    """The part on packages that are not cases."""
    return _OTHERS.format(heading=_OTHER, date=_today(), table=others(results), kept=_kept(results))


def _kept(results: Sequence[Result]) -> str:
    troubles = [f"- {one.version}: {trouble}" for one in results for trouble in one.troubles]
    return "\n".join(["Not as it should be:", "", *troubles]) if troubles else _KEPT


def _today() -> str:
    return str(datetime.now(UTC).date())


_PAGE = """# Published cases, mended

Versions whose import wakes a device, mended in memory and checked again: *mended* with `--fix=unsafe`,
*safely* with `--fix`. `./dev bench mend --write docs/fixes.md` writes this table; this one is of {date}.

{table}

*Our lines* and *the maintainers'* are counted alike: the lines taken out and put in, in the files of the
published fault, that name what the faulty line binds, imports or calls, since a release changes other things,
too. A field is empty where there is no such release, or no fix. Cases that are not listed are not measured.

*Proven* counts the changed modules that `--prove` imported, before and after, on a virtual device: an import
that woke it and does not any more. The others need packages that are not installed where this was measured.

{kept}
"""
_KEPT_BACK = """
Other releases with such faults were set aside before these fixes were written. Those with a star were refused
at first; what they lacked was added, so that they no longer count as unseen.

{table}
"""
_LAUNCHED = """{heading}

Published faults in how programs start processes, mended in memory by `--fix=unsafe` on {date}. *Shown* is an
edit that is not applied, because its last step is the author's.

{table}

{summary}

A fix is proven if `check` is silent at the cause afterwards and an import of the module, where it can be
imported, has the same names and wakes nothing.
"""
_OTHERS = """{heading}

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
- **An import fails**, or misses a name that is bound on a condition. Put off, the error would come later.
- **A process starts another way.** All that it is given has to be picklable then.

Some imports stay: those that functions compiled from their source use (`@cute.jit`, `@triton.jit`), because a
line added there may not compile; those that give a class its base; and those by a star.
"""
_KEPT = "All files that were changed still parse, no finding is new, and a second run changes nothing."
