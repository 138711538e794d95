"""The checks as Markdown for a bug report; the caller has removed everything that identifies people."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.diagnosis import Answer, CheckResult, Checkup, Health
from coldfork.report.checkups.text import closing
from coldfork.report.shared.characters import one_line, printable
from coldfork.report.shared.options import Options


def render(checkup: Checkup, options: Options) -> str:
    """Write a table of all checks, followed by the details of each check that found a problem."""
    parts = ["### coldfork doctor", _table(checkup)]
    parts += [part for result in checkup.results for part in _trouble(result)]
    parts.append(f"{closing(checkup)}.")
    parts.append(f"_coldfork {options.version}_" if options.version else "_coldfork_")
    return "\n\n".join(parts) + "\n"


def _table(checkup: Checkup) -> str:
    rows = [
        f"| {result.name} | {result.answer.health.value} | {_cell(result.answer.message)} |"
        for result in checkup.results
    ]
    return "\n".join(["| check | status | what was found |", "| --- | --- | --- |", *rows])


def _trouble(result: CheckResult) -> Iterator[str]:
    if result.answer.health.rank > Health.OK.rank and (result.answer.details or result.answer.remedies):
        yield "\n".join([f"**{result.name}**", "", *_lines(result.answer)])


def _lines(answer: Answer) -> Iterator[str]:
    yield from (f"- `{_plain(detail)}`" for detail in answer.details)
    yield from (f"- help: {_plain(remedy)}" for remedy in answer.remedies)


def _plain(text: str) -> str:
    return printable(one_line(text))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")
