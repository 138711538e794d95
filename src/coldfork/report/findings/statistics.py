"""The tables of `--statistics`: causes per rule and per package, and the cost of the analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding, Report
from coldfork.report.findings.words import held_back
from coldfork.report.shared.characters import Alphabet, alphabet, cells
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.wrapping import width_of, wrapped

_SUREST_FIRST = tuple(sorted(Verdict, key=lambda verdict: -verdict.rank))
_MOST_ROWS = 15
_NUMBERS = 4 * 13
"""The total width of the columns with numbers."""
_HANG = 11


def render(report: Report, options: Options) -> str:
    """Write the tables, followed by the number of files read and the time taken."""
    letters = alphabet(options.encoding)
    columns = width_of(options.width)
    lines: list[str] = []
    causes = _causes(report)
    if causes:
        lines += _table("rule", lambda finding: finding.rule, causes, letters, columns)
        lines.append("")
        lines += _table("package", _package_of, causes, letters, columns)
        lines.append("")
        lines += _table("file", lambda finding: options.locate(finding.path), causes, letters, columns)
        lines.append("")
    for line in _cost(report):
        lines += wrapped(line, columns, _HANG)
    return "\n".join(lines) + "\n"


def _causes(report: Report) -> tuple[Finding, ...]:
    """Return one finding for each cause: the one to mend first, but with the cause's verdict."""
    by_id = {finding.id: finding for finding in report.findings}
    told = [cause for cause in report.causes if cause.findings[0] in by_id]
    return tuple([replace(by_id[cause.findings[0]], verdict=cause.verdict) for cause in told])


def _package_of(finding: Finding) -> str:
    return finding.module.partition(".")[0] or "(none)"


def _table(
    title: str,
    key_of: Callable[[Finding], str],
    findings: tuple[Finding, ...],
    letters: Alphabet,
    columns: int,
) -> Iterator[str]:
    totals = Counter(key_of(finding) for finding in findings)
    cell = Counter((key_of(finding), finding.verdict) for finding in findings)
    ranked = sorted(totals, key=lambda key: (-totals[key], key))
    names = {key: letters.clean(key) for key in ranked[:_MOST_ROWS]}
    most = max(len(title), len("total"), columns - _NUMBERS)
    width = max(cells(name) for name in (title, "total", *names.values()) if cells(name) <= most)
    yield (
        letters.pad(title, width)
        + "".join(f"  {verdict.value:>11}" for verdict in _SUREST_FIRST)
        + "        total"
    )
    for key, name in names.items():
        if cells(name) > width:  # the numbers that belong to a long name go on the next line
            yield name
            name = ""
        yield _row(letters.pad(name, width), [cell[key, verdict] for verdict in _SUREST_FIRST], totals[key])
    if len(ranked) > _MOST_ROWS:
        rest = sum(totals[key] for key in ranked[_MOST_ROWS:])
        yield f"and {plural(rest, 'cause')} in {plural(len(ranked) - _MOST_ROWS, f'more {title}')}"
    sums = [sum(finding.verdict is verdict for finding in findings) for verdict in _SUREST_FIRST]
    yield _row(letters.pad("total", width), sums, len(findings))


def _row(name: str, counts: list[int], total: int) -> str:
    return name + "".join(f"  {count or '-':>11}" for count in counts) + f"  {total:>11}"


def _cost(report: Report) -> Iterator[str]:
    statistics = report.statistics
    yield f"modules    {statistics.modules} ({statistics.own_modules} yours)"
    amount = f", {statistics.bytes_read / 1e6:.1f} MB" if statistics.bytes_read else ""
    rest = f"{statistics.cached} from the cache, {len(report.skipped)} skipped"
    yield f"files      {statistics.read} read{amount}, {rest}"
    yield f"time       {duration(statistics.seconds)}"
    held = held_back(report)
    if held:
        yield f"held back  {', '.join(held)}"
